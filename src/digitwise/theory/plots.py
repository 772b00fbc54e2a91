"""The seven figures of the paper on linear attention, and four that it does not have."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from digitwise.plots import COLOURS, MARKERS, QUIET, SHADE, STYLES, new_figure, save, seeds_and_median, symmetric_log
from digitwise.theory import absolute, shifts
from digitwise.theory.attention import FactoredAbsolute, FullAbsolute, Model, flow_parameters
from digitwise.theory.descent import DECAY, Descent, begin, experiment, train
from digitwise.theory.full import absorb, balanced_start
from digitwise.theory.relative import learned_lags
from digitwise.theory.ring import APE, APE_SHIFTS, M1, M5, OTHER_WEIGHTS, RPE, SETTINGS, Ring, Setting, stream
from digitwise.theory.rows import sampled_test_loss

SEEDS = range(5)
SAMPLES = 5000
COLOUR = {APE: COLOURS[0], APE_SHIFTS: COLOURS[2], RPE: COLOURS[1]}
MARKER = {APE: MARKERS[0], APE_SHIFTS: MARKERS[2], RPE: MARKERS[1]}
STYLE = {APE: STYLES[0], APE_SHIFTS: STYLES[2], RPE: STYLES[1]}
FULL, FACTORED, DECAYED = COLOURS[3], COLOURS[7], COLOURS[4]
GUIDE = {"color": QUIET, "lw": 0.8}  # lines that a theory predicts, as opposed to measured ones
NOTE = {"color": QUIET, "fontsize": 8}
SEEN = {"color": SHADE, "zorder": 0}


def draw_all(folder: Path, progress: Callable[[str], None] | None = None, *endings: str) -> list[Path]:
    """Write every figure in each of these formats, by default as a PNG file, and return the paths."""
    written = []
    for name, draw in drawings().items():
        figure = draw()
        written += [save(figure, folder / f"{name}{ending}") for ending in endings or (".png",)]
        if progress is not None:
            progress(f"figure {name}")
    return written


def drawings() -> dict[str, Callable[[], Any]]:
    """A function that draws per figure, by name: the paper's seven first."""
    one, five = M1, M5
    return {
        "loss_iter_m1": lambda: training_loss(one),
        "gener_pos_m1": lambda: position_loss(one),
        "loss_iter": lambda: training_loss(five),
        "gener_pos": lambda: position_loss(five),
        "p_ape": lambda: attention_map(five, APE),
        "p_aug": lambda: attention_map(five, APE_SHIFTS),
        "p_rpe": lambda: lag_vector(five),
        "other_weights": other_weights,
        "scaling": scaling,
        "psd": semidefinite,
        "full": full_dynamics,
    }


def training_loss(ring: Ring) -> Any:
    """Loss_iter_m1 and Loss_iter: the loss of one supervised output while training."""
    figure, axes = new_figure()
    for setting in SETTINGS:
        runs = [experiment(ring, setting, seed).run for seed in SEEDS]
        losses = [dict(zip(run.steps[1:], run.losses[1:] / ring.outputs(setting), strict=True)) for run in runs]
        seeds_and_median(axes, losses, COLOUR[setting], setting.title, ls=STYLE[setting])
    axes.set(xscale="log", yscale="log", xlabel="iteration", ylabel="training loss of one output")
    right = axes.get_xlim()[1]
    for windows, side, words in ((False, "bottom", "(ε/4)²"), (True, "top", "(ε/4n$_1$)²")):
        floor = absolute.floor_of_decay(ring, DECAY, shifts=windows)
        axes.axhline(floor, ls=":", **GUIDE)
        axes.text(right, floor, f"left by weight decay: {words} ", ha="right", va=side, **NOTE)
    axes.set_ylim(bottom=floor / 4)
    _finish(axes, f"Training loss\n{_sizes(ring)}; {len(SEEDS)} seeds, ε = {DECAY:g}", loc="upper right")
    return figure


def position_loss(ring: Ring) -> Any:
    """Gener_pos_m1 and Gener_pos: the loss at each position when all of them carry tokens."""
    figure, axes = new_figure()
    runs = [experiment(ring, setting, 0) for setting in SETTINGS]
    weights, rng = [run.weights for run in runs], stream(0, "test sequences")
    loss = sampled_test_loss(ring, weights, runs[0].theta, SAMPLES, rng)
    position = np.arange(1, ring.n + 1)
    axes.axvspan(0.5, ring.n_1 + 0.5, **SEEN)
    axes.text(ring.n_1 / 2 + 0.5, 1.08 * ring.variance, "seen in training", ha="center", **NOTE)
    axes.step(position, absolute.limit_loss(ring), where="mid", label="predicted, APE", **GUIDE)
    axes.axhline(shifts.limit_loss(ring), ls="--", label="leading order, APE + shifts", **GUIDE)
    for setting, values in zip(SETTINGS, loss, strict=True):
        axes.plot(position, values, MARKER[setting], color=COLOUR[setting], ms=3.5, label=setting.title)
    axes.set(xlabel="position", ylabel="test loss", ylim=(-0.03 * ring.variance, 1.18 * ring.variance))
    _finish(axes, f"Loss by position\n{_sizes(ring)}; {SAMPLES:,} samples", loc="center right", bbox_to_anchor=(1, 0.6))
    return figure


def attention_map(ring: Ring, setting: Setting) -> Any:
    """P_ape and P_aug: p_i' W'W p_j for all pairs. Colours are linear up to 0.1 and logarithmic beyond."""
    figure, axes = new_figure(5.6, 4.8)
    axes.grid(False)
    edge, n_1 = ring.n + 0.5, ring.n_1
    shown = axes.imshow(
        experiment(ring, setting, 0).weights[0],
        cmap="RdBu_r",
        norm=symmetric_log(0.1, ring.alpha),
        extent=(0.5, edge, edge, 0.5),
    )
    if setting.shifts:
        words = "no window reaches the bands between dashed lines"
        for offset in (-n_1, n_1, ring.n - n_1, n_1 - ring.n):
            ends = np.array([max(0.5, 0.5 - offset), min(edge, edge - offset)])
            axes.plot(ends, ends + offset, "k--", lw=0.8)
    else:
        words = "dashed: the window"
        axes.plot([0.5, n_1 + 0.5, n_1 + 0.5], [n_1 + 0.5, n_1 + 0.5, 0.5], "k--", lw=0.8)
    figure.colorbar(shown, ax=axes, shrink=0.8)
    axes.set(xlabel="j", ylabel="i")
    axes.set_title(f"{setting.title}: $p_i^T W^T W p_j$ ({words})\n{_sizes(ring)}", fontsize=8)
    return figure


def lag_vector(ring: Ring) -> Any:
    """P_rpe: p_{i-j}' W_K' W_Q u for every lag, before and after, with the target."""
    figure, axes = new_figure()
    trained, half = experiment(ring, RPE, 0), (ring.n - 1) // 2
    lags = np.arange(-half, ring.n - half)
    axes.plot(lags, learned_lags(trained, before=True)[lags % ring.n], ".", color="0.6", ms=4, label="before training")
    axes.plot(lags, learned_lags(trained)[lags % ring.n], "o", color=COLOUR[RPE], ms=4, label="after")
    axes.plot(lags, ring.lag_target[lags % ring.n], "_", color="0.2", ms=9, label="target: α, β$_m$, 0")
    axes.axvspan(-ring.n_1 + 0.5, ring.n_1 - 0.5, **SEEN)
    axes.text(0, -0.2 * ring.alpha, "lags that the window contains", ha="center", **NOTE)
    axes.set(xlabel="lag i − j on the ring (the paper's index is this plus 25)", ylim=(-0.3 * ring.alpha, None))
    axes.set_ylabel("$\\langle v, \\theta\\rangle\\; p_{i-j}^T W_K^T W_Q u$")
    _finish(axes, f"What RPE learns for each lag\n{_sizes(ring)}")
    return figure


def other_weights() -> Any:
    """The loss by position, as a share of alpha^2 + 2 beta^2, for four more pairs of weights."""
    figure, panels = new_figure(9.6, 2.8, len(OTHER_WEIGHTS))
    for panel, ring in zip(panels, OTHER_WEIGHTS, strict=True):
        panel.axvspan(0.5, ring.n_1 + 0.5, **SEEN)
        for setting in SETTINGS:
            loss = experiment(ring, setting, 0).test_loss / ring.variance
            panel.plot(np.arange(1, ring.n + 1), loss, color=COLOUR[setting], ls=STYLE[setting], label=setting.title)
        panel.axhline(shifts.limit_loss(ring) / ring.variance, ls="--", **GUIDE)
        panel.set(xlabel="position", ylim=(-0.05, 1.1))
        panel.set_title(f"α = {ring.alpha:g}, β = {ring.beta[0]:g}", fontsize=9)
    panels[0].set_ylabel("test loss / (α² + 2β²)")
    panels[-1].legend(fontsize=8, frameon=False, loc="center right")
    words = "Other weights: n = 51, n$_1$ = 10, d = 200, seed 0; dashed: leading order of APE + shifts"
    figure.suptitle(words, fontsize=9)
    return figure


def scaling() -> Any:
    """Loss of APE with shifts over alpha^2 against the number of unseen lags over d."""
    figure, axes = new_figure(5.6, 4.2)
    axes.plot([0.01, 2.0], [0.01, 2.0], label="predicted: slope 1", **GUIDE)
    cases = (
        (1, (), Descent(0.02, 120), "^", "w = 0, β = 0 (proven): (n − 1)/d"),
        (10, (0.5,), Descent(0.0025, 400), "D", "n$_1$ = 10, β = 0.5: (n − 2n$_1$ + 1)/d"),
    )
    for (n_1, beta, fit, marker, words), colour in zip(cases, (COLOUR[APE_SHIFTS], FULL), strict=True):
        rings = [Ring(n=n, n_1=n_1, d=d, alpha=2.0, beta=beta) for n in (31, 71) for d in (50, 100, 200, 400)]
        runs = [train(ring, APE_SHIFTS, seed, fit) for ring in rings for seed in range(2)]
        x = [shifts.limit_loss(run.ring) / run.ring.alpha**2 for run in runs]
        y = [run.test_loss.mean() / run.ring.alpha**2 for run in runs]
        axes.plot(x, y, marker, ms=4, color=colour, alpha=0.8, label=words)
    axes.set(xscale="log", yscale="log", xlabel="lags that no window contains / d", ylabel="mean test loss / α²")
    _finish(axes, "Loss of APE + shifts by what windows miss\nn 31 and 71; d 50 to 400; α = 2, 2 seeds")
    return figure


def semidefinite() -> Any:
    """The training loss that P P' cannot get below, as beta grows past alpha / 2."""
    figure, axes = new_figure()
    grid = np.linspace(0, 1, 101)
    rings = [Ring(n=21, n_1=7, d=42, alpha=1.0, beta=(float(beta),)) for beta in grid]
    one = [absolute.training_floor(ring) / ring.outputs(APE) for ring in rings]
    every = [absolute.best_spectrum(ring)[1] / ring.outputs(APE_SHIFTS) for ring in rings]
    for setting, floors, fit in ((APE, one, Descent(0.02, 1500)), (APE_SHIFTS, every, Descent(0.004, 3000))):
        axes.plot(
            grid, floors, color=COLOUR[setting], ls=STYLE[setting], lw=1, label=f"{setting.title}, predicted floor"
        )
        last = [train(ring, setting, 0, fit).training_loss for ring in rings[40::10]]
        axes.plot(grid[40::10], last, MARKER[setting], color=COLOUR[setting], ms=4)
    apart = [train(ring, APE, 0, Descent(0.01, 2500), FullAbsolute()).training_loss for ring in rings[40::20]]
    axes.plot(grid[40::20], apart, "x", color=FULL, ms=6, label="APE, W$_K$ and W$_Q$ apart")
    threshold = absolute.psd_threshold(7)
    axes.axvline(threshold, ls=":", **GUIDE)
    axes.text(threshold - 0.01, 0.02, "1 / (2 cos(π/(n$_1$+1)))", rotation=90, ha="right", **NOTE)
    axes.set(xlabel="β / α", ylabel="training loss of one output / α²")
    _finish(axes, "Floor of the training loss of APE, and fitted weights (points)\nn = 21, n$_1$ = 7, d = 42, seed 0")
    return figure


def full_dynamics() -> Any:
    """Left: which directions of M grow, and when. Right: what that does to APE with shifts."""
    figure, (left, right) = new_figure(9.6, 3.8, 2)
    factored: Model = FactoredAbsolute()
    full: Model = FullAbsolute(tied=True)
    whole = Ring(n=11, n_1=11, d=11, alpha=2.0, beta=(0.5,))
    start, _ = balanced_start(whole, 0, size=0.01)
    _, _, supervision = begin(whole, APE, 0)
    times = np.linspace(0, 1.2, 150)
    for model, params, colour, words in (
        (factored, absorb(start), FACTORED, "P P' (factored)"),
        (full, start, FULL, "P W'W P' (full, tied)"),
    ):
        path = flow_parameters(model, params, supervision, list(times))
        values = np.array([np.linalg.svd(model.effective(state)[0], compute_uv=False) for state in path])
        left.plot(
            times,
            values,
            color=colour,
            lw=1.1,
            ls="-" if model is full else "--",
            label=[words] + [None] * (whole.n - 1),
        )
    left.set(xlabel="time of the flow", ylabel="singular values of M", ylim=(-0.1, 3.7))
    _finish(left, "Same small start, everything seen: n = n$_1$ = 11, α = 2, β = 0.5")

    # A random start: a translation-invariant one would keep its symmetry and stop at two directions instead of one.
    ring = Ring(n=11, n_1=1, d=44, alpha=2.0, beta=())
    _, start, supervision = begin(ring, APE_SHIFTS, 0, full)
    times = np.concatenate([[0.0], np.geomspace(0.01, 20, 100)])
    for model, params, decay, colour, words in (
        (factored, absorb(start), 0.0, FACTORED, "factored"),
        (factored, absorb(start), 0.3, FACTORED, "factored, decay 0.3"),
        (full, start, 0.0, FULL, "full"),
        (full, start, 0.3, DECAYED, "full, decay 0.3"),
    ):
        path = flow_parameters(model, params, supervision, list(times), decay)
        loss = [ring.test_loss(*model.effective(state), supervision.theta).mean() for state in path]
        right.plot(times[1:], loss[1:], "--" if decay else "-", color=colour, label=words)
    worst = ring.alpha**2 * (ring.n - 1)
    right.axhline(worst, ls=":", **GUIDE)
    right.text(0.012, worst * 0.78, "α² (n − 1): every |$p_i^T W^T W p_j$| = α", **NOTE)
    right.set(xscale="log", yscale="log", xlabel="time of the flow", ylabel="mean test loss")
    words = "APE + shifts, w = 0, β = 0, same start: n = 11, d = 44, α = 2"
    _finish(right, words, loc="center left", bbox_to_anchor=(0, 0.62))
    return figure


def _sizes(ring: Ring) -> str:
    beta = ", ".join(f"{weight:g}" for weight in ring.beta)
    return f"n = {ring.n}, n$_1$ = {ring.n_1}, d = {ring.d}, m = {ring.m}, α = {ring.alpha:g}, β = {beta}"


def _finish(axes: Any, title: str, **legend: Any) -> None:
    axes.set_title(title, fontsize=9)
    axes.legend(fontsize=8, frameon=False, **legend)
