"""Accuracy at any length from accuracy by complexity at one length.

If a model's success depends on a problem's chains alone (its longest cascade c and its longest untriggered run u), then

    accuracy(L) = sum over c, u of  P_L(c, u) accuracy(c, u)

with P_L the exact law of `laws`. What the measured curve loses beyond that is not complexity: it is length itself, or
the format. Cells are measured by the `strata` suite, whose samplers reach rare ones. The interval draws every cell from
its Beta posterior; a cell that was never seen may be anything between 0 and 1, and widens the interval.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from digitwise import plots
from digitwise.counts import Chains, Count
from digitwise.numbers.sums import law
from digitwise.rng import generator
from digitwise.runs.evaluation import evaluate
from digitwise.runs.folder import Run

DRAWS = 4000
CLASSES = 12  # 0 to 10, and everything longer


def cells(counts: Sequence[Count]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Tried and correct by longest cascade and longest untriggered run; the last class holds everything longer."""
    tried, correct = (np.zeros((CLASSES, CLASSES), dtype=np.int64) for _ in range(2))
    for count in counts:
        if count.suite == "strata" and count.group:
            c, u = (min(columns, CLASSES - 1) for columns in Chains.parse(count.group))
            tried[c, u] += count.tried
            correct[c, u] += count.correct
    return tried, correct


def predict(counts: Sequence[Count], length: int, seed: int = 0) -> dict[str, Any]:
    """Accuracy at a length with its 95 % interval, and the share of problems in cells that were measured."""
    tried, correct = cells(counts)
    if not tried.any():
        raise ValueError("nothing was measured by stratum: evaluate the strata suite first")
    chances = _law(length)
    rng = generator(seed, "prediction", length)
    # Beta(1/2, 1/2) before any evidence. Cells beyond the evidence fall to the cells below them on average, but their
    # spread stays that of the prior.
    draws = rng.beta(correct + 0.5, tried - correct + 0.5, (DRAWS, CLASSES, CLASSES))
    totals = (draws * chances).sum((1, 2))
    expected = float((_expected(tried, correct) * chances).sum())
    low, high = np.quantile(totals, [0.025, 0.975])
    return {
        "length": length,
        "predicted": round(expected, 5),
        "interval": [round(float(min(low, expected)), 5), round(float(max(high, expected)), 5)],
        "measured share": round(float(chances[tried > 0].sum()), 6),
    }


def _law(length: int) -> NDArray[np.float64]:
    """P(c, u) for two numbers of exactly `length` digits, on the grid of cells."""
    found = law(length, leading=True, measure="joint", exact=False, upto=CLASSES - 1).floats()
    out = np.zeros((CLASSES, CLASSES))
    out[: found.shape[0], : found.shape[1]] = found
    return out


def _expected(tried: NDArray[np.int64], correct: NDArray[np.int64]) -> NDArray[np.float64]:
    """The share that was right; in cells without evidence the least of the simpler cells beside it."""
    share = np.where(tried > 0, correct / np.maximum(tried, 1), np.nan)
    for c in range(CLASSES):
        for u in range(CLASSES):
            if np.isnan(share[c, u]):
                simpler = [share[c - 1, u]] * (c > 0) + [share[c, u - 1]] * (u > 0)
                share[c, u] = min(simpler, default=1.0)
    return share


def predict_run(
    run: Run, at: int | None = None, lengths: Sequence[int] | None = None, problems: int = 300, checkpoint: str = "last"
) -> dict[str, Any]:
    """Measure a run by stratum at one length, predict its accuracy at others, and compare with what was measured."""
    experiment = run.experiment
    trained = experiment.trained_length
    at = at if at is not None else min(2 * trained, (experiment.task.longest or 2 * trained + 1) - 1)
    step = str(run.select(checkpoint)[0])
    strata = evaluate(run, "strata", [at], problems, checkpoints=step)
    wanted = list(lengths) if lengths is not None else [*experiment.testing.lengths, 30, 50, 100]
    measured = {
        count.length: count for count in run.counts()
        if count.suite == "uniform" and not count.group and str(count.checkpoint) == step
    }  # fmt: skip
    rows = []
    for length in wanted:
        row = predict(strata, length)
        if length in measured:
            found = measured[length]
            row |= {"measured": round(found.accuracy, 5), "measured interval": [round(x, 5) for x in found.interval]}
            row["lost to complexity"] = round(1 - row["predicted"], 5)
            row["lost to length"] = round(row["predicted"] - found.accuracy, 5)
        rows.append(row)
    return {
        "run": str(run.folder),
        "checkpoint": int(step),
        "measured at": at,
        "problems a stratum": problems,
        "rows": rows,
    }


def draw(result: dict[str, Any], path: Path) -> Path:
    """The prediction with its band over the measured curve."""
    figure, axes = plots.new_figure()
    rows = result["rows"]
    lengths = [row["length"] for row in rows]
    low, high = zip(*(row["interval"] for row in rows), strict=True)
    axes.fill_between(lengths, low, high, color=plots.COLOURS[1], alpha=0.2, lw=0)
    axes.plot(
        lengths,
        [row["predicted"] for row in rows],
        "o-",
        ms=2.5,
        color=plots.COLOURS[1],
        label="from complexity alone",
    )
    known = [row for row in rows if "measured" in row]
    if known:
        below, above = zip(*(row["measured interval"] for row in known), strict=True)
        xs = [row["length"] for row in known]
        axes.fill_between(xs, below, above, color=plots.COLOURS[0], alpha=0.2, lw=0)
        axes.plot(xs, [row["measured"] for row in known], "o-", ms=3.5, color=plots.COLOURS[0], label="measured")
    axes.axvline(result["measured at"], color="#888888", lw=0.8, ls=":", label="strata measured here")
    axes.set(
        xlabel="digits", ylabel="exact match", ylim=(-0.02, 1.03), title="How much of the decay is complexity alone"
    )
    axes.legend(frameon=False, fontsize=8)
    return plots.save(figure, path)
