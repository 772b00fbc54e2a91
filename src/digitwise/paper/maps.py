"""What positions mean to a trained model: its pairwise vectors by distance, and which digits its answers depend on.

Figures RPE_maps to CPE3_maps show how long the pairwise vectors of every layer are, and how far training moved them.
The vector of the distance i - j = -1 is added when a place looks at the one before it, its right neighbour.

Appendix "Fixed map for RPE": one input digit is changed at a time, and an output depends on it as often as its answer
symbol changes. What the task itself demands is measured in the same way on the true answers and stands beside it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from digitwise.counts import Count
from digitwise.data import ExactLength
from digitwise.encodings import Relative
from digitwise.models import Model
from digitwise.paper import Recipe, arms, find
from digitwise.plots import BLUE, QUIET, RED, legend_below, look, new_figure, plural, save, seeds_and_median
from digitwise.rng import generator
from digitwise.runs.engine import seeded
from digitwise.runs.evaluation import answer, load_model
from digitwise.runs.experiment import Experiment
from digitwise.runs.folder import Run
from digitwise.tasks import Problems

Floats = NDArray[np.float64]
Rows = list[dict[str, Any]]

# Pairwise vectors

#: What is drawn by distance: the field of a row, its colour, its label and the width of its line.
LINES = (("value", "#bbbbbb", "length", 3.0), ("change", BLUE, "change from the start", 1.2))
FROM_ZERO = (("change", BLUE, "length, all of it learned: the vectors start at zero", 1.5),)


def measure_maps(run: Run) -> Rows:
    """For every layer the norms by distance, which distances are longest, and how dispersed the vectors are."""
    experiment, step = run.experiment, run.select("last")[0]
    offsets = distances(experiment)
    learned, initial = tables(load_model(run, step)), tables(at_the_start(experiment))
    rows = []
    for layer, (after, before) in enumerate(zip(learned, initial, strict=True)):
        value, change = (np.linalg.norm(vectors, axis=1) for vectors in (after, after - before))
        ranked = offsets[np.argsort(-change[: len(offsets)], kind="stable")]
        rows.append({
            "recipe": experiment.name, "seed": experiment.seed, "checkpoint": step, "layer": layer,
            "multiplier": multiplier_digits(experiment),
            "longest": [int(offset) for offset in ranked[:6]],
            "effective number": round(effective_number(change[: len(offsets)]), 3),
            "distances": offsets.tolist(),
            "value": value.round(4).tolist(), "change": change.round(4).tolist(),
        })  # fmt: skip
    return rows


def tables(model: Model) -> Floats:
    """Return the pairwise vectors of every layer: `[layers, classes, D]`."""
    return np.stack([table.detach().cpu().double().numpy() for table in model.pairwise()])


def at_the_start(experiment: Experiment) -> Model:
    """The model before its first step."""
    with seeded(experiment.seed, "weights"):
        return experiment.build()


def distances(experiment: Experiment) -> NDArray[np.int64]:
    """Distance i - j of every relative class; uniform classes come after these."""
    furthest = Relative().num_classes(experiment.task.extent) // 2
    return np.arange(-furthest, furthest + 1)


def effective_number(norms: Floats) -> float:
    """Over how many vectors the weight is spread: 1 if one has it all, their number if all are equally long."""
    squares = norms**2
    return float(squares.sum() ** 2 / (squares**2).sum()) if squares.any() else 0.0


def previous_longest(layers: Rows) -> float:
    """The share of layers in which the vector of the previous place, -1, is the longest."""
    return sum(layer["longest"][0] == -1 for layer in layers) / len(layers)


def noticeable(layers: Rows, digits: int) -> float:
    """1 if in some layer the vectors of -1 to -k are among the k + 1 longest, else 0."""
    return float(any(set(range(-digits, 0)) <= set(layer["longest"][: digits + 1]) for layer in layers))


def mean_number(layers: Rows) -> float:
    """The mean effective number over the layers."""
    return sum(layer["effective number"] for layer in layers) / len(layers)


def multiplier_digits(experiment: Experiment) -> int:
    """Digits of the longest multiplier of the tests; 0 for sums."""
    return max((kind.size for kind in experiment.task.kinds if kind.operator == "*"), default=0)


def heading(recipe: Recipe, multiplier: int) -> str:
    """The title of a recipe's figures, with as many digits of the multiplier as there were."""
    return re.sub(r"^Long multipliers \(.*?\)", f"{multiplier}-digit multipliers", recipe.title)


def draw_maps(rows: Sequence[Mapping[str, Any]], folder: Path) -> list[Path]:
    """One figure per model, one panel per layer: norms by distance."""
    drawn = []
    for name in dict.fromkeys(row["recipe"] for row in rows):
        mine = [row for row in rows if row["recipe"] == name]
        digits = mine[0].get("multiplier") or multiplier_digits(next(iter(arms(name).values())))
        drawn.append(_draw_model(mine, folder / name, heading(find(name), digits)))
    return drawn


def _draw_model(rows: Sequence[Mapping[str, Any]], path: Path, title: str) -> Path:
    """The values and the change from the start (one line if they are the same), and right of all distances the
    uniform vectors."""
    layers = sorted({row["layer"] for row in rows})
    figure, panels = new_figure(2.6 * len(layers), 3.2, len(layers))
    lines = FROM_ZERO if all(row["value"] == row["change"] for row in rows) else LINES
    for panel, layer in zip(np.atleast_1d(panels), layers, strict=True):
        mine = [row for row in rows if row["layer"] == layer]
        offsets = mine[0]["distances"]
        panel.axvspan(-1.5, -0.5, color="#f3dcb0", lw=0, zorder=0, label="distance -1: the previous place")
        for what, colour, label, width in lines:
            norms = [dict(zip(offsets, row[what], strict=False)) for row in mine]  # uniform vectors come after these
            seeds_and_median(panel, norms, colour, label, width)
        uniform = [(max(offsets) + 3 + i, norm) for row in mine for i, norm in enumerate(row["change"][len(offsets) :])]
        if uniform:
            panel.plot(
                *zip(*uniform, strict=True), "o", ms=4, color=RED, label="uniform vectors, which have no distance"
            )
        panel.set_ylim(bottom=0)
        panel.set_title(f"layer {layer + 1}", fontsize=9)
        panel.set(xlabel="distance i - j", ylabel="length of the vector" if layer == layers[0] else "")
    seeds = {row["seed"] for row in rows}
    figure.suptitle(f"{title}: pairwise vectors, {plural(len(seeds), 'seed')}, last checkpoint", fontsize=10)
    legend_below(figure, panel)
    return save(figure, path)


# Dependence of answers on digits

LENGTHS = (5, 10, 15)
PROBLEMS = 200


def measure_fixed_map(run: Run) -> Rows:
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


def dependence(model: Model, experiment: Experiment, length: int, count: int = PROBLEMS) -> tuple[Floats, Floats]:
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


def draw_fixed_map(rows: Sequence[Mapping[str, Any]], folder: Path) -> list[Path]:
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
