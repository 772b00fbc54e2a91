"""Tasks without a canvas: Python's integers are the oracle, and slot is place."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from digitwise.data import SUITES, ExactLength, NinesRun, Practice, UniformLengths
from digitwise.numbers import digits as dg
from digitwise.rng import generator
from digitwise.tasks import Arithmetic, Kind
from digitwise.tasks.symbols import PAD, SPELLING, read_answers

EVERYTHING = Arithmetic("+-*", summands=4, multiplier=3)
number = st.integers(0, 10**12)


def digits_of(*values: int) -> np.ndarray:
    return dg.parse([str(value) for value in values])


@given(st.lists(number, min_size=2, max_size=4), number, st.integers(0, 999))
@settings(max_examples=60, deadline=None)
def test_every_kind_is_solved_and_written_as_python_would(numbers, other, multiplier):
    larger, smaller = max(numbers[0], other), min(numbers[0], other)
    cases = [
        (Kind("+", len(numbers)), numbers, sum(numbers)),
        (Kind("-", 2), [larger, smaller], larger - smaller),
        (Kind("*", len(str(multiplier))), [multiplier, other], multiplier * other),
    ]
    for kind, values, answer in cases:
        operands = EVERYTHING.pose(kind, [digits_of(value) for value in values])
        assert dg.render(EVERYTHING.solve(operands))[0] == str(answer)
        assert EVERYTHING.render(operands) == [f" {kind.operator} ".join(map(str, values))]
        said = read_answers(EVERYTHING.encode(operands).targets)[0]
        assert said == (str(answer).rjust(len(str(larger)), "0") if kind.operator == "-" else str(answer))


def test_the_format_by_hand():
    task = Arithmetic("+", pads=0)
    batch = task.encode(task.pose(Kind("+"), [digits_of(123), digits_of(4095)]))
    spelled = "".join(SPELLING[symbol] for symbol in batch.tokens[0])
    assert spelled == "321__" + "5904_" + "+++++"  # least significant first, one row after the other
    position, operand, place, slot, row = batch.coordinates
    assert operand.tolist() == [0] * 5 + [1] * 5 + [-1] * 5
    assert place.tolist() == [0, 1, 2, 3, 4] * 3
    assert slot.tolist() == [-1] * 10 + [0, 1, 2, 3, 4]
    assert position.tolist() == list(range(15))
    assert row.tolist() == [0] * 15  # one row of cells takes in both summands
    product = Arithmetic("*", multiplier=2)
    batch = product.encode(product.pose(Kind("*", 2), [digits_of(56), digits_of(4297)]))
    assert "".join(SPELLING[symbol] for symbol in batch.tokens[0]) == "65" + "7924__" + "******" * 2
    _, operand, place, slot, row = batch.coordinates
    assert place.tolist() == [-1, -1] + [0, 1, 2, 3, 4, 5] * 3
    assert operand.tolist() == [0] * 2 + [1] * 6 + [-1] * 12
    assert row.tolist() == [0, 1] + [-1] * 6 + [1] * 6 + [0] * 6
    assert slot.tolist() == [-1] * 14 + [0, 1, 2, 3, 4, 5]
    shorter, _ = product.write(product.pose(Kind("*", 1), [digits_of(6), digits_of(4297)]))
    assert "".join(SPELLING[symbol] for symbol in shorter[0]) == "6_" + "7924__" + "______" + "******"


def test_fewer_numbers_use_the_last_rows():
    task = Arithmetic("+-*", summands=4, multiplier=2)
    cases = {
        Kind("+", 4): ("1_", "2_", "3_", "4_", "++", "++", "++", "++"),
        Kind("+", 3): ("__", "1_", "2_", "3_", "__", "++", "++", "++"),
        Kind("-", 2): ("__", "__", "9_", "2_", "__", "__", "++", "--"),
    }
    for kind, lines in cases.items():
        numbers = [digits_of(int(line[0])) for line in lines[:4] if line[0] != "_"]
        (tokens,), _ = task.write(task.pose(kind, numbers))
        spelled = "".join(SPELLING[symbol] for symbol in tokens)
        assert spelled == "__" + "___" + "".join(line + line[-1] for line in lines)


def test_problems_of_all_kinds_share_a_layout():
    """Kinds are mixed in a batch, as likely as each other; what a kind does not use is padded."""
    operands = EVERYTHING.draw(UniformLengths(5), generator(0, "kinds"), 700)
    shares = np.bincount(operands.kind, minlength=len(EVERYTHING.kinds)) / 700
    assert len(shares) == 3 + 1 + 3 and shares.min() > 0.08
    tokens = EVERYTHING.encode(operands).tokens
    places = (tokens.shape[1] - 3) // 9
    for kind, row in zip(operands.kind, tokens, strict=True):
        product, used = EVERYTHING.kinds[kind].operator == "*", EVERYTHING.kinds[kind].drawn
        assert (row[: 3 + places] == PAD).all() == (not product)
        assert (row[3 + places : (0 if product else -used) * places - 4 * places] == PAD).all()


def test_widths_vary_and_training_shows_no_more_than_five_digits():
    task, widths = Arithmetic("+", summands=5), set()
    for step in range(40):
        drawn = task.draw(Practice(5), generator(step, "widths"), 50)
        widths.add(drawn.width)
        assert dg.lengths(drawn.numbers).max() <= 5
    assert widths == {5, 6, 7, 8}


def test_practice_enters_runs_with_and_without_a_carry():
    drawn = Practice(5).draw(generator(0, "practice"), 3000, 2, 5)
    columns = drawn.sum(1, dtype=int)
    ways = {True: 0, False: 0}
    for row in columns:
        if (row[1:4] == 9).all():
            ways[bool(row[0] > 9)] += 1
    assert min(ways.values()) > 50
    equal = Practice(5, borrows=True).draw(generator(0, "practice"), 3000, 2, 5)
    assert (equal[:, 0] == equal[:, 1])[:, 1:4].all(1).sum() > 50


@pytest.mark.parametrize("operands", [3, 5])
def test_practice_splits_the_columns_of_runs(operands):
    columns = Practice(5).draw(generator(0, "split"), 3000, operands, 5).sum(1, dtype=int)
    assert (columns[:, 1:4] == 9).all(1).mean() > 0.05
    assert (Practice(5).draw(generator(1, "split"), 3000, operands, 5)[:, operands - 1] > 0).any()


def test_practice_repeats_the_digits_of_a_multiplicand():
    (drawn,) = Practice(5).draw(generator(0, "repeated"), 3000, 1, 5).swapaxes(0, 1)
    assert (drawn == drawn[:, :1]).all(1).mean() > 0.03


def test_a_kind_that_is_asked_for_has_no_multiplier_zero():
    task = Arithmetic("*", multiplier=1)
    multiplier = task.draw(ExactLength(3), generator(0, "zero"), 500, Kind("*", 1)).multipliers
    assert multiplier.min() == 1 and multiplier.max() == 9
    multiplier = task.draw(ExactLength(3), generator(0, "zero"), 500).multipliers
    assert multiplier.min() == 0


def test_nines_stand_in_both_numbers_of_a_share_of_the_products_in_training():
    task = Arithmetic("*", nines=0.5)
    drawn = task.draw(ExactLength(3), generator(0, "nines"), 3000)
    both = [(part == 9).mean(1) > 0.6 for part in (drawn.numbers[:, 0, :3], drawn.multipliers)]
    apart = Arithmetic("*").draw(ExactLength(3), generator(0, "nines"), 3000)
    few = [(part == 9).mean(1) > 0.6 for part in (apart.numbers[:, 0, :3], apart.multipliers)]
    assert (both[0] & both[1]).mean() > 5 * max((few[0] & few[1]).mean(), 1e-3)
    assert (dg.lengths(drawn.numbers[:, 0]) == 3).all()
    tested = task.draw(ExactLength(3), generator(0, "nines"), 3000, Kind("*", 3)).numbers
    assert (tested[:, 0, :3] == 9).mean() < 0.15  # tests are as they were
    with pytest.raises(ValueError, match="nines must be a share"):
        Arithmetic("*", nines=2)


def test_differences_have_the_larger_number_first():
    first, second = Arithmetic("-").draw(NinesRun(2, 4), generator(0, "order"), 300).numbers.swapaxes(0, 1)
    assert (dg.compare(first, second) >= 0).all()


@pytest.mark.parametrize(
    "wrong", [{"operators": ""}, {"operators": "+/"}, {"operators": "++"}, {"summands": 1}, {"multiplier": 0}]
)
def test_impossible_tasks_are_refused(wrong):
    with pytest.raises(ValueError, match="must be"):
        Arithmetic(**wrong)


@pytest.mark.parametrize("suite", ["uniform", "upto", "cascade", "consecutive", "nines", "runs", "edges", "nocarry"])
def test_suites_without_a_canvas(suite):
    """Every suite about sums draws for them too, and numbers of a thousand digits need no canvas."""
    task = Arithmetic("+")
    for length in (5, 1000) if suite in ("uniform", "edges") else (20,):
        for stratum in SUITES[suite].strata(task, [length]):
            operands = SUITES[suite].draw(stratum, 5, 0)
            batch = task.encode(operands)
            for text, answer in zip(task.render(operands), read_answers(batch.targets), strict=True):
                assert str(sum(map(int, text.split(" + ")))) == answer


def test_kinds_have_strata_of_their_own():
    strata = SUITES["uniform"].strata(EVERYTHING, [7])
    assert [stratum.name for stratum in strata] == [str(kind) for kind in EVERYTHING.kinds]
    for stratum, kind in zip(strata, EVERYTHING.kinds, strict=True):
        operands = SUITES["uniform"].draw(stratum, 20, 0)
        assert {len(text.split(f" {kind.operator} ")) for text in EVERYTHING.render(operands)} == {max(kind.drawn, 2)}
    names = {stratum.name for stratum in SUITES["edges"].strata(EVERYTHING, [7])}
    assert {"2 summands: all nines", "difference: power - 1", "1-digit multiplier: multiplier 0"} <= names
    for stratum in SUITES["edges"].strata(EVERYTHING, [1, 7]):
        operands = SUITES["edges"].draw(stratum, 20, 0)
        for text, answer in zip(EVERYTHING.render(operands), dg.render(EVERYTHING.solve(operands)), strict=True):
            assert str(eval(text)) == answer


def test_the_more_suite_has_more_than_the_task():
    """Five summands and three digits of a multiplier, and up to five more of each."""
    task = Arithmetic("+-*", summands=5)
    strata = SUITES["more"].strata(task, [6])
    names = [f"{k + 3}-digit multiplier" for k in (1, 2, 5)] + [f"{k + 5} summands" for k in (1, 2, 5)]
    assert sorted(stratum.name for stratum in strata) == sorted(names)
    for stratum in strata:
        operands = SUITES["more"].draw(stratum, 20, 0)
        for text, answer in zip(stratum.task.render(operands), dg.render(stratum.task.solve(operands)), strict=True):
            assert str(eval(text)) == answer
    for one_row in (Arithmetic("+"), Arithmetic("*", multiplier=1)):
        with pytest.raises(ValueError, match="several rows"):
            SUITES["more"].strata(one_row, [5])


@pytest.mark.parametrize("suite", ["shifted", "strata"])
def test_suites_that_need_a_canvas_say_so(suite):
    with pytest.raises(ValueError, match="canvas"):
        SUITES[suite].strata(Arithmetic("+"), [5])


def test_the_runs_suite_has_runs_of_its_length_of_both_kinds():
    with_carry, without = SUITES["runs"].strata(Arithmetic("+"), [12])
    for stratum, wanted in ((with_carry, True), (without, False)):
        first, second = SUITES["runs"].draw(stratum, 50, 0).numbers.swapaxes(0, 1)
        for column in first.astype(int) + second:
            text = "".join("9" if value == 9 else "." for value in column)
            start = text.index("9" * 12)
            assert (start > 0 and column[start - 1] > 9) == wanted
