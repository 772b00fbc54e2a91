"""Median and worst over seeds, by hand."""

from dataclasses import replace

import pytest
from small import SMALL

from digitwise.counts import Count
from digitwise.runs.folder import Run
from digitwise.runs.results import over_seeds


@pytest.fixture
def runs(tmp_path):
    found = []
    for seed, right in enumerate((90, 100, 97)):
        run = Run.create(tmp_path / f"seed{seed}", replace(SMALL, seed=seed))
        run.log(step=10, validation=1.0)
        run.log(step=20, validation=0.5)
        cell = Count("uniform", 1, 5, "", "", 0, 20, tried=100, correct=right)
        others = [
            replace(cell, checkpoint=10, correct=1),  # an earlier checkpoint
            replace(cell, group="place 0", correct=2),  # a part of the cell
            replace(cell, suite="edges", stratum="zero", tried=3, correct=3),
            replace(cell, suite="edges", stratum="equal", tried=2, correct=1 + (seed == 0)),
        ]
        run.add_counts([cell, *others])
        found.append(run)
    return found


def test_the_middle_and_the_worst_seed_of_the_last_checkpoint(runs):
    edges, uniform = over_seeds(runs)
    assert (uniform["median"], uniform["worst"], uniform["seeds"], uniform["problems a seed"]) == (0.97, 0.9, 3, 100)
    assert uniform["all seeds 95%"][0] < 287 / 300 < uniform["all seeds 95%"][1]
    assert (edges["median"], edges["worst"], edges["problems a seed"]) == (0.8, 0.8, 5)


def test_one_seed_can_be_added_at_a_time(runs):
    assert [row["seeds"] for row in over_seeds(runs[:1])] == [1, 1]
    assert [row["median"] for row in over_seeds(runs[:2])] == [0.9, 0.95]
