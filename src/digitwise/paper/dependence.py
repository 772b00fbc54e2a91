"""Which digits the answers of a trained model depend on.

Appendix "Fixed map for RPE": one input digit is changed at a time, and an output depends on it as often as its answer
symbol changes. What the task itself demands is measured in the same way on the true answers and stands beside it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from digitwise.counts import Count
from digitwise.data import ExactLength
from digitwise.models import Model
from digitwise.plots import QUIET, legend_below, look, new_figure, plural, save, seeds_and_median
from digitwise.rng import generator
from digitwise.runs.evaluation import answer, load_model
from digitwise.runs.experiment import Experiment
from digitwise.runs.folder import Run
from digitwise.tasks import Problems

Floats = NDArray[np.float64]
Rows = list[dict[str, Any]]

LENGTHS = (5, 10, 15)
PROBLEMS = 1000


def measure(run: Run) -> Rows:
    """A row for each length, operand and distance back (output place - input place): mean over output places, the
    lowest and the highest of them, and what the task demands. The overflow place is left out."""
    experiment, step = run.experiment, run.select("last")[0]
    model, rows = load_model(run, step), []
    for length in LENGTHS:
        measured, true = on_digits(model, experiment, length)
        for operand in range(2):
            for back in range(-3, length):
                places = [p for p in range(length) if 0 <= p + back < length]
                shares, demanded = (np.array([m[operand, p, p + back] for p in places]) for m in (measured, true))
                rows.append({
                    "recipe": experiment.name, "seed": experiment.seed, "checkpoint": step, "length": length,
                    "operand": operand, "back": back, "problems": PROBLEMS, "places": len(places),
                    "share": round(float(shares.mean()), 4), "lowest": round(float(shares.min()), 4),
                    "highest": round(float(shares.max()), 4), "demanded": round(float(demanded.mean()), 4),
                })  # fmt: skip
    return rows


def on_digits(model: Model, experiment: Experiment, length: int, count: int = PROBLEMS) -> tuple[Floats, Floats]:
    """Return how often the answer at a place changes with a digit, of the model and of the true answers:
    `[operand, input place, output place]`."""
    task, rng = experiment.task, generator(0, "fixed map", length)
    problems = task.draw(ExactLength(length), rng, count)
    before = task.encode(problems)
    answered = answer(model, before).symbols_BS.numpy()
    measured, true = np.zeros((2, 2, length, length + 1))
    for operand in range(2):
        for place in range(length):
            after = task.encode(changed(problems, operand, place, rng))
            symbols = answer(model, after).symbols_BS.numpy()
            measured[operand, place] = (symbols != answered)[:, : length + 1].mean(0)
            true[operand, place] = (after.targets != before.targets)[:, : length + 1].mean(0)
    return measured, true


def changed(problems: Problems, operand: int, place: int, rng: np.random.Generator) -> Problems:
    """Return the same problems with one digit replaced by another one; a leading digit stays above 0."""
    numbers = problems.numbers.copy()
    lead = place == problems.width - 1 and problems.width > 1
    base = 9 if lead else 10
    digits = numbers[:, operand, place]
    numbers[:, operand, place] = (digits - lead + rng.integers(1, base, len(digits))) % base + lead
    return replace(problems, numbers=numbers)


def changed_answers(rows: Rows, which: str) -> Count:
    """A kept share as a count again: `share` of all places, or the `lowest` or `highest` place alone."""
    (row,) = rows
    tried = row["problems"] * (row["places"] if which == "share" else 1)
    return Count("fixed-map", 1, row["length"], "", "", 0, row["checkpoint"], tried, correct=round(row[which] * tried))


def draw(rows: Sequence[Mapping[str, Any]], folder: Path) -> list[Path]:
    """The share of changed answers by distance back: one panel per length, one colour per operand."""
    figure, panels = new_figure(3.2 * len(LENGTHS), 3.1, len(LENGTHS))
    for panel, length in zip(panels, LENGTHS, strict=True):
        for operand, label in enumerate(("first summand", "second summand")):
            mine = [row for row in rows if (row["length"], row["operand"]) == (length, operand)]
            seeds = sorted({row["seed"] for row in mine})
            shares = [{row["back"]: row["share"] for row in mine if row["seed"] == seed} for seed in seeds]
            seeds_and_median(panel, shares, label=label, **look(operand))
        demanded = {row["back"]: row["demanded"] for row in mine}
        panel.plot(list(demanded), list(demanded.values()), ":", color=QUIET, lw=1.5, label="demanded by the task")
        panel.set_yscale("symlog", linthresh=1e-3)
        panel.xaxis.get_major_locator().set_params(integer=True)
        panel.set(title=f"{length} digits", xlabel="places back", ylim=(-1e-4, 1.5))
    panels[0].set_ylabel("share of answers that change")
    title = "Addition, relative positions: which digits an answer depends on"
    tried = f"{mine[0]['problems']:,} problems per length and seed" if mine and "problems" in mine[0] else ""
    words = ", ".join(part for part in (tried, plural(len(seeds), "seed"), "last checkpoint") if part)
    figure.suptitle(f"{title}\n{words}", fontsize=10)
    legend_below(figure, panels[-1])
    return [save(figure, folder / "fixed-map")]
