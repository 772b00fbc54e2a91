"""What positions mean to a trained model: its pairwise vectors by distance.

Figures RPE_maps to CPE3_maps show the pairwise vectors of every layer as heat maps. Beside them stand the lengths of
the vectors, and how far training moved them. The vector of the distance i - j = -1 is added when a place looks at the
one before it, its right neighbour.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from digitwise.encodings import Relative, Uniform
from digitwise.models import Model
from digitwise.paper import find
from digitwise.plots import BLUE, QUIET, RED, SHADE, legend_below, new_figure, plural, save, seeds_and_median
from digitwise.runs.engine import seeded
from digitwise.runs.evaluation import load_model
from digitwise.runs.experiment import Experiment
from digitwise.runs.folder import Run

Floats = NDArray[np.float64]
Rows = list[dict[str, Any]]

#: What is drawn by distance: the field of a row, its colour, its label and the width of its line.
LINES = (("value", "#bbbbbb", "length", 3.0), ("change", BLUE, "change from the start", 1.2))
FROM_ZERO = (("change", BLUE, "length, all of it learned: the vectors start at zero", 1.5),)
PREVIOUS, UNIFORM = "distance -1: the previous place", "uniform vectors, which have no distance"
APART = 3
"""So far right of the largest distance uniform vectors are drawn."""


def measure_maps(run: Run) -> Rows:
    """For every layer the vectors, their norms by distance, which distances are longest, and how dispersed they are.
    All distances on the model's own canvas count, those that share a vector too: so models of one task can be compared,
    whether they have their canvas from the start, have grown to it, or clip their distances."""
    experiment, step = run.experiment, run.select("last")[0]
    offsets = distances(experiment)
    learned, initial = (by_distance(model, experiment) for model in (load_model(run, step), at_the_start(experiment)))
    rows = []
    for layer, (after, before) in enumerate(zip(learned, initial, strict=True)):
        value, change = (np.linalg.norm(vectors, axis=1) for vectors in (after, after - before))
        ranked = offsets[np.argsort(-change[: len(offsets)], kind="stable")]
        rows.append({
            "recipe": experiment.name, "seed": experiment.seed, "checkpoint": step, "layer": layer,
            "longest": [int(offset) for offset in ranked[:6]],
            "effective number": round(effective_number(change[: len(offsets)]), 3),
            "distances": offsets.tolist(),
            "value": value.round(4).tolist(), "change": change.round(4).tolist(), "vectors": after.round(3).tolist(),
        })  # fmt: skip
    return rows


def by_distance(model: Model, experiment: Experiment) -> Floats:
    """Return each layer's vectors of all distances, then its uniform ones: `[layers, distances + uniform, D]`."""
    tables = np.stack([table.detach().cpu().double().numpy() for table in model.pairwise()])
    encoding, extent = experiment.encoding, experiment.task.extent
    uniform = extent.places[encoding.operand] if isinstance(encoding, Uniform) else 0
    relative = tables.shape[1] - uniform
    furthest = relative // 2
    rows = distances(experiment).clip(-furthest, furthest) + furthest
    return np.concatenate([tables[:, rows], tables[:, relative:]], axis=1)


def at_the_start(experiment: Experiment) -> Model:
    """The model before its first step."""
    with seeded(experiment.seed, "weights"):
        return experiment.build()


def distances(experiment: Experiment) -> NDArray[np.int64]:
    """Every distance i - j on the canvas."""
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


def draw_maps(rows: Sequence[Mapping[str, Any]], folder: Path) -> list[Path]:
    """Two figures per model: the norms of its vectors by distance, and their values if the rows keep them."""
    drawn = []
    for name in dict.fromkeys(row["recipe"] for row in rows):
        mine = [row for row in rows if row["recipe"] == name]
        title = find(name).title
        drawn.append(_draw_norms(mine, folder / name, title))
        if kept := [row for row in mine if "vectors" in row]:
            drawn.append(_draw_vectors(kept, folder / f"{name}-vectors", title))
    return drawn


def _draw_norms(rows: Sequence[Mapping[str, Any]], path: Path, title: str) -> Path:
    """One panel per layer: lengths and the change from the start (one line if they are the same), and right of all
    distances the uniform vectors."""
    layers = sorted({row["layer"] for row in rows})
    figure, panels = new_figure(2.6 * len(layers), 3.2, len(layers))
    lines = FROM_ZERO if all(row["value"] == row["change"] for row in rows) else LINES
    for panel, layer in zip(np.atleast_1d(panels), layers, strict=True):
        mine = [row for row in rows if row["layer"] == layer]
        offsets = mine[0]["distances"]
        panel.axvspan(-1.5, -0.5, color="#f3dcb0", lw=0, zorder=0, label=PREVIOUS)
        for what, colour, label, width in lines:
            norms = [dict(zip(offsets, row[what], strict=False)) for row in mine]  # uniform vectors come after these
            seeds_and_median(panel, norms, colour, label, width)
        apart = max(offsets) + APART
        uniform = [(apart + i, norm) for row in mine for i, norm in enumerate(row["change"][len(offsets) :])]
        if uniform:
            panel.plot(*zip(*uniform, strict=True), "o", ms=4, color=RED, label=UNIFORM)
        panel.set_ylim(bottom=0)
        panel.set_title(f"layer {layer + 1}", fontsize=9)
        panel.set(xlabel="distance i - j", ylabel="length of the vector" if layer == layers[0] else "")
    seeds = {row["seed"] for row in rows}
    figure.suptitle(f"{title}: pairwise vectors, {plural(len(seeds), 'seed')}, last checkpoint", fontsize=10)
    legend_below(figure, panel)
    return save(figure, path)


def _draw_vectors(rows: Sequence[Mapping[str, Any]], path: Path, title: str) -> Path:
    """One panel per seed and layer: the values of the vectors, all on one scale, by distance and coordinate."""
    seeds, layers = (sorted({row[name] for row in rows}) for name in ("seed", "layer"))
    figure, panels = new_figure(2.6 * len(layers) + 0.6, 1.7 * len(seeds) + 1.2, len(layers), len(seeds))
    grid = np.reshape(panels, (len(seeds), len(layers)))
    most = max(np.abs(row["vectors"]).max() for row in rows) or 1.0
    for row in rows:
        panel = grid[seeds.index(row["seed"]), layers.index(row["layer"])]
        shown = _draw_values(panel, np.array(row["vectors"]).T, row["distances"], most)
    for panel, layer in zip(grid[0], layers, strict=True):
        panel.set_title(f"layer {layer + 1}", fontsize=9, pad=10)  # above the marks
    for panel, seed in zip(grid[:, 0], seeds, strict=True):
        panel.set_ylabel(f"seed {seed}\ncoordinate" if len(seeds) > 1 else "coordinate of the vector")
    for panel in grid[-1]:
        panel.set_xlabel("distance i - j")
    figure.colorbar(shown, ax=list(grid.flat), label="value", aspect=20 * len(seeds))
    figure.suptitle(f"{title}: values of pairwise vectors, {plural(len(seeds), 'seed')}, last checkpoint", fontsize=10)
    legend_below(figure, grid[0, 0])
    return save(figure, path)


def _draw_values(panel: Any, values_DC: Floats, offsets: Sequence[int], most: float) -> Any:
    """Draw the vector of every class C as a column, those with a distance apart from uniform ones. Returns the image of
    the former."""
    size, first, last = len(values_DC), min(offsets), max(offsets)
    distant_DC, uniform_DC = np.split(values_DC, [len(offsets)], axis=1)
    above = {"ls": "", "ms": 4, "clip_on": False, "transform": panel.get_xaxis_transform()}

    def draw(block_DC: Floats, left: int) -> Any:
        right = left + block_DC.shape[1] - 1
        panel.set_xlim(first - 0.5, right + 0.5)
        return panel.imshow(
            block_DC, cmap="RdBu_r", vmin=-most, vmax=most, aspect="auto", interpolation="none", origin="lower",
            extent=(left - 0.5, right + 0.5, 0.5, size + 0.5),
        )  # fmt: skip

    shown = draw(distant_DC, first)
    panel.plot(-1, 1.04, "v", color=QUIET, label=PREVIOUS, **above)
    if uniform_DC.size:
        draw(uniform_DC, last + APART)
        apart = last + APART + np.arange(uniform_DC.shape[1])
        panel.plot(apart, np.full(len(apart), 1.04), "o", color=RED, label=UNIFORM, **above)
    panel.grid(False)
    panel.set_facecolor(SHADE)  # a gap is not a zero
    panel.set_xticks([tick for tick in panel.get_xticks() if first <= tick <= last])
    return shown
