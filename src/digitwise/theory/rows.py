"""A row: a prediction next to its measurement. And the rows on training itself, where three ways must agree."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, SupportsFloat

import numpy as np
from scipy.stats import t as student

from digitwise.theory.attention import Model, Params, attention_matrix, flow_gram, flow_parameters
from digitwise.theory.descent import Descent, Run, begin, descend, walk
from digitwise.theory.ring import APE, APE_SHIFTS, RPE, Array, Ring, Setting, Supervision, pool_lags, stream

SPREAD = 3.29
"""Standard deviations of a normal distribution on either side that hold 99.9 % of it."""


@dataclass(frozen=True)
class Row:
    """A prediction next to its measurement. `claim` marks the three parts of the paper's proposition.

    `interval` is the range around the *prediction* in which the measured value has to lie; `allowed` names its origin:

    - derived: a bound on what finite time, finite steps or finite weight decay can still change, or rounding; where
      only its order is known (an exponentially small rest, the next power of the step), a round number above it and
      far below the effect;
    - sampling: 99.9 % of the spread over random starts: `SPREAD` standard deviations of the mean where theory gives
      them, and Student's interval from the drawn values elsewhere. 99.9 and not 95, because there are dozens of rows,
      and a table in which two rows always fail by chance teaches people to ignore failures.
    """

    name: str
    statement: str
    prediction: float
    measured: float
    interval: tuple[float, float]
    allowed: str
    claim: bool = False

    @property
    def verdict(self) -> str:
        """`holds` or `fails`; a measured nan fails."""
        low, high = self.interval
        return "holds" if low <= self.measured <= high else "fails"

    def as_dict(self, seeds: Sequence[int]) -> dict[str, Any]:
        """Plain JSON values, numbers to ten digits (the verdict is taken before rounding)."""
        return {
            "name": self.name,
            "claim": self.claim,
            "statement": self.statement,
            "prediction": _round(self.prediction),
            "measured": _round(self.measured),
            "interval": [_round(end) for end in self.interval],
            "allowed": self.allowed,
            "seeds": list(seeds),
            "verdict": self.verdict,
        }


def _round(value: float) -> float:
    return float(f"{value:.10g}")


# The last four fields of a row: prediction, measured, interval, allowed.
Outcome = tuple[float, float, tuple[float, float], str]


def near(prediction: SupportsFloat, measured: SupportsFloat, tolerance: SupportsFloat, allowed: str) -> Outcome:
    """The outcome of a row that allows prediction +- tolerance."""
    middle, width = float(prediction), float(tolerance)
    return middle, float(measured), (middle - width, middle + width), allowed


def zero(measured: SupportsFloat, bound: SupportsFloat, allowed: str) -> Outcome:
    """The outcome of a row that predicts 0 for a quantity that cannot be negative."""
    return 0.0, float(measured), (0.0, float(bound)), allowed


def mean(values: Iterable[SupportsFloat]) -> float:
    """The mean over seeds or starts."""
    return float(np.mean([float(value) for value in values]))


def sampling_error(values: Iterable[float]) -> float:
    """Half the width of the 99.9 % interval (Student's) for the mean of independent values."""
    drawn = np.fromiter(values, dtype=float)
    assert len(drawn) > 1, "one value has no spread"
    return float(student.ppf(0.9995, len(drawn) - 1) * drawn.std(ddof=1) / np.sqrt(len(drawn)))


def markdown_table(rows: Sequence[dict[str, Any]]) -> str:
    """The rows of `table` in Markdown, claims in bold."""
    lines = ["| row | what | predicted | measured | must lie in | verdict |", "|---|---|---:|---:|---|---|"]
    for row in rows:
        name = f"**`{row['name']}`**" if row["claim"] else f"`{row['name']}`"
        statement = row["statement"].replace("<", "&lt;").replace("|", "\\|")  # neither tags nor columns
        (low, high), middle = row["interval"], row["prediction"]
        below, above = middle - low, high - middle
        symmetric = abs(above - below) < 1e-3 * (above + below)
        ends = f"{middle:.4g} ± {(below + above) / 2:.2g}" if symmetric else f"{low:.4g} to {high:.4g}"
        cells = [name, statement, f"{middle:.4g}", f"{row['measured']:.4g}", ends, row["verdict"]]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


# Three ways of training: descent on the expected loss, descent on samples, and the flow.

Weights = tuple[Array, Array]  # (M [n, n], v [d])
AGREEMENT = Ring(n=15, n_1=5, d=32, alpha=2.0, beta=(0.5,))
# The decay is strong enough to show within these short times.
SCHEDULES = {APE: Descent(0.01, 150, 0.3), APE_SHIFTS: Descent(0.002, 150, 0.3), RPE: Descent(0.004, 250, 0.3)}
BATCHES, REPEATS = (64, 256), 4
EXCURSION = 100.0  # Sampling is noisy and may climb a little; this many times the first loss counts as divergence.


def agreement_rows(seeds: Sequence[int]) -> Iterator[Row]:
    """Per setting: the order of the gap from descent to flow, of that from samples to descent, and the final loss."""
    for setting, descent in SCHEDULES.items():
        orders, ratios, flow_losses, step_gaps, sampled_gaps = [], [], [], [], []
        for seed in seeds:
            flow, coarse, fine, sampled, theta = _three_ways(setting, descent, seed)
            flow_loss, coarse_loss, fine_loss = (_loss(weights, theta) for weights in (flow, coarse, fine))
            orders.append(_distance(coarse, flow) / _distance(fine, flow))
            flow_losses.append(flow_loss)
            step_gaps.append(4 * abs(coarse_loss - fine_loss))
            for small, large in sampled:
                ratios.append(np.log(_distance(small, coarse) / _distance(large, coarse)))
                sampled_gaps.append(_loss(large, theta) - flow_loss)
        yield Row(
            f"agree-{setting.name}-flow",
            f"{setting.title}: halving the step halves the distance between descent and the flow (ratio)",
            *near(2.0, mean(orders), 0.1, "derived: next order in the step"),
        )
        ratio, spread = float(np.sqrt(max(BATCHES) / min(BATCHES))), sampling_error(ratios)
        yield Row(
            f"agree-{setting.name}-samples",
            f"{setting.title}: batches 4 times larger halve the distance between sampled and expected descent (ratio)",
            prediction=ratio,
            measured=float(np.exp(np.mean(ratios))),
            interval=(ratio * float(np.exp(-spread)), ratio * float(np.exp(spread))),
            allowed="sampling: spread over runs",
        )
        loss, tolerance = mean(flow_losses), mean(step_gaps) + sampling_error(sampled_gaps)
        why = "sampling: spread over runs, and four times the change of expected descent on halving the step"
        yield Row(
            f"agree-{setting.name}-loss",
            f"{setting.title}: mean test loss of sampled descent is that of the flow",
            *near(loss, loss + mean(sampled_gaps), tolerance, why),
        )


def _three_ways(
    setting: Setting, descent: Descent, seed: int
) -> tuple[Weights, Weights, Weights, list[list[Weights]], Array]:
    """(M, v) by the flow, by descent in two step sizes, by samples [repeats][batches]; and theta.

    A random v has next to no component along theta, and the noise of the samples then decides whether it turns to theta
    or to -theta: both are perfect fits, but they are different runs. Tilting v towards theta settles the sign.
    """
    model, start, supervision = begin(AGREEMENT, setting, seed)
    theta = supervision.theta
    if model.relative:
        start = {**start, "v": (start["v"] + theta) / 2}
        flow = attention_matrix(model, flow_parameters(model, start, supervision, [descent.time], descent.decay)[-1])
    else:  # the equation of A_kl, which never sees a vector p
        flow = flow_gram(start["p"] @ start["p"].T, supervision, [descent.time], descent.decay)[-1], theta
    walks = [descend(model, start, supervision, steps) for steps in (descent, descent.halved())]
    coarse, fine = (attention_matrix(model, run.params) for run in walks)
    sampled = []
    for repeat in range(REPEATS):
        rngs = [(batch, stream(seed, f"samples {setting.name} {batch} {repeat}")) for batch in BATCHES]
        runs = [descend_on_samples(model, start, AGREEMENT, setting, supervision, descent, *pair) for pair in rngs]
        sampled.append([attention_matrix(model, run.params) for run in runs])
    return flow, coarse, fine, sampled, theta


def _distance(one: Weights, other: Weights) -> float:
    """Frobenius distance of the two functions: of the arrays M[i, r] v[e], not of their parameters."""
    return float(np.linalg.norm(np.multiply.outer(*one) - np.multiply.outer(*other)))


def _loss(weights: Weights, theta: Array) -> float:
    return float(AGREEMENT.test_loss(*weights, theta).mean())


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

    return walk(model, params, supervision, descent, gradients, "stochastic gradient descent", EXCURSION)


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
    matrix, v = attention_matrix(model, params)
    carried, wanted = np.zeros((batch, ring.n)), np.zeros((batch, ring.n))
    carried[rows, where], wanted[rows, where] = x @ v, x @ theta
    supervised = np.zeros((batch, ring.n), dtype=bool)
    supervised[rows, where] = True
    errors = np.where(supervised, carried @ matrix.T - wanted @ ring.target.T, 0.0)  # [batch, n]
    scale = 2 * (ring.n if setting.shifts else 1) / batch
    by_matrix = scale * errors.T @ carried
    by_v = scale * np.einsum("br,brd->d", (errors @ matrix)[rows, where], x)
    return (pool_lags(by_matrix) if model.relative else by_matrix), by_v


def sampled_test_loss(
    ring: Ring, models: Sequence[Weights], theta: Array, samples: int, rng: np.random.Generator
) -> Array:
    """[models, n]: the loss with tokens everywhere, of the same drawn tokens for every model."""
    total = np.zeros((len(models), ring.n))
    for first in range(0, samples, 250):  # in slices: 5,000 rings are 400 MB
        x = rng.standard_normal((min(250, samples - first), ring.n, ring.d))
        y = (x @ theta) @ ring.target.T
        for k, (matrix, v) in enumerate(models):
            total[k] += np.sum(((x @ v) @ matrix.T - y) ** 2, axis=0)
    return total / samples
