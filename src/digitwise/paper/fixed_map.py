"""Appendix "Fixed map for RPE": which input places an output really depends on.

One input digit is changed at a time; an output depends on it as often as its answer symbol changes. What the task
itself demands is measured in the same way on the true answers and stands beside it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from digitwise.data import ExactLength
from digitwise.models import Model
from digitwise.plots import new_figure, save
from digitwise.rng import generator
from digitwise.runs.evaluation import answer, load_model
from digitwise.runs.experiment import Experiment
from digitwise.runs.folder import Run
from digitwise.tasks import Problems

LENGTHS = (5, 10, 15)
PROBLEMS = 200
Shares = NDArray[np.float64]


def changed(problems: Problems, operand: int, place: int, rng: np.random.Generator) -> Problems:
    """The same problems with one digit replaced by another one; a leading digit stays above 0."""
    numbers = problems.numbers.copy()
    lead = place == problems.width - 1 and problems.width > 1
    base = 9 if lead else 10
    digits = numbers[:, operand, place]
    numbers[:, operand, place] = (digits - lead + rng.integers(1, base, len(digits))) % base + lead
    return replace(problems, numbers=numbers)


def dependence(model: Model, experiment: Experiment, length: int, problems: int = PROBLEMS) -> tuple[Shares, Shares]:
    """How often the answer at a place changes with a digit: `[operand, input place, output place]`, of the model and
    of the true answers."""
    task, rng = experiment.task, generator(0, "fixed map", length)
    drawn = task.draw(ExactLength(length), rng, problems)
    before = task.encode(drawn)
    said = answer(model, before).symbols_BS
    measured, true = np.zeros((2, 2, length, length + 1))
    for operand in range(2):
        for place in range(length):
            after = task.encode(changed(drawn, operand, place, rng))
            measured[operand, place] = (answer(model, after).symbols_BS != said)[:, : length + 1].double().mean(0)
            true[operand, place] = (after.targets != before.targets)[:, : length + 1].mean(0)
    return measured, true


def measure(run: Run) -> list[dict[str, Any]]:
    """A row for each length, operand and distance back (output place - input place): mean over output places, the
    lowest and the highest of them, and what the task demands. The overflow place is left out."""
    experiment, step = run.experiment, run.select("last")[0]
    model, rows = load_model(run, step), []
    for length in LENGTHS:
        measured, true = dependence(model, experiment, length)
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


def draw(rows: Sequence[Mapping[str, Any]], path: Path, title: str) -> Path:
    """The share of changed answers by distance back, a panel a length, one line for each operand and seed."""
    figure, panels = new_figure(3.2 * len(LENGTHS), 2.8, len(LENGTHS))
    for panel, length in zip(panels, LENGTHS, strict=True):
        for key in sorted({(row["seed"], row["operand"]) for row in rows}):
            mine = [row for row in rows if row["length"] == length and (row["seed"], row["operand"]) == key]
            colour = ("#00798c", "#d1495b")[key[1]]
            label = ("first summand", "second summand")[key[1]] if key[0] == 0 else None
            panel.plot([r["back"] for r in mine], [r["share"] for r in mine], color=colour, lw=1, label=label)
        panel.plot([r["back"] for r in mine], [r["demanded"] for r in mine], ":", color="#222222", lw=1.5,
                   label="demanded by the task")  # fmt: skip
        panel.set_yscale("symlog", linthresh=1e-3)
        panel.xaxis.get_major_locator().set_params(integer=True)
        panel.set(title=f"{length} digits", xlabel="places back", ylim=(-1e-4, 1.5))
    panels[0].set_ylabel("share of answers that change")
    panels[-1].legend(frameon=False, fontsize=7)
    figure.suptitle(title, fontsize=10)
    return save(figure, path)


def analyse(runs: Mapping[str, Sequence[Run]], folder: Path) -> tuple[list[dict[str, Any]], list[Path]]:
    group = [run for found in runs.values() for run in found]
    rows = [row for run in group for row in measure(run)]
    title = f"which digits an answer depends on, {len(group)} seed{'s' * (len(group) > 1)}, last checkpoint"
    return rows, [draw(rows, folder / "fixed-map.png", title)]
