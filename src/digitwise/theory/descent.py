"""Training by steps: gradient descent on the population loss, and the schedules of the paper's experiments."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from digitwise.theory.attention import (
    FactoredAbsolute,
    FactoredRelative,
    Model,
    Params,
    attention_matrix,
    check_decay,
    flat_gradient,
    population_gradient,
)
from digitwise.theory.ring import (
    APE_SHIFTS,
    Array,
    Ring,
    Setting,
    Supervision,
    invariant_spectrum,
    invariant_vectors,
    stream,
    supervise,
    unit_vector,
)

DECAY = 0.1
"""Weight decay of the experiments: small beside the other rates (8 and more), large enough to finish its work."""


class Diverged(ValueError):
    """The loss ran away. `step_size` is the one given, `suggestion` is one that is safe from this start."""

    def __init__(self, what: str, step: int, step_size: float, suggestion: float) -> None:
        self.step, self.step_size, self.suggestion = step, step_size, suggestion
        super().__init__(f"{what} diverged by step {step} with step size {step_size:g}; try {suggestion:.2g} or less")


@dataclass(frozen=True)
class Descent:
    """How to take steps: p <- p - step * (gradient + decay * p), which is Euler's method for the gradient flow.

    The paper writes the decay of one step as epsilon in its discrete updates and as a rate in its flow. Here `decay` is
    the rate, so that the same number means the same thing for steps of any size.
    """

    step: float
    steps: int
    decay: float = 0.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.step) and self.step > 0):
            raise ValueError(f"step must be a positive number, not {self.step!r}")
        if self.steps < 1:
            raise ValueError(f"steps must be at least 1, not {self.steps!r}")
        check_decay(self.decay)
        if self.step * self.decay >= 1:
            raise ValueError(f"step * decay = {self.step * self.decay:g} flips the weights: keep it below 1")

    @property
    def time(self) -> float:
        """The time of the gradient flow that these steps cover."""
        return self.step * self.steps

    @property
    def remaining(self) -> float:
        """The factor by which decay alone shrinks a vector that receives no gradient."""
        return float((1 - self.step * self.decay) ** self.steps)

    def halved(self) -> "Descent":
        """The same time in steps of half the size."""
        return Descent(self.step / 2, self.steps * 2, self.decay)


@dataclass(frozen=True, eq=False)
class Run:
    """A finished training: the last arrays, and the population loss at about 200 steps, evenly spaced by logarithm."""

    params: Params
    steps: Array
    losses: Array


def descend(model: Model, params: Params, supervision: Supervision, descent: Descent) -> Run:
    """Gradient descent on the population loss, in closed form: no data are drawn."""

    def gradients(params: Params) -> Params:
        return population_gradient(model, params, supervision)

    return walk(model, params, supervision, descent, gradients, "gradient descent", None)


def walk(
    model: Model,
    params: Params,
    supervision: Supervision,
    descent: Descent,
    gradients: Callable[[Params], Params],
    what: str,
    excursion: float | None,
) -> Run:
    """Take the steps. Without an `excursion` the loss may never rise: with a fitting step, descent does not.

    That catches a step which is too large long before anything overflows. Some such steps never overflow at all: they
    throw the weights over the valley, or rattle between its walls, and end in a place that the flow does not reach.
    """
    start = params
    keep = 1 - descent.step * descent.decay
    marks = set(np.geomspace(1, descent.steps, 200).round().astype(int).tolist())

    def measure(params: Params) -> tuple[float, float]:
        """The loss, and what the steps really descend: the loss with the decay's own potential added."""
        loss = supervision.loss(*model.effective(params))
        squares = sum(float(np.sum(a * a)) for name, a in params.items() if name not in model.frozen)
        return loss, loss + descent.decay * squares / 2

    first_loss, first = measure(params)
    rounding = 1e-9 * float(np.sum(supervision.counts * supervision.target**2))
    limit = (excursion or 1) * first + rounding
    steps, losses = [0], [first_loss]
    with np.errstate(over="ignore", invalid="ignore"):  # the check below names an overflow better than numpy does
        for step in range(1, descent.steps + 1):
            by = gradients(params)
            params = {name: keep * a - descent.step * by[name] if name in by else a for name, a in params.items()}
            recorded = step in marks
            if recorded or step % 20 == 0:
                loss, objective = measure(params)
                if not objective <= limit:  # also true of nan
                    suggestion = min(safe_step(model, start, supervision), descent.step / 2)
                    raise Diverged(what, step, descent.step, suggestion)
                if excursion is None:
                    limit = min(limit, objective + rounding)
                if recorded:
                    steps.append(step)
                    losses.append(loss)
    return Run(params, np.array(steps), np.array(losses))


def safe_step(model: Model, params: Params, supervision: Supervision, iterations: int = 30) -> float:
    """A step size that descends from here: a quarter of the inverse of the largest curvature.

    The curvature comes from power iteration on differences of gradients. Why a quarter: at a solution of (p^2 - b)^2
    the curvature is 8 b, twice its magnitude at p = 0, so a quarter of the inverse at a small start is a quarter of the
    limit 2 / (8 b) at the end.
    """
    here, gradient, _ = flat_gradient(model, params, supervision)
    slope, nudge = gradient(here), 1e-5
    direction = np.random.default_rng(0).standard_normal(here.size)
    for _ in range(iterations):
        length = float(np.linalg.norm(direction))
        if length == 0:
            break
        direction = (gradient(here + nudge * direction / length) - slope) / nudge
    return 0.25 / max(float(np.linalg.norm(direction)), 1e-12)


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
        """[d]: the direction that the target reads."""
        return self.supervision.theta

    @property
    def test_loss(self) -> Array:
        """[n]: expected loss at each position with tokens everywhere."""
        return self.ring.test_loss(*self.weights, self.theta)

    @property
    def training_loss(self) -> float:
        """Expected loss of one supervised output after training."""
        return float(self.run.losses[-1]) / self.ring.outputs(self.setting)


def begin(ring: Ring, setting: Setting, seed: int, model: Model | None = None) -> tuple[Model, Params, Supervision]:
    """The model, its random start and its population loss; theta is shared by all settings of a seed."""
    theta = unit_vector(ring.d, stream(seed, f"theta {ring.d}"))
    model = model or (FactoredRelative() if setting.relative else FactoredAbsolute())
    # The sizes are part of the name: otherwise runs of different size share draws, and a mean over sizes misleads.
    name = f"start {type(model).__name__} {setting.name} {ring.n} {ring.n_1} {ring.d}"
    return model, model.start(ring, theta, stream(seed, name)), supervise(ring, setting, theta)


def begin_invariant(ring: Ring, seed: int, name: str) -> tuple[Array, Model, Params, Supervision]:
    """The eigenvalues of a translation-invariant start (eq. initialization), then as `begin` with that start."""
    rng = stream(seed, name)
    spectrum = invariant_spectrum(ring, rng)
    model, start, supervision = begin(ring, APE_SHIFTS, seed)
    return spectrum, model, {**start, "p": invariant_vectors(ring, spectrum, rng)}, supervision


def train(ring: Ring, setting: Setting, seed: int, descent: Descent, model: Model | None = None) -> Trained:
    """Population gradient descent from the random start of this seed."""
    model, start, supervision = begin(ring, setting, seed, model)
    return Trained(ring, setting, model, supervision, descent, start, descend(model, start, supervision, descent))


@lru_cache(maxsize=256)
def experiment(ring: Ring, setting: Setting, seed: int) -> Trained:
    """One of the paper's experiments with our schedule, trained once and kept for the table and the figures."""
    return train(ring, setting, seed, schedule(ring, setting))


def schedule(ring: Ring, setting: Setting, decay: float = DECAY) -> Descent:
    """A step size and a duration that fit the task.

    The step is a share of the inverse curvature at the solution. The duration is what the slowest process needs: the
    decay of what is unseen (by a factor exp(-6)), or, with shifts, the fit itself.
    """
    check_decay(decay)
    if setting.relative:
        # p . u times v: the curvature is a sum of three products of two norms, each about (sum b^2)^(1/3) squared
        step = 1.2 / (2 * ring.n_1 * 3 * max(ring.variance, 1.0) ** (2 / 3))
    else:  # at least 1: the random start has eigenvalues of that size
        step = 0.72 / (8 * (ring.n_1 if setting.shifts else 1) * max(ring.top, 1.0))
    time = 60 / ring.n_1 if setting.shifts else 6 / decay if decay > 0 else 10.0
    return Descent(step, max(1, round(time / step)), decay)
