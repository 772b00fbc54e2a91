"""Three ways of training the same thing: descent on the expected loss, descent on samples, and the flow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from digitwise.theory.attention import Model, Params, attention_matrix
from digitwise.theory.descent import Descent, descend, descend_on_samples
from digitwise.theory.experiments import begin
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
from digitwise.theory.rows import Row, around, sampling_error

RING = Ring(n=15, n_1=5, d=32, alpha=2.0, beta=(0.5,))
DECAY = 0.3  # strong enough to be seen within the short times below
SCHEDULES = {
    APE: Descent(0.01, 150, DECAY),
    APE_SHIFTS: Descent(0.002, 150, DECAY),
    RPE: Descent(0.004, 250, DECAY),
}
BATCHES = (64, 256)
REPEATS = 4


def rows(seeds: Sequence[int]) -> Iterator[Row]:
    """For every setting: the order of either gap, and the loss that the three ways end with."""
    for setting in SETTINGS:
        yield from _setting_rows(setting, tuple(seeds))


def flow_weights(
    model: Model, start: Params, supervision: Supervision, time: float, decay: float
) -> tuple[Array, Array]:
    """(M, v) by the flow; for absolute positions from the equation of A_kl, which never sees a vector p."""
    if model.relative:
        return attention_matrix(model, flow_parameters(model, start, supervision, [time], decay)[-1])
    return flow_gram(start["p"] @ start["p"].T, supervision, [time], decay)[-1], supervision.theta


def tilted_start(setting: Setting, seed: int) -> tuple[Model, Params, Supervision]:
    """A random start, with v tilted towards theta where it is trained.

    A random v has next to no component along theta, and whether it turns to theta or to -theta is then decided by the
    noise of the samples: both are perfect fits, but they are not the same run. A tilt settles the sign beforehand.
    """
    model, start, supervision = begin(RING, setting, seed)
    return model, ({**start, "v": (start["v"] + supervision.theta) / 2} if model.relative else start), supervision


def _setting_rows(setting: Setting, seeds: tuple[int, ...]) -> Iterator[Row]:
    descent = SCHEDULES[setting]
    half = Descent(descent.step / 2, descent.steps * 2, descent.decay)
    orders: list[float] = []
    flow_losses: list[float] = []
    step_gaps: list[float] = []
    sampled_gaps: list[float] = []
    ratios: list[float] = []
    for seed in seeds:
        model, start, supervision = tilted_start(setting, seed)
        flow = flow_weights(model, start, supervision, descent.time, DECAY)
        coarse, fine = (
            attention_matrix(model, descend(model, start, supervision, walk).params) for walk in (descent, half)
        )
        orders.append(_distance(coarse, flow) / _distance(fine, flow))
        flow_losses.append(_loss(flow, supervision))
        step_gaps.append(4 * abs(_loss(coarse, supervision) - _loss(fine, supervision)))
        for repeat in range(REPEATS):
            small, large = (_sampled(model, start, setting, supervision, batch, seed, repeat) for batch in BATCHES)
            ratios.append(float(np.log(_distance(small, coarse) / _distance(large, coarse))))
            sampled_gaps.append(_loss(large, supervision) - flow_losses[-1])
    yield Row(
        f"agree-{setting.name}-flow",
        f"{setting.title}: halving the step halves the distance between descent and the flow (ratio)",
        2.0,
        float(np.mean(orders)),
        around(2.0, 0.1),
        "derived: next order in the step",
        seeds,
    )
    ratio, spread = float(np.sqrt(max(BATCHES) / min(BATCHES))), sampling_error(ratios)
    yield Row(
        f"agree-{setting.name}-samples",
        f"{setting.title}: batches 4 times larger halve the distance between sampled and expected descent (ratio)",
        ratio,
        float(np.exp(np.mean(ratios))),
        (ratio * float(np.exp(-spread)), ratio * float(np.exp(spread))),
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
        "sampling: spread over runs, and four times the change of expected descent on halving the step",
        seeds,
    )


def _sampled(
    model: Model, start: Params, setting: Setting, supervision: Supervision, batch: int, seed: int, repeat: int
) -> tuple[Array, Array]:
    rng = generator(seed, f"samples {setting.name} {batch} {repeat}")
    run = descend_on_samples(model, start, RING, setting, supervision, SCHEDULES[setting], batch, rng)
    return attention_matrix(model, run.params)


def _distance(one: tuple[Array, Array], other: tuple[Array, Array]) -> float:
    """Frobenius distance of the two functions: of the arrays M[i, r] v[e], not of their parameters."""
    return float(np.linalg.norm(np.multiply.outer(*one) - np.multiply.outer(*other)))


def _loss(weights: tuple[Array, Array], supervision: Supervision) -> float:
    return float(test_loss(RING, *weights, supervision.theta).mean())
