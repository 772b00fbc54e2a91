"""The measures against their definitions, one problem and one column at a time in plain Python."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from digitwise.numbers import complexity as cx
from digitwise.numbers import digits as dg

digit = st.integers(0, 9)
column = st.one_of(st.tuples(digit, digit), digit.map(lambda d: (d, 9 - d)), st.just((9, 1)))
#: Sums rich in nines, as uniform ones almost never have a long chain.
sums = st.integers(1, 14).flatmap(
    lambda places: st.lists(st.lists(column, min_size=places, max_size=places), min_size=1, max_size=6)
)
products = st.integers(1, 12).flatmap(
    lambda places: st.lists(
        st.tuples(st.integers(0, 999), st.lists(digit, min_size=places, max_size=places)), min_size=1, max_size=6
    )
)


def operands(problems):
    both = np.array(problems, dtype=np.uint8)
    return both[..., 0], both[..., 1]


def value(digits):
    return sum(int(d) * 10**place for place, d in enumerate(digits))


def carry_flags(problem):
    """Does each column send a carry: asked of Python's integers."""
    first, second = value(a for a, _ in problem), value(b for _, b in problem)
    limits = [10 ** (place + 1) for place in range(len(problem))]
    return [first % limit + second % limit >= limit for limit in limits]


def longest(flags):
    return max((len(list(run)) for flag, run in itertools.groupby(flags) if flag), default=0)


def cascade(problem):
    """For every column that makes a carry, walk up while the columns sum to 9."""
    found = 0
    for place, (a, b) in enumerate(problem):
        if a + b > 9:
            following = itertools.takewhile(lambda pair: sum(pair) == 9, problem[place + 1 :])
            found = max(found, 1 + len(list(following)))
    return found


def untriggered(problem):
    """For every column that no carry enters, walk up while the columns sum to 9."""
    entering = [False, *carry_flags(problem)]
    return max(
        len(list(itertools.takewhile(lambda pair: sum(pair) == 9, problem[place:]))) if not entering[place] else 0
        for place in range(len(problem))
    )


def window(problem, place):
    """The fewest columns at and below `place` that fix its digit whether or not a carry enters the lowest of them."""
    columns = [a + b for a, b in problem] + [0]
    for size in range(1, place + 2):
        lowest = place - size + 1
        seen = sum(columns[lowest + index] * 10**index for index in range(size))
        carries_in = (0, 1) if lowest else (0,)
        if len({(seen + carry) // 10 ** (size - 1) % 10 for carry in carries_in}) == 1:
            return size
    raise AssertionError


def rounds(columns, farthest):
    """The corrected algorithm, column by column in a dictionary of what arrives where."""
    count = 0
    while any(c > 9 for c in columns.values()):
        arriving = dict.fromkeys(columns, 0)
        for place, content in columns.items():
            for distance in range(farthest + 1):
                arriving[place + distance] = arriving.get(place + distance, 0) + content // 10**distance % 10
        columns, count = arriving, count + 1
    return count


@given(sums)
def test_carries_and_chains(problems):
    first, second = operands(problems)
    assert cx.carries(first, second).tolist() == [sum(carry_flags(problem)) for problem in problems]
    assert cx.consecutive_carries(first, second).tolist() == [longest(carry_flags(problem)) for problem in problems]
    assert cx.cascade(first, second).tolist() == [cascade(problem) for problem in problems]
    assert cx.untriggered(first, second).tolist() == [untriggered(problem) for problem in problems]


@given(sums)
def test_dependency_of_every_digit(problems):
    first, second = operands(problems)
    wanted = [[window(problem, place) for place in range(len(problem) + 1)] for problem in problems]
    assert cx.dependency_by_place(first, second).tolist() == wanted
    assert cx.dependency(first, second).tolist() == [max(places) for places in wanted]


def test_no_smaller_set_of_columns_fixes_the_digit():
    """The definition itself: the smallest set of columns, adjacent or not, for which the others may be anything."""
    sums_of_columns = (0, 8, 9, 10)
    for columns in itertools.product(sums_of_columns, repeat=3):
        pairs = [(min(c, 9), c - min(c, 9)) for c in columns]
        needed = cx.dependency_by_place(*operands([pairs]))[0]
        for place in range(4):
            enough = [
                len(seen)
                for size in range(5)
                for seen in itertools.combinations(range(4), size)
                if len(_digits_possible(columns, seen, place)) == 1
            ]
            assert needed[place] == min(enough), (columns, place)


def _digits_possible(columns, seen, place):
    choices = [[(*columns, 0)[p]] if p in seen else (0, 9, 18) for p in range(3)]
    choices.append([0] if 3 in seen else range(10))  # the empty column above: unseen, it might hold a digit
    return {sum(c * 10**p for p, c in enumerate(filled)) // 10**place % 10 for filled in itertools.product(*choices)}


@given(sums, st.integers(1, 5))
def test_padding_changes_nothing(problems, zeros):
    padded = [[*problem, *[(0, 0)] * zeros] for problem in problems]
    for measure in (cx.carries, cx.consecutive_carries, cx.cascade, cx.untriggered, cx.dependency, cx.addition_rounds):
        assert measure(*operands(problems)).tolist() == measure(*operands(padded)).tolist()


@given(sums)
def test_parallel_addition(problems):
    """The right sum; nothing lost on the way; as many rounds as the longest cascade."""
    first, second = operands(problems)
    wanted = [rounds(dict(enumerate(a + b for a, b in problem)), 1) for problem in problems]
    assert cx.addition_rounds(first, second).tolist() == wanted == cx.cascade(first, second).tolist()
    trace = cx.parallel_addition(first, second)
    assert len(trace) - 1 == max(wanted)
    for columns in trace:
        assert [value(row) for row in columns] == [value(a) + value(b) for a, b in zip(first, second, strict=True)]
    assert np.array_equal(trace[-1], dg.add(first, second))


@given(products)
@pytest.mark.parametrize("width", [1, 2, 3])
def test_parallel_multiplication(width, problems):
    problems = [(multiplier % 10**width, multiplicand) for multiplier, multiplicand in problems]
    multiplier = dg.parse([str(m) for m, _ in problems], width)
    multiplicand = np.array([digits for _, digits in problems], dtype=np.uint8)
    wanted = [rounds({p: m * d for p, d in enumerate(digits)}, width) for m, digits in problems]
    assert cx.product_rounds(multiplier, multiplicand).tolist() == wanted
    trace = cx.parallel_multiplication(multiplier, multiplicand)
    assert len(trace) - 1 == max(wanted)
    for columns in trace:
        assert [value(row) for row in columns] == [m * value(digits) for m, digits in problems]
    assert trace[-1].max() <= 9


def test_algorithms_as_printed_are_wrong():
    """What the corrections repair: the loop bodies of the paper, word for word."""
    s = [10, 9, 0]  # 99 + 1
    while any(c > 9 for c in s):
        s = [c % 10 for c in [s[0], *(s[j + 1] + s[j] // 10 for j in range(2))]]
    assert value(s) == 0
    assert value(cx.parallel_addition(*dg.parse(["99", "1"]))[-1]) == 100
    m = [123, 0, 0, 0]  # the same with carries kept, but whole quotients instead of digits
    moved = [m[j] % 10 + sum(m[j - i] // 10**i for i in (1, 2) if j >= i) for j in range(4)]
    assert value(moved) == 223
    assert value(cx.carry_round(np.array(m), 2)) == 123


def test_any_batch_shape_and_a_thousand_digits():
    first = np.zeros((2, 3, 1000), dtype=np.uint8)
    second = np.full((2, 3, 1000), 9, dtype=np.uint8)
    first[0, 0, 0] = 1
    assert cx.cascade(first, second).tolist() == [[1000, 0, 0], [0, 0, 0]]
    assert cx.untriggered(first, second).tolist() == [[0, 1000, 1000], [1000, 1000, 1000]]
    assert cx.dependency(first, second).tolist() == [[1001] * 3, [1001] * 3]
    assert cx.product_rounds(np.full((2, 3, 1), 7, np.uint8), second).shape == (2, 3)


def test_refusals():
    one, two = np.zeros((1, 1), np.uint8), np.zeros((1, 2), np.uint8)
    with pytest.raises(ValueError, match="equally many places, not 1 and 2"):
        cx.cascade(one, two)
    with pytest.raises(ValueError, match="1 to 17 digits, not 18"):
        cx.product_rounds(np.zeros((1, 18), np.uint8), one)
