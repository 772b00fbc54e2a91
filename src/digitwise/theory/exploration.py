"""Your own n, n_1, d, alpha, beta, step and decay: train the three settings and see them beside the prediction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from digitwise.theory import predictions
from digitwise.theory.descent import Descent, check_decay
from digitwise.theory.experiments import DECAY, schedule, train
from digitwise.theory.ring import SETTINGS, Array, Ring, Setting, supervised_outputs


def explore(
    n: int = 51,
    n_1: int = 10,
    d: int = 200,
    alpha: float = 2.0,
    beta: Sequence[float] = (0.5,),
    settings: Sequence[str] = ("ape", "ape-shifts", "rpe"),
    seed: int = 0,
    step: float | None = None,
    steps: int | None = None,
    decay: float = DECAY,
) -> list[dict[str, Any]]:
    """One dictionary of plain values for each setting: losses in training and by position, beside the predicted ones.

    Step size and number of steps are chosen to fit if not given. A task that cannot be, or a step that makes the loss
    rise, is a `ValueError` that says what would work.
    """
    ring = Ring(n=n, n_1=n_1, d=d, alpha=float(alpha), beta=tuple(float(weight) for weight in beta))
    check_decay(decay)
    known = {setting.name: setting for setting in SETTINGS}
    for name in settings:
        if name not in known:
            raise ValueError(f"setting must be one of {', '.join(known)}, not {name!r}")
    return [_explore(ring, known[name], seed, step, steps, decay) for name in settings]


def predicted_loss(ring: Ring, setting: Setting, decay: float) -> Array | None:
    """[n]: the expected loss at each position in the limit of small decay; None where the theory is silent.

    Without any decay APE and RPE keep their random first weights wherever nothing is taught. With shifts the prediction
    is a mean over starts, to leading order in 1 / d, and needs a target that P P' can fit on all shifts at once.
    """
    if setting.shifts:
        single = ring.n_1 == 1 and ring.alpha > 0
        fits = ring.d >= ring.n and predictions.shifts_best_spectrum(ring)[1] < 1e-9
        return np.full(ring.n, predictions.shifts_test_loss(ring)) if single or fits else None
    if decay == 0:
        return None
    if setting.relative:
        return np.full(ring.n, float(np.sum((predictions.rpe_lags(ring) - ring.lag_target) ** 2)))
    return predictions.ape_test_loss(ring)


def _explore(
    ring: Ring, setting: Setting, seed: int, step: float | None, steps: int | None, decay: float
) -> dict[str, Any]:
    chosen = schedule(ring, setting, decay)
    size = chosen.step if step is None else step
    # the given step is checked by Descent before it divides anything
    descent = Descent(size, steps if steps is not None else 1, decay)
    if steps is None:
        descent = Descent(size, max(1, round(chosen.time / size)), decay)
    run = train(ring, setting, seed, descent)
    measured, predicted = run.test_loss, predicted_loss(ring, setting, decay)
    seen = ring.window

    def mean(loss: Array | None, where: NDArray[np.bool_]) -> float | None:
        return None if loss is None or not where.any() else float(loss[where].mean())

    return {
        "setting": setting.name,
        "training_loss": float(run.run.losses[-1]) / supervised_outputs(ring, setting),
        "seen": mean(measured, seen),
        "seen_predicted": mean(predicted, seen),
        "unseen": mean(measured, ~seen),
        "unseen_predicted": mean(predicted, ~seen),
        "by_position": measured.tolist(),
        "by_position_predicted": None if predicted is None else predicted.tolist(),
        "step": descent.step,
        "steps": descent.steps,
        "decay": decay,
    }
