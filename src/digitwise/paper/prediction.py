"""Accuracy at any length from accuracy by complexity at one length.

If a model's success depends on a problem's chains alone (its longest cascade c and its longest untriggered run u), then

    accuracy(L) = sum over c, u of  P_L(c, u) accuracy(c, u)

with P_L the exact law of `laws`. What the measured curve loses beyond that is not complexity: it is length itself, or
the format. Cells are measured by the `strata` suite, whose samplers reach rare ones.

Only cells that were measured predict: the prediction is the mean over them, and `measured share` says how much of the
law they are. The interval draws each of them from its Beta posterior, and counts the rest once as all wrong and once as
all right. Where less than `LEAST` of the law was measured there is the interval alone, and `why` says so.
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
LEAST = 0.95  # of the law: what is left are the hardest problems, so with less a mean over the rest is too high
FAR = 0.05  # how far a measured accuracy may lie outside the interval before the assumption is called into question


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
    """Accuracy at a length with its 95 % interval, and the share of problems in cells that were measured. Where that
    is too little, `predicted` is None and `why` says what is missing."""
    tried, correct = cells(counts)
    if not tried.any():
        raise ValueError("nothing was measured by stratum: evaluate the strata suite first")
    if length < 1:
        raise ValueError(f"a prediction needs a length of at least 1, not {length}")
    chances, seen = _law(length), tried > 0
    covered = float(min(chances[seen].sum(), 1.0))
    row: dict[str, Any] = {"length": length, "predicted": None, "interval": None, "measured share": round(covered, 6)}
    if not correct.any():
        return row | {"why": "nothing is right in any cell: not complexity but length, or the format, decides"}
    # Beta(1/2, 1/2) before any evidence.
    rng = generator(seed, "prediction", length)
    draws = rng.beta(correct[seen] + 0.5, tried[seen] - correct[seen] + 0.5, (DRAWS, int(seen.sum())))
    low, high = np.quantile((draws * chances[seen]).sum(1), [0.025, 0.975])
    right = float((correct[seen] / tried[seen] * chances[seen]).sum())
    bounds = min(low, right), min(max(high, right) + 1 - covered, 1.0)
    row["interval"] = [round(float(bound), 5) for bound in bounds]
    if covered < LEAST:
        return row | {"why": f"the cells that were measured hold less than {LEAST} of the problems"}
    return row | {"predicted": round(right / covered, 5)}


def _law(length: int) -> NDArray[np.float64]:
    """P(c, u) for two numbers of exactly `length` digits, on the grid of cells."""
    found = law(length, leading=True, measure="joint", exact=False, upto=CLASSES - 1).floats()
    out = np.zeros((CLASSES, CLASSES))
    out[: found.shape[0], : found.shape[1]] = found
    return out


def predict_run(
    run: Run, at: int | None = None, lengths: Sequence[int] | None = None, problems: int = 300, checkpoint: str = "last"
) -> dict[str, Any]:
    """Measure a run by stratum at one length, predict its accuracy at others, and compare with what was measured."""
    experiment, trained = run.experiment, run.experiment.trained_length
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
            if row["predicted"] is not None:
                row["lost to complexity"] = round(1 - row["predicted"], 5)
                row["lost to length"] = round(row["predicted"] - found.accuracy, 5)
        rows.append(row)
    return {
        "run": str(run.folder), "checkpoint": int(step), "measured at": at, "problems a stratum": problems,
        "trained": trained, "problems a length": min((count.tried for count in measured.values()), default=0),
        "rows": rows, "warnings": warnings(rows, at, trained),
    }  # fmt: skip


def warnings(rows: Sequence[dict[str, Any]], at: int, trained: int) -> list[str]:
    """Why some rows have no prediction, and whether the measured lengths contradict the assumption."""
    why = {
        row["why"]: [other["length"] for other in rows if other.get("why") == row["why"]]
        for row in rows
        if "why" in row
    }
    found = [f"no prediction at {', '.join(map(str, lengths))} digits: {reason}" for reason, lengths in why.items()]
    better = [
        row for row in rows
        if row["predicted"] is not None and row.get("measured interval", [0])[0] > row["interval"][1] + FAR
    ]  # fmt: skip
    if better:
        row = max(better, key=lambda row: row["measured"] - row["predicted"])
        found.append(
            f"measured {row['measured']:.3f} at {row['length']} digits, predicted {row['predicted']:.3f}: problems of"
            f" one complexity are harder at {at} digits than at {row['length']}, so these predictions do not hold"
        )
    if (better or any(row["interval"] is None for row in rows)) and at > trained:
        found.append(f"cells from the trained lengths tell complexity from length: --at {trained}")
    return found


def draw(result: dict[str, Any], path: Path) -> Path:
    """The prediction with its band over the measured curve. A length without a prediction has no point."""
    figure, axes = plots.new_figure(height=4.2)
    axes.axvspan(0, result["trained"] + 0.5, color=plots.SHADE, zorder=0, label="lengths in training")
    for number, (name, label) in enumerate(
        (("measured", "measured"), ("predicted", "predicted from complexity alone"))
    ):
        rows = sorted((row for row in result["rows"] if row.get(name) is not None), key=lambda row: row["length"])
        if rows:
            lengths = [row["length"] for row in rows]
            low, high = zip(
                *(row["interval" if name == "predicted" else f"{name} interval"] for row in rows), strict=True
            )
            line = plots.look(number)
            axes.fill_between(lengths, low, high, color=line["color"], alpha=0.2, lw=0)
            axes.plot(lengths, [row[name] for row in rows], label=f"{label}, 95 %", **line)
    axes.axvline(result["measured at"], color=plots.QUIET, lw=0.8, ls=":", label="strata measured here")
    if max(row["length"] for row in result["rows"]) > plots.FAR:
        axes.set_xscale("log")
    axes.set_xlim(left=min(row["length"] for row in result["rows"]) - 0.5)
    axes.set(xlabel="digits", ylabel="exact match", ylim=(-0.02, 1.03))
    problems = f"{result['problems a stratum']:,} problems per stratum, {result['problems a length']:,} per length"
    axes.set_title(f"How much of the decay is complexity alone\n{problems}, 1 seed", fontsize=10)
    plots.legend_below(figure, axes)
    return plots.save(figure, path)
