"""The paper's two experiments, trained once for each (task, setting, seed) and kept for the table and the figures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from digitwise.theory.attention import FactoredAbsolute, FactoredRelative, Model, Params, attention_matrix
from digitwise.theory.descent import Descent, Run, check_decay, descend
from digitwise.theory.predictions import balanced_norm, remaining, rpe_lags
from digitwise.theory.ring import Array, Ring, Setting, Supervision, generator, supervise, test_loss, unit_vector

# Sizes are the paper's; alpha and beta are not printed there. Ours keep the target positive definite (see
# docs/theory.md): eigenvalues of the first are between 1 and 3, of the second between 0.8 and 8.
ONE_NEIGHBOUR = Ring(n=51, n_1=10, d=200, alpha=2.0, beta=(0.5,))
FIVE_NEIGHBOURS = Ring(n=51, n_1=20, d=200, alpha=2.0, beta=(1.0, 0.8, 0.6, 0.4, 0.2))

# Other weights, to show that the picture does not hang on the choice: the edge of what P P' can fit, a large alpha, a
# negative neighbour, none at all.
OTHER_WEIGHTS = ((1.0, (0.5,)), (3.0, (0.3,)), (2.0, (-0.5,)), (1.5, (0.0,)))

DECAY = 0.1
"""Weight decay of the experiments: small beside the other rates (8 and more), large enough to finish its work."""


@dataclass(frozen=True, eq=False)
class Trained:
    """A finished training with everything needed to judge it."""

    ring: Ring
    setting: Setting
    model: Model
    supervision: Supervision
    descent: Descent
    start: Params
    run: Run

    @property
    def weights(self) -> tuple[Array, Array]:
        """(M [n, n], v [d]) after training."""
        return attention_matrix(self.model, self.run.params)

    @property
    def theta(self) -> Array:
        return self.supervision.theta

    @property
    def test_loss(self) -> Array:
        """[n]: expected loss at each position with tokens everywhere."""
        return test_loss(self.ring, *self.weights, self.theta)


def schedule(ring: Ring, setting: Setting, decay: float = DECAY) -> Descent:
    """Step size and duration. The step is a share of the inverse curvature at the solution, the duration is what the
    slowest thing needs: the decay of what is unseen (by a factor exp(-6)), or, with shifts, the fit itself.
    """
    check_decay(decay)
    time = 6 / decay if decay > 0 else 10.0
    if setting.relative:
        # p . u times v: the curvature is a sum of three products of two norms, each about (sum b^2)^(1/3) squared
        step = 1.2 / (2 * ring.n_1 * 3 * max(ring.variance, 1.0) ** (2 / 3))
        return Descent(step, max(1, round(time / step)), decay)
    windows = ring.n_1 if setting.shifts else 1
    step = 0.72 / (8 * windows * max(_top(ring), 1.0))  # at least 1: the random start has eigenvalues of that size
    if setting.shifts:
        time = 60 / ring.n_1
    return Descent(step, max(1, round(time / step)), decay)


def begin(ring: Ring, setting: Setting, seed: int, model: Model | None = None) -> tuple[Model, Params, Supervision]:
    """The model, its random start and its population loss; theta is shared by all settings of a seed."""
    theta = unit_vector(ring.d, generator(seed, f"theta {ring.d}"))
    model = model or (FactoredRelative() if setting.relative else FactoredAbsolute())
    # The sizes are part of the name: otherwise runs of different size share draws, and a mean over sizes misleads.
    name = f"start {type(model).__name__} {setting.name} {ring.n} {ring.n_1} {ring.d}"
    start = model.start(ring, theta, generator(seed, name))
    return model, start, supervise(ring, setting, theta)


def train(ring: Ring, setting: Setting, seed: int, descent: Descent, model: Model | None = None) -> Trained:
    """Population gradient descent from the random start of this seed."""
    model, start, supervision = begin(ring, setting, seed, model)
    return Trained(ring, setting, model, supervision, descent, start, descend(model, start, supervision, descent))


@lru_cache(maxsize=256)
def experiment(ring: Ring, setting: Setting, seed: int) -> Trained:
    """One of the paper's experiments, with our schedule."""
    return train(ring, setting, seed, schedule(ring, setting))


# How far from the limit a finite time may leave a loss. The bounds know the start and the schedule, not the result.


def unseen_bound(trained: Trained, readout: float = 1.0) -> float:
    """APE, a position outside the window: its row p_k . P of A has at most the length `size`, because |p_k| has decayed
    and P, `readout` = |v| given, fits the target. |A_k v - B_k theta|^2 then is |B_k|^2 up to 2 size |B_k| + size^2.
    """
    outside, left = trained.start["p"][trained.ring.n_1 :], remaining(trained.descent)
    inner = np.sqrt(_top(trained.ring) * readout) + left * float(np.linalg.norm(outside, 2))
    size = left * float(np.linalg.norm(outside, axis=1).max()) * float(inner)
    return 2 * size * float(np.sqrt(trained.ring.variance)) + size**2


def seen_bound(trained: Trained) -> float:
    """APE, a position inside the window: what it still hears from outside, and the shift of its fit by decay."""
    outside, left = trained.start["p"][trained.ring.n_1 :], remaining(trained.descent)
    size = float(np.sqrt(trained.ring.alpha)) * left * float(np.linalg.norm(outside, 2))
    missed = float(np.sqrt(np.sum(np.square(trained.ring.beta))))
    return 2 * size * missed + size**2 + (trained.descent.decay / 4) ** 2


def unlearned_bound(trained: Trained, factors: int = 3) -> float:
    """RPE: the loss of the lags outside every window, |P_unseen u|^2 |v|^2 with norms in balance (1 % off at most).

    A full model puts W_K' W_Q between p and u and W_V before h: `factors` is 6 then.
    """
    unseen = trained.start["p"][trained.supervision.counts == 0]
    decayed = remaining(trained.descent) * float(np.linalg.norm(unseen, 2))
    return 1.01 * decayed**2 * balanced_norm(trained.ring, factors) ** (factors - 1)


def shift_bound(trained: Trained, factors: int = 3) -> float:
    """RPE: the loss of the lags inside a window, which decay keeps a little below their target (10 % off at most)."""
    shift = rpe_lags(trained.ring, trained.descent.decay, factors) - trained.ring.lag_target
    return 1.1 * float(np.sum(shift**2))


def _top(ring: Ring) -> float:
    """A bound on the eigenvalues of the target."""
    return abs(ring.alpha) + 2 * sum(abs(weight) for weight in ring.beta)
