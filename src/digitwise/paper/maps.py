"""Figures RPE_maps to CPE3_maps: how large the pairwise vectors of every layer are, and how far training moved them.

The vector of the distance i - j = -1 is added when a place looks at the one before it, its right neighbour.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from digitwise.encodings import Relative
from digitwise.encodings.base import PairwiseVectors
from digitwise.models.encoder import Encoder
from digitwise.plots import new_figure, save
from digitwise.runs.engine import seeded
from digitwise.runs.evaluation import load_model
from digitwise.runs.experiment import Experiment
from digitwise.runs.folder import Run

Norms = NDArray[np.float64]


def tables(model: Encoder) -> Norms:
    """The pairwise vectors of every layer: `[layers, classes, D]`."""
    if not isinstance(model.vectors, PairwiseVectors):
        raise ValueError("maps need pairwise vectors: a relative or a uniform encoding")
    return np.stack([table.detach().double().numpy() for table in model.vectors.tables])


def at_the_start(experiment: Experiment) -> Encoder:
    """The model before its first step."""
    with seeded(experiment.seed, "weights"):
        return experiment.build()


def distances(experiment: Experiment) -> NDArray[np.int64]:
    """Distance i - j of every relative class; uniform classes come after these."""
    furthest = Relative().num_classes(experiment.task.extent) // 2
    return np.arange(-furthest, furthest + 1)


def effective_number(norms: Norms) -> float:
    """Over how many vectors the weight is spread: 1 if one has it all, their number if all are equally long."""
    squares = norms**2
    return float(squares.sum() ** 2 / (squares**2).sum()) if squares.any() else 0.0


def measure(run: Run) -> list[dict[str, Any]]:
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
            "longest": [int(offset) for offset in ranked[:6]],
            "effective number": round(effective_number(change[: len(offsets)]), 3),
            "distances": offsets.tolist(),
            "value": value.round(4).tolist(), "change": change.round(4).tolist(),
        })  # fmt: skip
    return rows


def draw(rows: Sequence[Mapping[str, Any]], path: Path, title: str) -> Path:
    """Norms by distance, a panel a layer: the values, and the change from the start."""
    layers = sorted({row["layer"] for row in rows})
    figure, panels = new_figure(3.0 * len(layers), 2.8, len(layers))
    for panel, layer in zip(np.atleast_1d(panels), layers, strict=True):
        for row in (row for row in rows if row["layer"] == layer):
            offsets, count = row["distances"], len(row["distances"])
            panel.plot(offsets, row["value"][:count], color="#bbbbbb", lw=2.5, label="value")
            panel.plot(offsets, row["change"][:count], color="#00798c", lw=1, label="change from the start")
            uniform = row["change"][count:]
            places = range(max(offsets) + 2, max(offsets) + 2 + len(uniform))
            panel.plot(list(places), uniform, "o", ms=4, color="#d1495b", label="uniform" if uniform else None)
        panel.axvline(-1, color="#edae49", lw=0.8, zorder=0)
        panel.set(title=f"layer {layer + 1}", xlabel="distance i - j", ylabel="norm" if layer == layers[0] else "")
    handles, labels = panel.get_legend_handles_labels()
    unique = dict(zip(labels, handles, strict=True))
    panel.legend(unique.values(), unique.keys(), frameon=False, fontsize=7)
    figure.suptitle(title, fontsize=10)
    return save(figure, path)


def analyse(runs: Mapping[str, Sequence[Run]], folder: Path) -> tuple[list[dict[str, Any]], list[Path]]:
    """Rows of all runs, and a figure for each model (all seeds in one panel)."""
    rows, figures = [], []
    for group in runs.values():
        mine = [row for run in group for row in measure(run)]
        name, seeds = group[0].experiment.name, len(group)
        title = f"{name}: positional vectors, {seeds} seed{'s' * (seeds > 1)}, last checkpoint"
        figures.append(draw(mine, folder / f"{name}.png", title))
        rows += mine
    return rows, figures
