"""Differences, comparisons and divisions as they are written for rows that flow down."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from digitwise.data import Compared, ShortFirst
from digitwise.numbers import digits as dg
from digitwise.tasks import Difference, Division, Kind
from digitwise.tasks.problems import kind_of, spelled

NUMBERS = st.integers(0, 10**12)


@given(NUMBERS, NUMBERS, st.booleans())
def test_differences_and_comparisons_are_spelled_as_python_has_them(a, b, alike):
    b = a if alike else b
    task = Difference()
    for operator, exact in (("-", str(a - b)), ("?", "=" if a == b else "<" if a < b else ">")):
        problems = task.read([f"{a} {operator} {b}"])
        assert task.spell(task.targets(problems)) == [exact]
        assert task.render(problems) == [f"{a} {operator} {b}"]
        assert spelled(Kind(operator), problems.multipliers, problems.numbers) == [exact]


@given(NUMBERS, st.integers(1, 9))
def test_quotients_and_remainders_are_python_s(a, m):
    task = Division()
    problems = task.read([f"{a} / {m}"])
    exact = f"{a // m} remainder {a % m}"
    assert (
        task.spell(task.targets(problems)) == [exact] == spelled(Kind("/", 1), problems.multipliers, problems.numbers)
    )
    assert task.render(problems) == [f"{a} / {m}"] and kind_of(f"{a} / {m}") == Kind("/", 1)


@pytest.mark.parametrize(("task", "data"), [(Difference(), Compared(5)), (Division(), ShortFirst(5))])
def test_no_number_of_more_digits_is_ever_shown(task, data):
    rng, lengths = np.random.default_rng(0), set()
    for _ in range(60):
        problems = task.draw(data, rng, 64)
        lengths.add(int(dg.lengths(problems.numbers).max()))
        batch = task.encode(problems)
        assert batch.targets.max() < task.answer_symbols and batch.tokens.max() < len(task.symbols)
        assert problems.multipliers.all()
    assert lengths == {1, 2, 3, 4, 5}


def test_compared_numbers_hold_what_is_rare_otherwise():
    rng = np.random.default_rng(0)
    draws = [Compared(5).draw(rng, 400, 2, None) for _ in range(40)]
    pairs = {tuple(pair) for draw in draws for pair in zip(*dg.render(draw.swapaxes(0, 1)).tolist(), strict=True)}
    assert any(int(a) == int(b) for a, b in pairs) and any(int(a) < int(b) for a, b in pairs)

    def borrows(a, b):
        """A zero minus a nine with a borrow, as in 200 - 191."""
        return any(x == "0" and y == "9" for x, y in zip(a[1:-1], b[-len(a) :][1:-1], strict=False)) and len(a) == len(
            b
        )

    assert sum(borrows(a, b) for a, b in pairs) > 100


def test_zero_is_no_divisor():
    with pytest.raises(ValueError, match="divided by 0"):
        dg.divide(dg.parse(["7"]), np.zeros(1, dtype=np.uint8))
