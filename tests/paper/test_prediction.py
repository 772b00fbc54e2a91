"""Synthetic models whose accuracy at 50 digits is known exactly."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from small import SMALL

from digitwise.counts import Count
from digitwise.data import SUITES, ExactLength
from digitwise.numbers import complexity
from digitwise.numbers import digits as dg
from digitwise.numbers.sums import law
from digitwise.paper.prediction import draw, predict, predict_run, warnings
from digitwise.rng import generator
from digitwise.runs.folder import Run
from digitwise.runs.training import train
from digitwise.tasks import Addition

Judge = Callable[[dg.Digits, dg.Digits], NDArray[np.bool_]]


def measured(right: Judge, length: int, count: int = 400) -> list[Count]:
    """The strata suite's counts of a model that is a function of the operands."""
    task, suite = Addition(length), SUITES["strata"]
    counts = []
    for stratum in suite.strata(task, [length]):
        operands = suite.draw(stratum, count, seed=0)
        hits = right(operands.numbers[:, 0], operands.numbers[:, 1])[:, None]
        for group, part in suite.tally(stratum, operands, hits).items():
            key = (suite.name, suite.version, length, stratum.name, group, 0, 0)
            counts.append(Count(*key, tried=len(part), correct=int(part.sum())))
    return counts


@pytest.mark.parametrize("at", [10, 20])
def test_a_model_that_fails_on_cascades_above_three(at):
    counts = measured(lambda a, b: complexity.cascade(a, b) <= 3, at)
    truth = float(law(50, leading=True, exact=False).at_most(3))
    found = predict(counts, 50)
    assert found["interval"][0] <= truth <= found["interval"][1]
    assert found["interval"][1] - found["interval"][0] < 0.02
    assert found["predicted"] == pytest.approx(truth, abs=1e-3)


def test_a_model_that_takes_every_long_run_for_a_cascade():
    """Right on all cascades, wrong on untriggered runs of 3 and more: what triggered cascades alone cannot show."""
    counts = measured(lambda a, b: complexity.untriggered(a, b) < 3, 12)
    truth = float(law(50, leading=True, measure="untriggered", exact=False).at_most(2))
    found = predict(counts, 50)
    assert found["interval"][0] <= truth <= found["interval"][1]
    assert truth < 0.98


def test_a_noisy_model():
    def right(a, b):
        noise = generator(int(a[:, 0].sum()), "noise").random(len(a))
        return noise < 0.9 ** complexity.cascade(a, b)

    found = predict(measured(right, 12, count=1500), 30)
    drawn = Addition(30).draw(ExactLength(30), generator(1, "truth"), 200_000)
    truth = (0.9 ** complexity.cascade(drawn.numbers[:, 0], drawn.numbers[:, 1])).mean()
    low, high = found["interval"]
    assert low - 0.005 <= truth <= high + 0.005
    assert high - low < 0.05


def test_unseen_cells_widen_the_interval():
    few = [c for c in measured(lambda a, b: np.ones(len(a), bool), 12) if c.group in ("0/0", "1/0", "1/1", "2/0")]
    narrow = predict(measured(lambda a, b: np.ones(len(a), bool), 12), 50)
    wide = predict(few, 50)
    assert wide["measured share"] < 0.7 < 0.99 < narrow["measured share"]
    assert np.diff(wide["interval"]) > 10 * np.diff(narrow["interval"])
    with pytest.raises(ValueError, match="strata suite first"):
        predict([], 50)


def test_predict_run_writes_its_plot(tmp_path):
    run = Run.create(tmp_path / "run", SMALL)
    train(run)
    result = predict_run(run, at=4, lengths=[2, 3, 50], problems=20)
    assert [row["length"] for row in result["rows"]] == [2, 3, 50]
    assert draw(result, tmp_path / "prediction.png").stat().st_size > 5000


def test_a_model_that_is_never_right_is_not_predicted_to_be():
    """Cells that were not measured counted as right: 0.45 at 1 digit for a model with 0.000 everywhere."""
    counts = [c for c in measured(lambda a, b: np.zeros(len(a), bool), 10) if c.group != "0/0"]
    found = predict(counts, 1)
    assert found["predicted"] is None and found["interval"] is None and "nothing is right" in found["why"]


def test_only_measured_cells_predict():
    counts = [c for c in measured(lambda a, b: complexity.cascade(a, b) > 0, 10) if c.group != "0/0"]
    found = predict(counts, 1)
    assert found["predicted"] is None and "hold less than 0.95" in found["why"]
    low, high = found["interval"]
    truth = 1 - float(law(1, leading=True, exact=False).at_most(0))  # 0.45 of the problems have no cell
    assert low < truth < high and high - low > 0.4


def test_nothing_is_predicted_from_a_small_share():
    easy = {f"{c}/{u}" for c in range(4) for u in range(4)}
    counts = [c for c in measured(lambda a, b: np.ones(len(a), bool), 10) if c.group in easy]
    near, far = predict(counts, 10), predict(counts, 10_000)
    assert near["predicted"] == 1 and near["measured share"] > 0.99
    assert far["predicted"] is None and far["measured share"] < 0.01 and far["interval"][0] < 0.01


def test_a_contradiction_is_said():
    """An absolute model: all right at 5 digits, next to nothing at 10, whatever the complexity."""
    counts = measured(lambda a, b: np.arange(len(a)) == 0, 10)
    row = predict(counts, 5) | {"measured": 1.0, "measured interval": [0.996, 1.0]}
    said = " ".join(warnings([row], at=10, trained=5))
    assert "measured 1.000 at 5 digits, predicted 0.0" in said and "do not hold" in said and "--at 5" in said
    assert not warnings([row | {"measured interval": row["interval"]}], at=10, trained=5)


def test_a_figure_without_any_prediction(tmp_path):
    rows = [predict([Count("strata", 1, 5, "", "1/0", 0, 0, 9, 0)], length) for length in (3, 5)]
    result = {"rows": rows, "measured at": 5, "trained": 4, "problems a stratum": 9, "problems a length": 1000}
    drawn = draw(result, tmp_path / "prediction.svg").read_text()
    assert drawn.startswith("<?xml") and "9 problems per stratum, 1,000 per length" in drawn
