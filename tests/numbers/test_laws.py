"""The laws against counting every problem, and the numbers in docs/complexity.md against the laws."""

import doctest
import itertools
import json
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from digitwise.numbers import complexity as cx
from digitwise.numbers import products, sums
from digitwise.numbers.products import levels_law
from digitwise.numbers.sums import law
from digitwise.paper.law_figures import PANELS, draw, report

PAGE = Path(__file__).parents[2] / "docs" / "complexity.md"
FIVE_DIGITS = ["0.0503284375", "0.7757465625", "0.160425", "0.0126", "0.000855", "0.000045"]


def chains(columns, base):
    """Longest cascade and longest untriggered run, column by column."""
    cascade = run = nines = 0
    carry = False
    for column in columns:
        nines = nines + 1 if column == base - 1 else 0
        carry = carry if column == base - 1 else column >= base
        if carry:
            cascade = max(cascade, nines + 1)
        else:
            run = max(run, nines)
    return cascade, run


def listed(length, base, leading):
    """The joint law by listing all pairs of numbers."""
    numbers = range(base ** (length - 1) if leading and length > 1 else 0, base**length)
    digits = [[number // base**place % base for place in range(length)] for number in numbers]
    seen = Counter(
        chains([a + b for a, b in zip(x, y, strict=True)], base) for x, y in itertools.product(digits, repeat=2)
    )
    chance = [[Fraction(seen[c, u], len(digits) ** 2) for u in range(length + 1)] for c in range(length + 1)]
    return np.array(chance, dtype=object)


@pytest.mark.parametrize(
    ("base", "length"), [(2, 1), (2, 2), (2, 3), (2, 6), (3, 1), (3, 4), (4, 3), (7, 2), (10, 1), (10, 2)]
)
@pytest.mark.parametrize("leading", [False, True])
def test_all_problems_counted(base, length, leading):
    wanted = listed(length, base, leading)
    assert (law(length, base, leading, "joint").probabilities == wanted).all()
    assert (law(length, base, leading).probabilities == wanted.sum(1)).all()
    assert (law(length, base, leading, "untriggered").probabilities == wanted.sum(0)).all()
    for measure, exact in (("joint", wanted), ("cascade", wanted.sum(1)), ("untriggered", wanted.sum(0))):
        floats = law(length, base, leading, measure, exact=False)
        assert floats.method == "double" and abs(floats.probabilities - exact.astype(float)).max() < 1e-14


@pytest.mark.parametrize("module", [sums, products])
def test_the_examples_of_the_docstrings(module):
    failed, tried = doctest.testmod(module)
    assert tried and not failed


def test_five_digits_exactly():
    assert law(5).probabilities.tolist() == [Fraction(chance) for chance in FIVE_DIGITS]
    assert law(5).method == "exact" and not law(5).open


def test_fifty_digits():
    assert round(float(law(50).at_most(4)), 6) == 0.997932
    assert round(law(50, exact=False).at_most(4), 6) == 0.997932


@settings(max_examples=25)
@given(st.integers(1, 60), st.integers(2, 20), st.booleans(), st.integers(1, 12))
def test_marginals_and_open_classes(length, base, leading, upto):
    """The joint law is a third way to the two others: a recurrence where they are sums of binomials."""
    joint = law(length, base, leading, "joint", upto=upto)
    assert joint.probabilities.sum() == 1 and (joint.probabilities >= 0).all()
    for measure, axis in (("cascade", 1), ("untriggered", 0)):
        full = law(length, base, leading, measure)
        cut = law(length, base, leading, measure, upto=upto)
        assert full.probabilities.sum() == 1
        assert cut.probabilities.tolist() == joint.probabilities.sum(axis).tolist()
        assert cut.open == (upto < length)
        assert cut[-1] == full.probabilities[len(cut) - 1 :].sum()
    assert abs(law(length, base, leading, "joint", exact=False, upto=upto).probabilities - joint.floats()).max() < 1e-13


def test_measured_frequencies_follow_the_joint_law():
    rng = np.random.default_rng(3)
    first, second = rng.integers(0, 10, (2, 100_000, 30), dtype=np.uint8)
    classes = [np.minimum(measure(first, second), 4) for measure in (cx.cascade, cx.untriggered)]
    seen = np.bincount(classes[0] * 5 + classes[1], minlength=25).reshape(5, 5)
    expected = 100_000 * law(30, measure="joint", exact=False, upto=4).probabilities
    likely = expected > 5
    chi_square = ((seen - expected)[likely] ** 2 / expected[likely]).sum()
    assert chi_square < 55  # 20 degrees of freedom: p = 0.00004


def test_a_thousand_digits():
    exact = law(1000)
    assert len(exact) == 1001 and exact.probabilities.sum() == 1
    # Longest possible: one column makes a carry and 999 follow; float() of it is 0, the fraction is not.
    assert exact[1000] == Fraction(45 * 10**999, 100**1000)


def levels_listed(multiplier, length, leading):
    """The law of the levels by listing all products."""
    numbers = np.arange(10 ** (length - 1) if leading and length > 1 else 0, 10**length)
    digits = (numbers[:, None] // 10 ** np.arange(length) % 10).astype(np.uint8)
    seen = np.zeros(13, dtype=np.int64)
    for value in range(10 ** (multiplier - 1), 10**multiplier):
        written = (value // 10 ** np.arange(multiplier) % 10).astype(np.uint8)
        found = cx.product_rounds(np.broadcast_to(written, (len(digits), multiplier)), digits)
        seen += np.bincount(found, minlength=13)
    return [Fraction(int(count), int(seen.sum())) for count in seen]


@pytest.mark.parametrize(("multiplier", "length"), [(1, 1), (1, 2), (1, 5), (2, 1), (2, 2), (2, 4)])
@pytest.mark.parametrize("leading", [False, True])
def test_levels_of_all_products_counted(multiplier, length, leading):
    exact = levels_law(multiplier, length, leading)
    assert exact.method == "exact"
    assert exact.probabilities.tolist() == levels_listed(multiplier, length, leading)


@pytest.mark.slow
def test_levels_of_three_digit_multipliers():
    assert levels_law(3, 3, method="exact").probabilities.tolist() == levels_listed(3, 3, False)


def test_levels_in_three_ways():
    exact, double = levels_law(1, 30), levels_law(1, 30, method="double")
    assert abs(exact.floats() - double.probabilities).max() < 1e-13
    assert exact.probabilities.sum() == 1
    assert levels_law(1, 300).method == "double"
    estimate = levels_law(2, 12, leading=True, method="monte carlo", samples=50_000)
    wanted = levels_law(2, 12, leading=True).floats()
    sigma = np.sqrt(wanted * (1 - wanted) / 50_000)
    assert (abs(estimate.probabilities - wanted) <= 4 * sigma + 1e-12).all()
    assert estimate.intervals is not None and estimate.samples == 50_000
    assert (estimate.intervals[:, 0] <= estimate.probabilities).all()
    assert levels_law(3, 5, samples=1000).method == "monte carlo"
    assert levels_law(3, 5, samples=1000, seed=1).probabilities.tolist() != levels_law(3, 5, samples=1000)[:].tolist()


@pytest.mark.parametrize(("multiplier", "length"), [(1, 18), (1, 19), (2, 18)])
def test_levels_at_the_edge_of_machine_integers(multiplier, length):
    exact = levels_law(multiplier, length, method="exact", upto=6)
    assert exact.probabilities.sum() == 1
    double = levels_law(multiplier, length, method="double", upto=6)
    assert abs(exact.floats() - double.probabilities).max() < 1e-13


def test_the_papers_products():
    assert levels_law(1, 5)[4] == Fraction(19, 10_000)
    assert round(float(levels_law(1, 20).at_most(4)), 3) == 0.998


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"length": 0}, "length of at least 1, not 0"),
        ({"length": -3}, "length of at least 1, not -3"),
        ({"length": 5, "base": 1}, "base of at least 2, not 1"),
        ({"length": 5, "measure": "rounds"}, "no law of the measure 'rounds'; there is cascade, untriggered, joint"),
        ({"length": 5, "upto": 0}, "upto must be at least 1"),
    ],
)
def test_impossible_laws(arguments, message):
    with pytest.raises(ValueError, match=message):
        law(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"multiplier": 0, "length": 5}, "1 to 3 digits, not 0"),
        ({"multiplier": 4, "length": 5}, "1 to 3 digits, not 4"),
        ({"multiplier": 1, "length": 0}, "length of at least 1"),
        ({"multiplier": 1, "length": 5, "method": "guess"}, "no method 'guess'"),
        ({"multiplier": 1, "length": 5, "upto": 1}, "upto must be at least 2"),
    ],
)
def test_impossible_levels(arguments, message):
    with pytest.raises(ValueError, match=message):
        levels_law(**arguments)


def test_an_open_class_is_no_limit():
    with pytest.raises(ValueError, match="open"):
        law(50, upto=4).at_most(4)
    assert law(50, upto=5).at_most(4) == law(50).at_most(4)


def test_remembered_laws_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        law(5).probabilities[0] = 1


def test_report_and_figures(tmp_path):
    found = json.loads(json.dumps(report(samples=20_000)))
    assert [entry["name"] for entry in found["laws"]] == [panel.name for panel in PANELS]
    for entry in found["laws"]:
        assert entry["check"]["law_within"] and entry["check"]["paper_within"], entry["check"]
        assert abs(sum(entry["probabilities"]) - 1) < 1e-12 and abs(sum(entry["estimate"]) - 1) < 1e-12
    assert found["laws"][1]["exact"] == [str(Fraction(chance)) for chance in FIVE_DIGITS]
    paths = draw(tmp_path, samples=2_000)
    assert len(paths) == 4 and all(path.read_bytes().startswith(b"\x89PNG") for path in paths)


def table(name):
    """The rows of the table below a marker in the page."""
    lines = PAGE.read_text().split(f"<!-- law: {name} -->\n")[1].splitlines()
    rows = itertools.takewhile(lambda line: line.startswith("|"), lines)
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows][2:]


def test_the_page_tells_the_truth():
    assert table("exact") == [["probability", *FIVE_DIGITS]]
    for digits, *chances in table("lengths"):
        cascades = law(int(digits), exact=False, upto=5).probabilities[1:]
        runs = law(int(digits), exact=False, upto=5, measure="untriggered").probabilities[5:]
        assert chances == [f"{chance:.6f}" for chance in [*cascades, *runs]], digits
    for name, *chances in table("levels"):
        multiplier, length = name.removesuffix(" digits").split(" x ")
        found = levels_law(int(multiplier), int(length), upto=5).floats()
        assert chances == [f"{chance:.6f}" for chance in found], name
    assert f"P(cascade <= 4) = {float(law(50).at_most(4)):.6f}" in PAGE.read_text()
    assert f"P(cascade >= 10) = {float(1 - law(50).at_most(9)):.1e}" in PAGE.read_text()


def test_the_pages_examples():
    """Every line of Python in the page runs, and a line whose comment begins with a number returns it."""
    for block in PAGE.read_text().split("```python\n")[1:]:
        names: dict = {}
        for line in block.split("```")[0].splitlines():
            code, _, comment = line.partition("#")
            if not comment:
                exec(line, names)
                continue
            result, wanted = eval(code, names), comment.split()[0]
            if wanted.isdigit():
                assert int(result) == int(wanted), line
