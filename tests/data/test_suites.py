"""What each suite promises about its problems, checked against Python's integers and brute force."""

import numpy as np
import pytest
from small import posed

from digitwise.answers.exchange import difficulty
from digitwise.data import SUITES
from digitwise.numbers import complexity
from digitwise.numbers import digits as dg
from digitwise.tasks import Addition, Arithmetic, Kind, Multiplication, TextAddition

TASK = Addition(12)


def problems(suite: str, lengths: list[int], count: int = 50, task=TASK, seed: int = 0):
    for stratum in SUITES[suite].strata(task, lengths):
        drawn = SUITES[suite].draw(stratum, count, seed)
        multipliers = [drawn.multipliers] if isinstance(task, Multiplication) else []
        yield stratum, *multipliers, *drawn.numbers.swapaxes(0, 1)


@pytest.mark.parametrize("suite", SUITES)
def test_draws_are_a_function_of_the_seed(suite):
    # Every suite of sums on a canvas has problems with text too.
    task = Arithmetic("+", summands=3) if suite == "more" else TextAddition(12)
    for stratum in SUITES[suite].strata(task, [5]):
        one, two = (SUITES[suite].draw(stratum, 20, seed=3) for _ in range(2))
        assert (one.numbers == two.numbers).all() and (one.kind == two.kind).all()


@pytest.mark.parametrize("suite", ["uniform", "cascade", "consecutive", "nines", "nocarry", "places", "strata"])
def test_headline_suites_have_exactly_the_length(suite):
    for _, first, second in problems(suite, [1, 5, 9] if suite != "nines" else [3, 5, 9]):
        length = int(dg.lengths(first)[0])
        assert set(dg.lengths(first)) | set(dg.lengths(second)) == {length}


def test_upto_and_shifted_reach_shorter_numbers_and_the_whole_canvas():
    ((_, first, _),) = problems("upto", [3], 2000)
    assert set(dg.lengths(first)) == {1, 2, 3}
    ((_, first, second),) = problems("shifted", [2], 4000)
    assert max(dg.lengths(first)) == 12
    trailing = ((first != 0) | (second != 0)).argmax(-1)
    widest = np.maximum(dg.lengths(first), dg.lengths(second))
    assert ((widest - trailing <= 2) | (widest == 1)).all()


def test_cascades_and_consecutive_carries_are_as_labelled():
    for stratum, first, second in problems("cascade", [6]):
        assert set(complexity.cascade(first, second)) == {int(stratum.name.split()[1])}
    for stratum, first, second in problems("consecutive", [6]):
        assert set(complexity.consecutive_carries(first, second)) == {int(stratum.name.split()[1])}
        assert complexity.cascade(first, second).max() <= 1


def test_nines_come_with_and_without_a_carry():
    seen = set()
    for stratum, first, second in problems("nines", [8]):
        _, run, way, _ = stratum.name.split()
        seen.add((int(run), way))
        measure = complexity.cascade if way == "with" else complexity.untriggered
        assert set(measure(first, second)) == {int(run) + (way == "with")}
    assert seen == {(run, "with") for run in range(1, 8)} | {(run, "without") for run in range(1, 9)}


def test_edges_are_there():
    written = {text for _, *operands in problems("edges", [4]) for text in TASK.render(TASK.pose(Kind("+"), operands))}
    assert {"0 + 0", "9999 + 1", "1 + 9999", "9999 + 9999", "7777 + 7777", "1000 + 0"} <= written
    assert any(len(a) == 12 for a in (text.split()[0] for text in written))
    assert any({len(part) for part in text.split(" + ")} == {1, 4} for text in written)
    products = {
        f"{a} * {b}"
        for k in (1, 3)
        for _, f, s in problems("edges", [4], task=Multiplication(k, 6))
        for a, b in zip(dg.render(f), dg.render(s), strict=True)
    }
    assert {"0 * 7777", "1 * 9999", "100 * 1000", "999 * 0", "999 * 1", "9 * 1000"} <= products


def test_complexity_suites_refuse_products_and_long_numbers():
    for suite in ("cascade", "consecutive", "nines", "strata", "nocarry"):
        with pytest.raises(ValueError, match="needs an addition"):
            SUITES[suite].strata(Multiplication(1, 5), [3])
    for suite in (suite for suite in SUITES.values() if suite.name != "more"):
        with pytest.raises(ValueError, match=r"canvas of at least 1[38]"):
            suite.strata(TextAddition(12), [13])
    with pytest.raises(ValueError, match="needs a text-addition"):
        SUITES["text"].strata(TASK, [5])


def test_complexity_of_a_problem():
    assert difficulty(posed(TASK, Kind("+"), 999, 1)).tolist() == [3]
    assert difficulty(posed(Multiplication(2, 5), Kind("*", 2), 56, 4297)).tolist() == [2]
