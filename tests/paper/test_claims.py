"""Verdicts from counts, on counts that are made up."""

import pytest

from digitwise.counts import Count
from digitwise.paper.claims import CLAIMS
from digitwise.paper.evidence import FAILS, HOLDS, INCONCLUSIVE, NOT_RUN, above, all_of, at_least, at_most, within
from digitwise.paper.recipes import RECIPES


def of(correct: int, tried: int) -> Count:
    return Count("uniform", 1, 5, "", "", 0, 10, tried, correct)


def test_bounds_need_the_whole_interval():
    assert at_least(of(1000, 1000), 0.99) == HOLDS
    assert at_least(of(99, 100), 0.99) == INCONCLUSIVE
    assert at_least(of(900, 1000), 0.99) == FAILS
    assert at_most(of(0, 1000), 0.02) == HOLDS
    assert at_most(of(2, 100), 0.02) == INCONCLUSIVE
    assert at_most(of(100, 1000), 0.02) == FAILS


def test_differences():
    assert above(of(900, 1000), of(700, 1000), 0.1) == HOLDS
    assert above(of(90, 100), of(70, 100), 0.1) == INCONCLUSIVE
    assert above(of(700, 1000), of(900, 1000)) == FAILS
    assert within(of(940, 1000), of(950, 1000), 0.05) == HOLDS
    assert within(of(94, 100), of(95, 100), 0.05) == INCONCLUSIVE
    assert within(of(700, 1000), of(950, 1000), 0.05) == FAILS


@pytest.mark.parametrize(
    ("verdicts", "total"),
    [((HOLDS, HOLDS), HOLDS), ((HOLDS, INCONCLUSIVE), INCONCLUSIVE), ((FAILS, INCONCLUSIVE), FAILS)],
)
def test_all_of(verdicts, total):
    assert all_of(*verdicts) == total


def test_without_results_nothing_is_claimed(tmp_path):
    for claim in CLAIMS:
        found = claim.verdict(tmp_path)
        assert found["verdict"] == NOT_RUN and "has not been run" in found["why"]
        assert set(claim.recipes) <= set(RECIPES)
