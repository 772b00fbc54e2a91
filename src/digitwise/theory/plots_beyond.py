"""Four figures that the paper does not have: other weights, how the loss scales, what P P' cannot fit, the full model.

They take `new_figure` and the colours from `plots.py`, which is where matplotlib is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from digitwise.theory import predictions
from digitwise.theory.attention import FactoredAbsolute, FullAbsolute, Model, absorb
from digitwise.theory.compare_full import balanced_start
from digitwise.theory.descent import Descent
from digitwise.theory.experiments import OTHER_WEIGHTS, begin, experiment, train
from digitwise.theory.flow import flow_parameters
from digitwise.theory.ring import APE, APE_SHIFTS, SETTINGS, Ring, Setting, supervised_outputs, test_loss

NewFigure = Callable[..., tuple[Any, Any]]
FACTORED, FULL, DECAYED = "#7a7a7a", "#5b4a9c", "#b0487f"


def other_weights(new_figure: NewFigure, colours: Mapping[Setting, str]) -> Any:
    """The loss by position, as a share of alpha^2 + 2 beta^2, for four more pairs of weights."""
    figure, axes = new_figure(len(OTHER_WEIGHTS), width=9.5, height=2.7, sharey=True)
    for panel, (alpha, beta) in zip(axes, OTHER_WEIGHTS, strict=True):
        ring = Ring(alpha=alpha, beta=beta)
        panel.axvspan(0.5, ring.n_1 + 0.5, color="0.93", zorder=0)
        for setting in SETTINGS:
            loss = experiment(ring, setting, 0).test_loss / ring.variance
            panel.plot(np.arange(1, ring.n + 1), loss, color=colours[setting], linewidth=1.4, label=setting.title)
        panel.axhline(predictions.shifts_test_loss(ring) / ring.variance, color="0.3", linewidth=0.8, linestyle="--")
        panel.set_title(f"α = {alpha:g}, β = {beta[0]:g}", fontsize=8)
        panel.set_xlabel("position", fontsize=8)
    axes[0].set_ylabel("test loss / (α² + 2β²)", fontsize=8)
    axes[-1].legend(fontsize=7, frameon=False, loc="center right")
    figure.suptitle(
        "Other weights: n = 51, n$_1$ = 10, d = 200, seed 0; dashed: leading order of APE + shifts", fontsize=8
    )
    return figure


def scaling(new_figure: NewFigure) -> Any:
    """Loss of APE with shifts over alpha^2 against the number of unseen lags over d."""
    figure, axes = new_figure(width=4.6, height=3.8)
    ends = np.array([0.01, 2.0])
    axes.plot(ends, ends, color="0.3", linewidth=0.8, label="predicted: slope 1")
    for n_1, beta, colour, marker in ((1, (), "#e0a030", "^"), (10, (0.5,), "#5b4a9c", "D")):
        x, y = [], []
        for n in (31, 71):
            for d in (50, 100, 200, 400):
                ring = Ring(n=n, n_1=n_1, d=d, alpha=2.0, beta=beta)
                fit = Descent(0.02, 120) if n_1 == 1 else Descent(0.0025, 400)
                for seed in range(2):
                    x.append(predictions.shifts_test_loss(ring) / ring.alpha**2)
                    y.append(train(ring, APE_SHIFTS, seed, fit).test_loss.mean() / ring.alpha**2)
        words = "w = 0, β = 0 (proven): (n − 1)/d" if n_1 == 1 else "n$_1$ = 10, β = 0.5: (n − 2n$_1$ + 1)/d"
        axes.plot(x, y, linestyle="", marker=marker, markersize=4, color=colour, alpha=0.8, label=words)
    axes.set(xscale="log", yscale="log", xlabel="lags that no window contains / d", ylabel="mean test loss / α²")
    axes.set_title("APE + shifts: n 31 and 71; d 50 to 400; α = 2, 2 seeds", fontsize=8)
    axes.legend(fontsize=7, frameon=False)
    return figure


def semidefinite(new_figure: NewFigure, colours: Mapping[Setting, str]) -> Any:
    """The training loss that P P' cannot get below, as beta grows past alpha / 2."""
    figure, axes = new_figure(width=5.0)
    grid = np.linspace(0, 1, 101)
    rings = [Ring(n=21, n_1=7, d=42, alpha=1.0, beta=(float(beta),)) for beta in grid]
    floors = {
        APE: [predictions.ape_training_floor(ring) / supervised_outputs(ring, APE) for ring in rings],
        APE_SHIFTS: [predictions.shifts_best_spectrum(r)[1] / supervised_outputs(r, APE_SHIFTS) for r in rings],
    }
    for setting, fit in ((APE, Descent(0.02, 1500)), (APE_SHIFTS, Descent(0.004, 3000))):
        axes.plot(grid, floors[setting], color=colours[setting], linewidth=1, label=f"{setting.title}, predicted floor")
        last = [
            train(rings[k], setting, 0, fit).run.losses[-1] / supervised_outputs(rings[k], setting)
            for k in range(40, 101, 10)
        ]
        axes.plot(grid[40::10], last, color=colours[setting], linestyle="", marker="o", markersize=4)
    full = [train(rings[k], APE, 0, Descent(0.01, 2500), FullAbsolute()).run.losses[-1] / 7 for k in range(40, 101, 20)]
    axes.plot(
        grid[40::20], full, color=FULL, linestyle="", marker="x", markersize=6, label="APE, W$_K$ and W$_Q$ apart"
    )
    threshold = predictions.psd_threshold(7)
    axes.axvline(threshold, color="0.4", linewidth=0.8, linestyle=":")
    axes.text(threshold - 0.01, 0.02, "1 / (2 cos(π/(n$_1$+1)))", fontsize=7, color="0.35", rotation=90, ha="right")
    axes.set(xlabel="β / α", ylabel="training loss of one output / α²")
    axes.set_title("Fitted weights (points) and floor: n = 21, n$_1$ = 7, d = 42, seed 0", fontsize=8)
    axes.legend(fontsize=7, frameon=False)
    return figure


def full_dynamics(new_figure: NewFigure) -> Any:
    """Left: which directions of M grow, and when. Right: what that does to APE with shifts."""
    figure, (left, right) = new_figure(2, width=9.0, height=3.5)
    whole = Ring(n=11, n_1=11, d=11, alpha=2.0, beta=(0.5,))
    start, _ = balanced_start(whole, 0, size=0.01)
    _, _, supervision = begin(whole, APE, 0)
    times = np.linspace(0, 1.2, 150)
    pairs: tuple[tuple[Model, str, str], ...] = (
        (FactoredAbsolute(), FACTORED, "P P' (factored)"),
        (FullAbsolute(tied=True), FULL, "P W'W P' (full, tied)"),
    )
    for model, colour, words in pairs:
        params = absorb(start) if isinstance(model, FactoredAbsolute) else start
        path = flow_parameters(model, params, supervision, list(times))
        values = np.array([np.linalg.svd(model.effective(state)[0], compute_uv=False) for state in path])
        left.plot(times, values, color=colour, linewidth=1.1, label=[words] + [None] * (whole.n - 1))
    left.set(xlabel="time of the flow", ylabel="singular values of M", ylim=(-0.1, 3.7))
    left.set_title("Same small start, everything seen: n = n$_1$ = 11, α = 2, β = 0.5", fontsize=8)
    left.legend(fontsize=7, frameon=False)

    # A random start: a translation-invariant one would keep its symmetry and stop at two directions instead of one.
    ring = Ring(n=11, n_1=1, d=44, alpha=2.0, beta=())
    _, start, supervision = begin(ring, APE_SHIFTS, 0, FullAbsolute(tied=True))
    times = np.concatenate([[0.0], np.geomspace(0.01, 20, 100)])
    cases: tuple[tuple[Model, float, str, str], ...] = (
        (FactoredAbsolute(), 0.0, FACTORED, "factored"),
        (FactoredAbsolute(), 0.3, FACTORED, "factored, decay 0.3"),
        (FullAbsolute(tied=True), 0.0, FULL, "full"),
        (FullAbsolute(tied=True), 0.3, DECAYED, "full, decay 0.3"),
    )
    for model, decay, colour, words in cases:
        params = absorb(start) if isinstance(model, FactoredAbsolute) else start
        path = flow_parameters(model, params, supervision, list(times), decay)
        loss = [test_loss(ring, *model.effective(state), supervision.theta).mean() for state in path]
        right.plot(times[1:], loss[1:], color=colour, linestyle="--" if decay else "-", linewidth=1.4, label=words)
    right.axhline(ring.alpha**2 * (ring.n - 1), color="0.4", linewidth=0.8, linestyle=":")
    right.text(
        0.012,
        ring.alpha**2 * (ring.n - 1) * 0.78,
        "α² (n − 1): every |$p_i^T W^T W p_j$| = α",
        fontsize=7,
        color="0.35",
    )
    right.set(xscale="log", yscale="log", xlabel="time of the flow", ylabel="mean test loss")
    right.set_title("APE + shifts, w = 0, β = 0, same start: n = 11, d = 44, α = 2", fontsize=8)
    right.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(0, 0.62))
    return figure
