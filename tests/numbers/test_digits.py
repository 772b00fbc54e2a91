"""Python's integers are a perfect oracle."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from digitwise.numbers import digits as dg
from digitwise.rng import generator

numbers = st.one_of(
    st.integers(0, 10**6),
    st.integers(0, 10**40),
    st.integers(0, 45).map(lambda n: 10**n - 1),  # nines: the longest cascades
    st.integers(0, 45).map(lambda n: 10**n),
)
pairs = st.lists(st.tuples(numbers, numbers), min_size=1, max_size=8)


def arrays(values: list[tuple[int, ...]]) -> list[dg.Digits]:
    width = max(len(str(value)) for row in values for value in row)
    return [dg.parse([str(value) for value in column], width) for column in zip(*values, strict=True)]


def integers(digits: dg.Digits) -> list[int]:
    return [int(text) for text in dg.render(digits)]


@given(pairs)
def test_addition(values):
    assert integers(dg.add(*arrays(values))) == [a + b for a, b in values]


@given(pairs)
def test_subtraction_of_the_smaller(values):
    ordered = [(max(pair), min(pair)) for pair in values]
    assert integers(dg.subtract(*arrays(ordered))) == [a - b for a, b in ordered]


@given(pairs)
def test_subtraction_refuses_what_would_be_negative(values):
    first, second = arrays(values)
    if all(a >= b for a, b in values):
        dg.subtract(first, second)
    else:
        with pytest.raises(ValueError, match="larger number first"):
            dg.subtract(first, second)


@given(pairs)
def test_multiplication(values):
    assert integers(dg.multiply(*arrays(values))) == [a * b for a, b in values]


@given(pairs)
def test_comparison(values):
    assert dg.compare(*arrays(values)).tolist() == [(a > b) - (a < b) for a, b in values]


@given(st.lists(st.lists(numbers, min_size=3, max_size=3), min_size=1, max_size=6), st.integers(1, 12))
def test_sums_of_many(values, times):
    stacked = np.stack(arrays([tuple(row) for row in values]), axis=1)
    assert integers(dg.add_many(np.repeat(stacked, 4, axis=1)[:, :times])) == [
        sum(np.repeat(np.array(row, dtype=object), 4)[:times]) for row in values
    ]


@given(st.lists(numbers, min_size=1, max_size=8))
def test_render_and_parse_are_inverse_and_lengths_agree(values):
    digits = dg.parse([str(value) for value in values])
    assert integers(digits) == values
    assert dg.lengths(digits).tolist() == [len(str(value)) for value in values]
    assert dg.lengths(dg.parse(["0"], 7)).tolist() == [1]


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 8)), min_size=1, max_size=8))
def test_shift(values):
    digits = dg.parse([str(value) for value, _ in values], 16)
    by = np.array([places for _, places in values])
    assert integers(dg.shift(digits, by)) == [value * 10**places for value, places in values]


def test_shift_refuses_to_lose_digits():
    with pytest.raises(ValueError, match="does not fit 3 places"):
        dg.shift(dg.parse(["12"], 3), 2)


@given(st.integers(1, 30), st.integers(0, 5))
def test_samples_have_the_asked_lengths(length, seed):
    asked = np.array([[length, 1], [1, length]])
    drawn = dg.sample(generator(seed, "digits"), 30, asked)
    assert dg.lengths(drawn).tolist() == asked.tolist()


def test_samples_are_uniform():
    drawn = dg.sample(generator(0, "uniform"), 2, np.full(90_000, 2))
    values = drawn[:, 0] + 10 * drawn[:, 1].astype(int)
    seen = np.bincount(values, minlength=100)
    assert seen[:10].sum() == 0
    chi_square = ((seen[10:] - 1000) ** 2 / 1000).sum()
    assert chi_square < 142  # 89 degrees of freedom: p = 0.0003


def test_ten_thousand_digits():
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        first, second = dg.sample(generator(1, "long"), 10_000, np.full((2, 2), 10_000))
        second[0] = 9 - first[0]  # one cascade over all columns ...
        second[0, 0] += first[0, 0] != 0 or 0
        values = list(zip(integers(first), integers(second), strict=True))
        assert integers(dg.add(first, second)) == [a + b for a, b in values]
        assert integers(dg.multiply(first, second)) == [a * b for a, b in values]
        larger = dg.compare(first, second) >= 0
        high, low = np.where(larger[:, None], first, second), np.where(larger[:, None], second, first)
        assert integers(dg.subtract(high, low)) == [abs(a - b) for a, b in values]
    finally:
        sys.set_int_max_str_digits(limit)


@pytest.mark.parametrize("text", ["12a", "", "-3", "1.5"])
def test_parse_refuses_what_is_no_number(text):
    with pytest.raises(ValueError, match="digits 0 to 9"):
        dg.parse(["1", text])
    with pytest.raises(ValueError, match="does not fit 2 places"):
        dg.parse(["123"], 2)
