"""Problems, targets and coordinates against Python's integers and against the paper's own examples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small import posed

from digitwise.data import ExactLength, Mixture, NoCarry, Shifted, ShortMultipliers, UniformLengths, UniformValues
from digitwise.numbers import digits as dg
from digitwise.rng import generator
from digitwise.tasks import Addition, Kind, Multiplication
from digitwise.tasks.symbols import PAD, SPELLING, read_answers

TASKS = [Addition(8), Multiplication(1, 8), Multiplication(3, 8)]
DISTRIBUTIONS = [
    UniformValues(5),
    UniformLengths(6),
    UniformLengths(4, 2),
    ExactLength(1),
    ExactLength(8),
    Shifted(UniformValues(3)),
    Mixture(((1, UniformValues(2)), (3, Shifted(ExactLength(2))))),
]


def numbers_of(problems):
    """All numbers of problems of one kind, the multiplier first."""
    multipliers = [problems.multipliers] if problems.multipliers.shape[1] else []
    return [*multipliers, *problems.numbers.swapaxes(0, 1)]


def spelled(symbols) -> str:
    return "".join(SPELLING[symbol] for symbol in symbols)


def test_the_papers_sum_to_the_letter():  # eq. format_sum
    task = Addition(20)
    batch = task.encode(posed(task, Kind("+"), 123, 4095))
    assert spelled(batch.tokens[0]) == "_" * 17 + "123+" + "_" * 16 + "4095"
    assert spelled(batch.targets[0][::-1]) == "_" * 17 + "4218"
    coordinates = batch.coordinates
    assert (coordinates.slot >= 0).sum() == 21 and (coordinates.slot[:20] == -1).all()
    assert coordinates.slot[20] == 20  # the operator's own position is the overflow slot


def test_the_papers_product_to_the_letter():  # eq. format_mult
    task = Multiplication(2, 20)
    batch = task.encode(posed(task, Kind("*", 2), 56, 4297))
    assert spelled(batch.tokens[0]) == "56*" + "_" * 16 + "4297"
    assert spelled(batch.targets[0][::-1]) == "_" * 16 + "240632"
    assert batch.coordinates.slot.tolist() == [-1, *range(21, -1, -1)]  # the 6 is a key and an answer slot at once


@pytest.mark.parametrize("task", TASKS, ids=str)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=str)
def test_tokens_and_targets(task, distribution):
    operands = task.draw(distribution, generator(3, "tasks"), 200)
    tokens, targets, coordinates = task.encode(operands)
    assert task.encode(operands).coordinates is coordinates  # one object for all batches
    assert tokens.dtype == targets.dtype == np.uint8
    assert tokens.shape == (200, task.extent.positions)
    assert targets.shape == (200, task.longest + task.overflow)
    calculate = (lambda a, b: a + b) if isinstance(task, Addition) else (lambda a, b: a * b)
    operator = "+" if isinstance(task, Addition) else "*"
    for row, target, problem in zip(tokens, targets, task.render(operands), strict=True):
        first, second = spelled(row).split(operator)
        a, b = (int(side.lstrip("_")) for side in (first, second))  # pads stand on the left only, or int() would fail
        assert problem == f"{a} {operator} {b}"
        answer = spelled(target[::-1])
        assert answer.lstrip("_") == str(calculate(a, b))
        if isinstance(task, Multiplication):
            assert len(first) == task.multiplier and "_" not in first
    assert read_answers(targets) == [str(int(text)) for text in dg.render(task.solve(operands))]


@pytest.mark.parametrize("task", TASKS, ids=str)
def test_coordinates_point_at_the_digits_they_name(task):
    operands = task.draw(ExactLength(task.canvas), generator(4, "coordinates"), 50)
    tokens, _, coordinates = task.encode(operands)
    assert coordinates.position.tolist() == list(range(task.extent.positions))
    for number, digits in enumerate(numbers_of(operands)):
        mine = np.flatnonzero(coordinates.operand == number)
        assert (tokens[:, mine] == digits[:, coordinates.place[mine]]).all()
    assert sorted(coordinates.slot[coordinates.slot >= 0]) == list(range(task.canvas + task.overflow))
    operators = coordinates.operand == -1
    assert operators.sum() == 1 and coordinates.place[operators].tolist() == [-1]


@given(st.integers(2, 6), st.integers(0, 3))
def test_shifted_copies_reach_every_shift_that_fits(length, seed):
    drawn = Shifted(ExactLength(length)).draw(generator(seed, "shift"), 2000, 2, 8)
    zeros = (drawn != 0).any(1).argmax(-1)  # both summands move together
    base = dg.lengths(drawn)
    assert (base[:, 0] == base[:, 1]).all()
    assert set(base[:, 0] - length) == set(range(8 - length + 1))
    assert (zeros >= base[:, 0] - length).all()


@pytest.mark.parametrize("exactly", [False, True])
def test_no_carry_means_no_carry_and_is_uniform(exactly):
    drawn = NoCarry(2, exactly).draw(generator(5, "nocarry"), 55_000, 2, 4)
    assert drawn.sum(1).max() <= 9
    top, ones = (drawn[:, 0, place] * 10 + drawn[:, 1, place] for place in (1, 0))
    pairs_above = 36 if exactly else 55
    for column, kinds in ((ones, 55), (top, pairs_above)):
        seen = np.bincount(column)
        seen = seen[seen > 0]
        expected = 55_000 / kinds
        assert len(seen) == kinds
        assert ((seen - expected) ** 2 / expected).sum() < 2 * kinds + 30
    if exactly:
        assert (dg.lengths(drawn) == 2).all()


def test_mixture_weights():
    mixture = Mixture(((3, ExactLength(1)), (1, ExactLength(5))))
    lengths = dg.lengths(mixture.draw(generator(6, "mixture"), 20_000, 1, 9)[:, 0])
    assert set(lengths) == {1, 5}
    assert abs((lengths == 1).mean() - 0.75) < 0.02


@pytest.mark.parametrize("zero", [True, False])
def test_a_single_digit_multiplier_is_0_only_where_that_is_wanted(zero):
    multiplier = Multiplication(1, 5, zero=zero).draw(UniformLengths(5), generator(8, "zero"), 20_000).multipliers
    seen = np.bincount(multiplier[:, 0], minlength=10) / 20_000
    assert (seen[0] > 0) == zero
    assert np.abs(seen[1:] - (0.1 if zero else 1 / 9)).max() < 0.012
    training = Multiplication(1, 5, zero=zero).draw(ShortMultipliers(), generator(8, "zero"), 20_000).multipliers
    assert abs((training == 0).mean() - 0.1) < 0.01


@pytest.mark.parametrize("task", [Multiplication(1, 8), Multiplication(2, 8)])
def test_of_several_multipliers_the_one_with_most_zeros_and_nines_is_taken(task):
    def share(problems):  # of zeros and nines between the ones and the highest digit of each product
        products = task.solve(problems)
        place = np.arange(products.shape[1])
        inner = (place > 0) & (place < dg.lengths(products)[:, None] - 1)
        return (inner & ((products == 0) | (products == 9))).sum() / inner.sum()

    plain, chosen = (
        task.draw(ShortMultipliers(UniformLengths(5), tries), generator(9, "tries"), 6_000) for tries in (1, 16)
    )
    assert (plain.numbers == chosen.numbers).all()
    assert (plain.multipliers[1::2] == chosen.multipliers[1::2]).all()  # every other one stays as it is
    assert share(plain[1::2]) < 0.25 < 0.4 < share(chosen[::2])
    assert len(np.unique(chosen.multipliers[::2], axis=0)) == 10**task.multiplier  # 0 too, where nothing is better


def test_short_multipliers_come_in_every_length_and_are_padded_from_the_left():
    task = Multiplication(3, 5)
    operands = task.draw(ShortMultipliers(UniformLengths(5)), generator(9, "short"), 9_000)
    lengths = dg.lengths(operands.multipliers)
    assert np.abs(np.bincount(lengths, minlength=4)[1:] / 9_000 - 1 / 3).max() < 0.02
    batch = task.encode(operands)
    for length in (1, 2, 3):
        row = int(np.flatnonzero(lengths == length)[0])
        text, (a, b) = spelled(batch.tokens[row]), (dg.render(number)[row] for number in numbers_of(operands))
        assert text == f"{a:_>3}*{b:_>5}"
        assert spelled(batch.targets[row][::-1]) == f"{int(a) * int(b):_>8}"
    assert (
        dg.lengths(task.draw(ExactLength(4), generator(9, "t"), 500).multipliers) == 3
    ).all()  # tests are not affected
    with pytest.raises(ValueError, match="no multiplier"):
        Addition(8).draw(ShortMultipliers(), generator(0), 4)


def test_uniform_lengths_are_uniform():
    lengths = dg.lengths(UniformLengths(5).draw(generator(7, "lengths"), 50_000, 2, 20))
    assert np.abs(np.bincount(lengths.ravel())[1:] / 100_000 - 0.2).max() < 0.01


@pytest.mark.parametrize(
    ("distribution", "message"),
    [
        (UniformValues(9), "canvas of at least 9"),
        (ExactLength(0), "at least 1"),
        (UniformLengths(3, 4), "canvas"),
        (Mixture(()), "needs parts"),
        (Mixture(((-1.0, UniformValues(2)),)), "not negative"),
    ],
)
def test_what_does_not_fit_is_refused(distribution, message):
    with pytest.raises(ValueError, match=message):
        Addition(8).draw(distribution, generator(0), 4)
    with pytest.raises(ValueError, match="two summands"):
        Multiplication(1, 8).draw(NoCarry(3), generator(0), 4)


def test_answers_that_are_no_numbers_stay_visible():
    symbols = np.array([[3, PAD, 1, PAD], [PAD, PAD, PAD, PAD]], dtype=np.uint8)
    assert read_answers(symbols) == ["1_3", "_"]
