"""Three ways of training the same thing: descent on the expected loss, descent on samples, and the flow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from digitwise.theory import predictions
from digitwise.theory.attention import Model, Params, attention_matrix
from digitwise.theory.descent import Descent, descend, descend_on_samples
from digitwise.theory.experiments import OTHER_WEIGHTS, begin, experiment, shift_bound, unlearned_bound, unseen_bound
from digitwise.theory.flow import flow_gram, flow_parameters
from digitwise.theory.ring import (
    APE,
    APE_SHIFTS,
    RPE,
    SETTINGS,
    Array,
    Ring,
    Setting,
    Supervision,
    generator,
    test_loss,
)
from digitwise.theory.rows import SPREAD, Row, around, sampling_error

RING = Ring(n=15, n_1=5, d=32, alpha=2.0, beta=(0.5,))
DECAY = 0.3  # strong enough to be seen within the short times below
SCHEDULES = {
    APE: Descent(0.01, 200, DECAY),
    APE_SHIFTS: Descent(0.002, 200, DECAY),
    RPE: Descent(0.005, 400, DECAY),
}
BATCHES = (16, 256)
REPEATS = 4


def rows(seeds: Sequence[int]) -> Iterator[Row]:
    """For every setting: the order of either gap, and the loss that the three ways end with."""
    for setting in SETTINGS:
        yield from _setting_rows(setting, tuple(seeds))
    yield from _other_weights_rows(tuple(seeds))


def flow_weights(
    model: Model, start: Params, supervision: Supervision, time: float, decay: float
) -> tuple[Array, Array]:
    """(M, v) by the flow; for absolute positions from the equation of A_kl, which never sees a vector p."""
    if model.relative:
        return attention_matrix(model, flow_parameters(model, start, supervision, [time], decay)[-1])
    return flow_gram(start["p"] @ start["p"].T, supervision, [time], decay)[-1], supervision.theta


def _setting_rows(setting: Setting, seeds: tuple[int, ...]) -> Iterator[Row]:
    descent = SCHEDULES[setting]
    half = Descent(descent.step / 2, descent.steps * 2, descent.decay)
    orders: list[float] = []
    flow_losses: list[float] = []
    step_gaps: list[float] = []
    sampled_gaps: list[float] = []
    noise: dict[int, list[float]] = {batch: [] for batch in BATCHES}
    for seed in seeds:
        model, start, supervision = begin(RING, setting, seed)
        flow = flow_weights(model, start, supervision, descent.time, DECAY)
        coarse, fine = (
            attention_matrix(model, descend(model, start, supervision, walk).params) for walk in (descent, half)
        )
        orders.append(_distance(coarse, flow) / _distance(fine, flow))
        flow_losses.append(_loss(flow, supervision))
        step_gaps.append(abs(_loss(coarse, supervision) - flow_losses[-1]))
        for batch in BATCHES:
            for repeat in range(REPEATS):
                rng = generator(seed, f"samples {setting.name} {batch} {repeat}")
                run = descend_on_samples(model, start, RING, setting, supervision, descent, batch, rng)
                sampled = attention_matrix(model, run.params)
                noise[batch].append(_distance(sampled, coarse) ** 2)
                if batch == max(BATCHES):
                    sampled_gaps.append(_loss(sampled, supervision) - flow_losses[-1])
    yield Row(
        f"agree-{setting.name}-flow",
        f"{setting.title}: halving the step halves the distance between descent and the flow (ratio)",
        2.0,
        float(np.mean(orders)),
        around(2.0, 0.1),
        "derived: next order in the step",
        seeds,
    )
    small, large = (noise[batch] for batch in BATCHES)
    ratio = float(np.sqrt(max(BATCHES) / min(BATCHES)))
    relative = np.hypot(sampling_error(small) / np.mean(small), sampling_error(large) / np.mean(large))
    yield Row(
        f"agree-{setting.name}-samples",
        f"{setting.title}: batches 16 times larger quarter the distance between sampled and expected descent (ratio)",
        ratio,
        float(np.sqrt(np.mean(small) / np.mean(large))),
        around(ratio, float(ratio * relative / 2)),
        "sampling: spread over runs",
        seeds,
    )
    flow_loss = float(np.mean(flow_losses))
    yield Row(
        f"agree-{setting.name}-loss",
        f"{setting.title}: mean test loss of sampled descent is that of the flow",
        flow_loss,
        flow_loss + float(np.mean(sampled_gaps)),
        around(flow_loss, float(np.mean(step_gaps)) + sampling_error(sampled_gaps)),
        "sampling: spread over runs, and the gap between flow and expected descent at this step",
        seeds,
    )


def _other_weights_rows(seeds: tuple[int, ...]) -> Iterator[Row]:
    """The paper gives no alpha and beta, so the three outcomes are repeated with others (on the first seed)."""
    first = seeds[:1]
    rings = [Ring(alpha=alpha, beta=beta) for alpha, beta in OTHER_WEIGHTS]
    words = ", ".join(f"{alpha:g}/{beta[0]:g}" for alpha, beta in OTHER_WEIGHTS)
    ape = [experiment(ring, APE, first[0]) for ring in rings]
    ratios = [run.test_loss[run.ring.n_1 :].mean() / run.ring.variance for run in ape]
    yield Row(
        "other-ape",
        f"other alpha/beta ({words}): loss outside [n_1] over alpha^2 + 2 beta^2 (furthest from 1)",
        1.0,
        float(max(ratios, key=lambda ratio: abs(ratio - 1))),
        around(1.0, max(unseen_bound(run) / run.ring.variance for run in ape)),
        "derived: finite time and decay",
        first,
    )
    shifted = [experiment(ring, APE_SHIFTS, first[0]) for ring in rings]
    scaled = [float(run.test_loss.mean()) / predictions.shifts_test_loss(run.ring) for run in shifted]
    deviation = predictions.shifts_test_loss_deviation(rings[0]) / predictions.shifts_test_loss(rings[0])
    yield Row(
        "other-ape-shifts",
        "the same for shifts: loss over alpha^2 (n - 2 n_1 + 1) / d, mean (all from one start, so as one sample)",
        1.0,
        float(np.mean(scaled)),
        around(1.0, SPREAD * deviation),
        "sampling: leading-order standard deviation of one start",
        first,
    )
    rpe = [experiment(ring, RPE, first[0]) for ring in rings]
    shares = [float(run.test_loss.max()) / run.ring.variance for run in rpe]
    allowed = [(shift_bound(run) + unlearned_bound(run)) / run.ring.variance for run in rpe]
    yield Row(
        "other-rpe",
        "the same for RPE: loss over alpha^2 + 2 beta^2 (largest)",
        0.0,
        max(shares),
        (0.0, max(allowed)),
        "derived: finite time and decay",
        first,
    )


def _distance(one: tuple[Array, Array], other: tuple[Array, Array]) -> float:
    """Frobenius distance of the two functions: of the arrays M[i, r] v[e], not of their parameters."""
    return float(np.linalg.norm(np.multiply.outer(*one) - np.multiply.outer(*other)))


def _loss(weights: tuple[Array, Array], supervision: Supervision) -> float:
    return float(test_loss(RING, *weights, supervision.theta).mean())
