"""Training by steps: gradient descent on the population loss, and stochastic gradient descent on drawn sequences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from digitwise.theory.attention import Model, Params
from digitwise.theory.ring import Array, Ring, Setting, Supervision, pool_lags

# Sampling is noisy and may climb a little on its way; this many times the first loss is lost.
EXCURSION = 100.0


class Diverged(ValueError):
    """The loss ran away. `step_size` is what was asked for, `suggestion` a step size that is safe from this start."""

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


def check_decay(decay: float) -> None:
    """Weight decay is a rate towards zero: a negative one would blow the weights up."""
    if not (np.isfinite(decay) and decay >= 0):
        raise ValueError(f"decay must be 0 or more, not {decay!r}")


@dataclass(frozen=True, eq=False)
class Run:
    """A finished training: the last arrays, and the population loss at about 200 steps, evenly spaced by logarithm."""

    params: Params
    steps: Array
    losses: Array


def population_gradient(model: Model, params: Params, supervision: Supervision, decay: float = 0.0) -> Params:
    """The gradient of the expected loss by every trained array, with the decay added."""
    e, v = model.effective(params)
    gradients = model.pull_back(params, *supervision.gradient(e, v))
    trained = {name: g for name, g in gradients.items() if name not in model.frozen}
    return {name: g + decay * params[name] for name, g in trained.items()} if decay else trained


def descend(model: Model, params: Params, supervision: Supervision, descent: Descent) -> Run:
    """Gradient descent on the population loss, in closed form: no data are drawn."""

    def gradients(params: Params) -> Params:
        return population_gradient(model, params, supervision)

    return _walk(model, params, supervision, descent, gradients, "gradient descent", None)


def descend_on_samples(
    model: Model,
    params: Params,
    ring: Ring,
    setting: Setting,
    supervision: Supervision,
    descent: Descent,
    batch: int,
    rng: np.random.Generator,
) -> Run:
    """Stochastic gradient descent: every step draws `batch` new sequences, each with its own window if shifted."""
    if batch < 1:
        raise ValueError(f"batch must be at least 1, not {batch!r}")

    def gradients(params: Params) -> Params:
        by_e, by_v = sample_gradient(model, params, ring, setting, supervision.theta, batch, rng)
        pulled = model.pull_back(params, by_e, by_v)
        return {name: g for name, g in pulled.items() if name not in model.frozen}

    return _walk(model, params, supervision, descent, gradients, "stochastic gradient descent", EXCURSION)


def sample_gradient(
    model: Model, params: Params, ring: Ring, setting: Setting, theta: Array, batch: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Gradients by (e, v) of the loss of `batch` drawn sequences, scaled to estimate the population's.

    Only the tokens inside the window are drawn (x [batch, n_1, d]); the padded ones are zero and outputs at padded
    positions are not supervised. With shifts a sequence is one of n windows, hence the factor n.
    """
    first = rng.integers(ring.n, size=batch) if setting.shifts else np.zeros(batch, dtype=np.int64)
    where = (first[:, None] + np.arange(ring.n_1)) % ring.n  # [batch, n_1]
    rows = np.arange(batch)[:, None]
    x = rng.standard_normal((batch, ring.n_1, ring.d))
    e, v = model.effective(params)
    matrix = e[(np.arange(ring.n)[:, None] - np.arange(ring.n)) % ring.n] if model.relative else e
    said, wanted = np.zeros((batch, ring.n)), np.zeros((batch, ring.n))
    said[rows, where], wanted[rows, where] = x @ v, x @ theta
    supervised = np.zeros((batch, ring.n), dtype=bool)
    supervised[rows, where] = True
    errors = np.where(supervised, said @ matrix.T - wanted @ ring.target.T, 0.0)  # [batch, n]
    scale = 2 * (ring.n if setting.shifts else 1) / batch
    by_matrix = scale * errors.T @ said
    by_v = scale * np.einsum("br,brd->d", (errors @ matrix)[rows, where], x)
    return (pool_lags(by_matrix) if model.relative else by_matrix), by_v


def sharpness(model: Model, params: Params, supervision: Supervision, iterations: int = 30) -> float:
    """The largest curvature of the population loss in magnitude, by power iteration on differences of gradients."""
    rng = np.random.default_rng(0)
    names = [name for name in params if name not in model.frozen]
    direction = {name: rng.standard_normal(params[name].shape) for name in names}
    here = population_gradient(model, params, supervision)
    size = 0.0
    for _ in range(iterations):
        norm = np.sqrt(sum(float(np.sum(direction[name] ** 2)) for name in names))
        if norm == 0:
            break
        nudge = 1e-5 / norm
        moved = {name: params[name] + nudge * direction[name] if name in names else params[name] for name in params}
        there = population_gradient(model, moved, supervision)
        direction = {name: (there[name] - here[name]) / 1e-5 for name in names}
        size = float(np.sqrt(sum(float(np.sum(direction[name] ** 2)) for name in names)))
    return size


def safe_step(model: Model, params: Params, supervision: Supervision) -> float:
    """A step size that descends from here: a quarter of the inverse curvature.

    Why a quarter: at a solution of (p^2 - b)^2 the curvature is 8 b, twice its magnitude at p = 0, so a quarter of the
    inverse at a small start is a quarter of the limit 2 / (8 b) at the end.
    """
    return 0.25 / max(sharpness(model, params, supervision), 1e-12)


def _walk(
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
