"""Explanations, retraced round by round, and what cannot be explained."""

import itertools
import json
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from digitwise.answers.explain import explain, render, stream
from digitwise.cli import main


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


@given(
    st.integers(101, 160).flatmap(lambda n: st.tuples(st.just(n), st.lists(st.integers(0, 9), min_size=n, max_size=n))),
    st.sampled_from(["+", "7 *", "68 *", "999 *"]), st.integers(0, 9),
)  # fmt: skip
@settings(max_examples=60)
def test_what_is_shortened_agrees_with_what_is_full(drawn, how, nearly_nines):
    """Both ends of every round that is shown, and all totals; problems with long cascades among them."""
    length, digits = drawn
    number = "9" + "".join("9" if digit >= nearly_nines else str(digit) for digit in digits)
    problem = f"{number} + {'1' + '0' * (length - 100) + '7' * 100}" if how == "+" else f"{how} {number}"
    short, full = explain(problem), explain(problem, full=True)
    same = ("problem", "kind", "operands", "answer", "rounds", "cascades_in", "carries", "dependency")
    assert {name: short[name] for name in same} == {name: full[name] for name in same}
    index = [full["places"].index(place) for place in short["places"]]
    for step in short["trace"]:
        whole = full["trace"][step["round"]]
        assert step["columns"] == [whole["columns"][i] for i in index]
        assert step["moved"] == whole["moved"][: len(step["moved"])]
        assert step["columns_moved"] == len({carry["from"] for carry in whole["moved"]})
    assert short["trace"][-1]["round"] == full["rounds"]
    assert len(full["trace"]) - len(short["trace"]) == short["left_out"]["rounds"]
    assert len(full["places"]) - len(short["places"]) == short["left_out"]["places"]
    for kind in ("cascades", "untriggered_runs"):
        assert len(full[kind]) - len(short[kind]) == short["left_out"][kind]
        assert all(chain in full[kind] for chain in short[kind])
    assert "\n".join(stream(problem, full=True)) + "\n" == render(full)
    assert sum(len(step["moved"]) for step in full["trace"]) == full["carries"]


def test_twenty_thousand_nines_fit_on_a_screen_and_in_memory():
    tracemalloc.start()
    lines = list(stream(f"{'9' * 20_000} + 1"))
    document = json.dumps(explain(f"{'9' * 20_000} + 1"))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 50e6 and len(document) < 200_000
    assert len(lines) < 40 and max(map(len, lines)) < 260
    text = "\n".join(lines)
    assert "9999999999999999...9999999999999999 (20,000 digits) + 1 = 1000000000000000...0" in text
    assert "round 20000" in text and "19,969 places in the middle, and 19,983 rounds" in text


def test_full_pictures_have_a_stated_bound(capsys):
    with pytest.raises(ValueError, match="2,001 digits; --full takes up to 2,000"):
        explain(f"{'9' * 2001} + 1", full=True)
    with pytest.raises(ValueError, match="explain takes up to 1,000,000"):
        explain(f"{'9' * 1_000_001} + 1")
    assert main(["explain", f"{'9' * 150} + 1", "--full"]) == 0
    assert len(capsys.readouterr().out.splitlines()) > 150
    lines = stream(f"{'9' * 2000} + 1", full=True)
    assert "2000" in list(itertools.islice(lines, 3))[2]  # the first lines come before the last round is worked out
