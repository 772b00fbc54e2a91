"""Explanations, retraced round by round, and what cannot be explained."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digitwise.answers.explain import explain, render


@given(st.integers(0, 10**12), st.integers(0, 10**12))
def test_explained_sums(first, second):
    found = explain(f"{first}+{second}")
    json.dumps(found)
    assert int(found["answer"]) == first + second
    assert found["rounds"] == found["cascade"] == max([chain["length"] for chain in found["cascades"]], default=0)
    assert found["untriggered"] == max([chain["length"] for chain in found["untriggered_runs"]], default=0)
    assert sum(len(step["moved"]) for step in found["trace"]) == found["carries"]
    _retrace(found)


@given(st.integers(0, 999), st.integers(0, 10**9), st.sampled_from(["*", "x", " X ", " × "]))
def test_explained_products(multiplier, multiplicand, sign):
    found = explain(f"{multiplier}{sign}{multiplicand}")
    assert int(found["answer"]) == multiplier * multiplicand
    longest_cascade = max([chain["length"] for chain in found["cascades"]], default=0)
    assert found["rounds"] == found["cascades_in"] + longest_cascade == found["dependency"]
    _retrace(found)


def _retrace(found):
    """Each round is the one before it with the carries that it says it moved, and every line has every place."""
    for before, after in itertools.pairwise(found["trace"]):
        columns = [c % 10 for c in before["columns"]]
        for step in after["moved"]:
            columns[found["places"].index(step["to"])] += step["carry"]
        assert columns == after["columns"]
    assert int("".join(map(str, found["trace"][-1]["columns"]))) == int(found["answer"])
    lines = render(found).splitlines()
    assert lines[0] == f"{found['problem']} = {found['answer']}"
    shown = [line for line in lines if line.lstrip().startswith(("columns", "round "))]
    assert [line.split("up:")[0].split()[-len(found["places"]) :] for line in shown] == [
        [str(c) for c in step["columns"]] for step in found["trace"]
    ]


def test_the_picture_of_a_cascade():
    assert render(explain("9654 + 347")) == (
        "9654 + 347 = 10001\n\n"
        "  place   4  3  2  1  0\n"
        "             9  6  5  4\n"
        "      +         3  4  7\n"
        "-----------------------\n"
        "columns   0  9  9  9 11\n"
        "             <  <  <  ^\n"
        "round 1   0  9  9 10  1   up: 1 from 0\n"
        "round 2   0  9 10  0  1   up: 1 from 1\n"
        "round 3   0 10  0  0  1   up: 1 from 2\n"
        "round 4   1  0  0  0  1   up: 1 from 3\n\n"
        "^ makes a carry, < passes it on. Cascades: 4 from place 0.\n"
        "Rounds: 4, the longest cascade. Carries: 4, at most 4 in a row.\n"
        "The worst digit depends on 5 columns.\n"
    )
    assert "\n           o o\n" in render(explain("45 + 54"))


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        ("", "is not a problem"),
        ("12 + ", "is not a problem"),
        ("1 + 2 + 3", "only sums of two numbers and products"),
        ("-1 + 2", "negative"),
        ("1.5 + 2", "is not a problem"),
        ("7 - 2", "only sums of two numbers and products"),
        ("1234 * 56789", "multiplier 1234 has 4 digits"),
    ],
)
def test_what_cannot_be_explained(problem, message):
    with pytest.raises(ValueError, match=message) as caught:
        explain(problem)
    assert "\n" not in str(caught.value)


def test_the_shorter_factor_is_the_multiplier_and_leading_zeros_are_dropped():
    assert explain("01234 * 5")["operands"] == ["5", "1234"]
    assert explain("007 + 00")["operands"] == ["7", "0"]
