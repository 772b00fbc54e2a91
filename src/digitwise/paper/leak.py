"""Why a relative model decays with length: how much attention goes to far digits, and what is right without them.

Digits more than 5 places from the answer's column stand in no training problem, and no answer needs them, cascades
aside. Attention is soft, so each of them takes a share; pads took it in training.
"""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from digitwise.coordinates import Coordinates
from digitwise.data import ExactLength
from digitwise.encodings import Vectors
from digitwise.models import Model
from digitwise.models.looking import far_share
from digitwise.plots import SHADE, legend_below, look, new_figure, plural, save, seeds_and_median
from digitwise.rng import generator
from digitwise.runs.evaluation import load_model
from digitwise.runs.folder import Run
from digitwise.tasks import Batch
from digitwise.tasks.symbols import PAD

LENGTHS = (3, 5, 8, 10, 12, 15, 17, 19)
PROBLEMS = 300


class NearOnly(Vectors):
    """The positions of a model, and no attention to digits that are further away than any in training."""

    def __init__(self, inner: Vectors, batch: Batch, reach: int):
        super().__init__()
        self.inner = inner
        where, digit_BN = batch.coordinates, (batch.tokens < PAD) & (batch.coordinates.operand >= 0)
        place_N = np.where(where.place < 0, where.slot, where.place)  # the sign reads the highest place
        far_NN = (np.abs(place_N[..., :, None] - place_N[..., None, :]) > reach) & (place_N[..., :, None] >= 0)
        far_BNN = torch.as_tensor(far_NN & digit_BN[:, None, :])  # where rows differ, places are [B, N]
        self.mask_BHNN = torch.zeros(far_BNN.shape).masked_fill(far_BNN, -torch.inf)[:, None]

    def prepare(self, coordinates: Coordinates) -> Any:
        return self.inner.prepare(coordinates)

    def embed(self, prepared: Any) -> Tensor | None:
        return self.inner.embed(prepared)

    def scores(self, layer: int, q_BHND: Tensor, prepared: Any) -> Tensor:
        added = self.inner.scores(layer, q_BHND, prepared)
        return self.mask_BHNN if added is None else added + self.mask_BHNN

    def angles(self, layer: int, prepared: Any) -> Tensor | None:
        return self.inner.angles(layer, prepared)


def measure(run: Run) -> list[dict[str, Any]]:
    """A row for each length: the share of attention that goes to far digits, the largest of any head, and what
    is right with and without looking at them."""
    rows = []
    experiment, model = run.experiment, load_model(run, run.select("last")[0]).cpu()
    reach = experiment.trained_length
    for length in LENGTHS:
        task = experiment.task
        batch = task.encode(task.draw(ExactLength(length), generator(experiment.seed, "leak", length), PROBLEMS))
        shares, near = far_share(model, batch, reach), near_only(model, batch, reach)
        rows.append({
            "arm": run.folder.name.rpartition("-seed")[0], "seed": experiment.seed, "digits": length,
            "far": round(float(shares.mean()), 4), "far, most of a head": round(float(shares.max()), 4),
            "right": exact_match(model, batch), "right, far digits masked": exact_match(near, batch),
        })  # fmt: skip
    return rows


def near_only(model: Model, batch: Batch, reach: int) -> Model:
    """The model as it answers this batch if it does not look at far digits."""
    masked: Any = copy.copy(model)
    masked._modules = dict(model._modules)  # the other parts are shared
    masked.vectors = NearOnly(masked.vectors, batch, reach)
    return masked


def exact_match(model: Model, batch: Batch) -> float:
    """The share of problems that a model answers right, all at once: a mask is of the whole batch."""
    with torch.inference_mode():
        symbols = model.eval()(torch.as_tensor(batch.tokens), batch.coordinates).argmax(-1).numpy()
    return round(float((symbols == batch.targets).all(1).mean()), 4)


def draw(rows: list[dict[str, Any]], folder: Path) -> list[Path]:
    """Both over length: the share of far digits, and what is right with and without them."""
    figure, (left, right) = new_figure(width=8.4, columns=2)
    for number, arm in enumerate(dict.fromkeys(row["arm"] for row in rows)):
        mine = [row for row in rows if row["arm"] == arm]
        seeds = sorted({row["seed"] for row in mine})

        def by_seed(name: str, mine: list[dict[str, Any]] = mine, seeds: list[int] = seeds) -> list[dict[float, float]]:
            return [{row["digits"]: row[name] for row in mine if row["seed"] == seed} for seed in seeds]

        seeds_and_median(left, by_seed("far"), label=f"{arm}, {plural(len(seeds), 'seed')}", **look(number, 0))
        seeds_and_median(right, by_seed("right"), label=arm, **look(number, 0))
        seeds_and_median(right, by_seed("right, far digits masked"), label="", **look(number, 2))
    left.set_ylabel("attention to far digits")
    right.set_ylabel("exact match (dotted: masked)")
    for axes in (left, right):
        axes.set_xlabel("digits")
        axes.axvspan(0, 5.5, color=SHADE, zorder=0, label="lengths in training")
        axes.set_xlim(left=LENGTHS[0] - 0.5)
        axes.xaxis.get_major_locator().set_params(integer=True)
    title = "Attention to digits more than 5 places away, and exact match with and without it"
    figure.suptitle(f"{title}\n{PROBLEMS} problems per length and seed", fontsize=10)
    legend_below(figure, left)
    return [save(figure, folder / "leak")]
