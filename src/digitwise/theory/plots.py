"""The seven figures of the paper on linear attention. The only file here that imports matplotlib."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import SymLogNorm
from matplotlib.figure import Figure

from digitwise.theory import plots_beyond, predictions
from digitwise.theory.experiments import DECAY, FIVE_NEIGHBOURS, ONE_NEIGHBOUR, experiment
from digitwise.theory.ring import (
    APE,
    APE_SHIFTS,
    RPE,
    SETTINGS,
    Ring,
    Setting,
    generator,
    sampled_test_loss,
    supervised_outputs,
)

SEEDS = range(5)
SAMPLES = 5000
COLOURS = {APE: "#c1443c", APE_SHIFTS: "#e0a030", RPE: "#1f7a8c"}
MARKERS = {APE: "s", APE_SHIFTS: "^", RPE: "o"}


def drawings() -> dict[str, Callable[[], Figure]]:
    """Every figure by name: the paper's seven first."""
    one, five = ONE_NEIGHBOUR, FIVE_NEIGHBOURS
    return {
        "loss_iter_m1": lambda: training_loss(one),
        "gener_pos_m1": lambda: loss_by_position(one),
        "loss_iter": lambda: training_loss(five),
        "gener_pos": lambda: loss_by_position(five),
        "p_ape": lambda: attention_map(five, APE),
        "p_aug": lambda: attention_map(five, APE_SHIFTS),
        "p_rpe": lambda: lag_vector(five),
        "other_weights": lambda: plots_beyond.other_weights(new_figure, COLOURS),
        "scaling": lambda: plots_beyond.scaling(new_figure),
        "psd": lambda: plots_beyond.semidefinite(new_figure, COLOURS),
        "full": lambda: plots_beyond.full_dynamics(new_figure),
    }


def draw_all(folder: Path, progress: Callable[[str], None] | None = None) -> list[Path]:
    """Write every figure as a PNG file."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, draw in drawings().items():
        path = folder / f"{name}.png"
        draw().savefig(path, dpi=110, metadata={"Software": None})
        written.append(path)
        if progress is not None:
            progress(f"figure {name}")
    return written


def new_figure(columns: int = 1, width: float = 5.6, height: float = 3.6, **options: Any) -> tuple[Figure, Any]:
    """A figure of our looks, made without pyplot so that nothing global changes."""
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(1, columns, **options)
    for panel in np.ravel(axes):
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelsize=8)
        panel.grid(alpha=0.25, linewidth=0.5)
    return figure, axes


def sizes(ring: Ring) -> str:
    """The task in words, for titles."""
    beta = ", ".join(f"{weight:g}" for weight in ring.beta)
    return f"n = {ring.n}, n$_1$ = {ring.n_1}, d = {ring.d}, m = {ring.m}, α = {ring.alpha:g}, β = {beta}"


def training_loss(ring: Ring) -> Figure:
    """Loss_iter_m1 and Loss_iter: the loss of one supervised output while training."""
    figure, axes = new_figure()
    for setting in SETTINGS:
        runs = [experiment(ring, setting, seed) for seed in SEEDS]
        for k, trained in enumerate(runs):
            loss = trained.run.losses / supervised_outputs(ring, setting)
            label = setting.title if k == 0 else None
            axes.plot(trained.run.steps[1:], loss[1:], color=COLOURS[setting], alpha=0.7, linewidth=1, label=label)
    axes.set(xscale="log", yscale="log", xlabel="iteration", ylabel="training loss of one output")
    right = axes.get_xlim()[1]
    for shifts, side, words in ((False, "bottom", "(ε/4)²"), (True, "top", "(ε/4n$_1$)²")):
        floor = predictions.training_floor_of_decay(ring, DECAY, shifts)
        axes.axhline(floor, color="0.45", linewidth=0.8, linestyle=":")
        axes.text(right, floor, f"left by weight decay: {words} ", fontsize=7, color="0.35", ha="right", va=side)
    axes.set_ylim(bottom=floor / 4)
    axes.set_title(f"{sizes(ring)}; 5 seeds, ε = {DECAY:g}", fontsize=8)
    axes.legend(fontsize=8, frameon=False, loc="upper right")
    return figure


def loss_by_position(ring: Ring) -> Figure:
    """Gener_pos_m1 and Gener_pos: the loss at each position when all of them carry tokens."""
    figure, axes = new_figure(width=6.2)
    runs = [experiment(ring, setting, 0) for setting in SETTINGS]
    matrices, readouts = (list(part) for part in zip(*(run.weights for run in runs), strict=True))
    rng = generator(0, "test sequences")
    loss = sampled_test_loss(ring, matrices, readouts, runs[0].theta, SAMPLES, rng)
    position = np.arange(1, ring.n + 1)
    axes.axvspan(0.5, ring.n_1 + 0.5, color="0.93", zorder=0)
    axes.text(ring.n_1 / 2 + 0.5, 1.08 * ring.variance, "seen in training", fontsize=7, ha="center", color="0.35")
    axes.step(
        position, predictions.ape_test_loss(ring), where="mid", color="0.3", linewidth=0.8, label="predicted, APE"
    )
    level = predictions.shifts_test_loss(ring)
    axes.axhline(level, color="0.3", linewidth=0.8, linestyle="--", label="leading order, APE + shifts")
    for setting, values in zip(SETTINGS, loss, strict=True):
        style = {"color": COLOURS[setting], "marker": MARKERS[setting], "markersize": 3.5, "linestyle": ""}
        axes.plot(position, values, label=setting.title, **style)
    axes.set(xlabel="position", ylabel="test loss", ylim=(-0.03 * ring.variance, 1.18 * ring.variance))
    axes.set_title(f"{sizes(ring)}; {SAMPLES:,} samples", fontsize=8)
    axes.legend(fontsize=7, frameon=False, loc="center right", bbox_to_anchor=(1, 0.6))
    return figure


def attention_map(ring: Ring, setting: Setting) -> Figure:
    """P_ape and P_aug: p_i' W'W p_j for all pairs. Colours are linear up to 0.1 and logarithmic beyond."""
    figure, axes = new_figure(width=4.8, height=4.2)
    axes.grid(False)
    matrix, _ = experiment(ring, setting, 0).weights
    shown = axes.imshow(
        matrix,
        cmap="RdBu_r",
        norm=SymLogNorm(0.1, vmin=-ring.alpha, vmax=ring.alpha),
        extent=(0.5, ring.n + 0.5, ring.n + 0.5, 0.5),
        interpolation="nearest",
    )
    if setting.shifts:
        for offset in (-ring.n_1, ring.n_1, ring.n - ring.n_1, ring.n_1 - ring.n):
            ends = np.array([max(0.5, 0.5 - offset), min(ring.n + 0.5, ring.n + 0.5 - offset)])
            axes.plot(ends, ends + offset, color="k", linewidth=0.8, linestyle="--")
    else:
        edge = ring.n_1 + 0.5
        axes.plot([0.5, edge, edge], [edge, edge, 0.5], color="k", linewidth=0.8, linestyle="--")
    figure.colorbar(shown, ax=axes, shrink=0.8).ax.tick_params(labelsize=7)
    axes.set(xlabel="j", ylabel="i")
    words = "no window reaches the bands between dashed lines" if setting.shifts else "dashed: the window"
    axes.set_title(f"{setting.title}: $p_i^T W^T W p_j$ ({words})\n{sizes(ring)}", fontsize=7)
    return figure


def lag_vector(ring: Ring) -> Figure:
    """P_rpe: p_{i-j}' W_K' W_Q u for every lag, before and after, with the target."""
    figure, axes = new_figure()
    trained = experiment(ring, RPE, 0)
    half = (ring.n - 1) // 2
    lags = np.arange(-half, ring.n - half)
    for params, words, style in (
        (trained.start, "before training", {"color": "0.6", "marker": ".", "markersize": 4}),
        (trained.run.params, "after", {"color": COLOURS[RPE], "marker": "o", "markersize": 4}),
    ):
        e, v = trained.model.effective(params)
        axes.plot(lags, (e * float(v @ trained.theta))[lags % ring.n], linestyle="", label=words, **style)
    target = ring.lag_target[lags % ring.n]
    axes.plot(lags, target, color="0.2", linestyle="", marker="_", markersize=9, label="target: α, β$_m$, 0")
    axes.axvspan(-ring.n_1 + 0.5, ring.n_1 - 0.5, color="0.93", zorder=0)
    axes.text(0, -0.2 * ring.alpha, "lags that the window contains", fontsize=7, ha="center", color="0.35")
    axes.set(xlabel="lag i − j on the ring (the paper's index is this plus 25)", ylim=(-0.3 * ring.alpha, None))
    axes.set_ylabel("$\\langle v, \\theta\\rangle\\; p_{i-j}^T W_K^T W_Q u$")
    axes.set_title(f"RPE: {sizes(ring)}", fontsize=8)
    axes.legend(fontsize=7, frameon=False)
    return figure
