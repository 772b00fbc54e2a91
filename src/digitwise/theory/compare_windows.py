"""APE with shifts: how its loss scales, windows longer than the proof's, and the paper's two experiments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from digitwise.theory import predictions
from digitwise.theory.compare_shifts import FIT
from digitwise.theory.descent import Descent
from digitwise.theory.experiments import (
    DECAY,
    FIVE_NEIGHBOURS,
    ONE_NEIGHBOUR,
    Trained,
    experiment,
    schedule,
    train,
)
from digitwise.theory.flow import flow_gram
from digitwise.theory.ring import (
    APE_SHIFTS,
    Array,
    Ring,
    supervised_outputs,
    test_loss,
)
from digitwise.theory.rows import SPREAD, Row, around


def rows(seeds: Sequence[int]) -> Iterator[Row]:
    """The rows on scaling and on windows of more than one position."""
    yield from _scaling_rows(tuple(seeds))
    yield from _experiment_rows(tuple(seeds))


def _scaling_rows(seeds: tuple[int, ...]) -> Iterator[Row]:
    sizes = [(n, d) for n in (11, 21, 41, 61) for d in (50, 100, 200, 400)]
    x, y, weight = [], [], []
    for n, d in sizes:
        ring = Ring(n=n, n_1=1, d=d, alpha=2.0, beta=())
        for seed in seeds:
            x.append((n - 1) / d)
            y.append(float(train(ring, APE_SHIFTS, seed, FIT).test_loss.mean()) / ring.alpha**2)
            weight.append((ring.alpha**2 / predictions.shifts_test_loss_deviation(ring)) ** 2)
    xs, ys, ws = np.array(x), np.array(y), np.array(weight)
    yield Row(
        "shifts-scaling",
        "loss / alpha^2 against (n - 1) / d over 16 sizes, n 11 to 61 and d 50 to 400: slope of the line through 0",
        1.0,
        float(np.sum(ws * xs * ys) / np.sum(ws * xs**2)),
        around(1.0, SPREAD / float(np.sqrt(np.sum(ws * xs**2)))),
        "sampling: exact standard deviation of every point",
        seeds,
    )
    losses, dimensions, shortfalls = [], (100, 200, 400, 800), []
    deviation = 0.0
    for d in dimensions:
        ring = Ring(n=51, n_1=10, d=d, alpha=2.0, beta=(0.5,))
        losses.append([float(train(ring, APE_SHIFTS, s, Descent(0.003, 400)).test_loss.mean()) for s in seeds])
        shortfalls.append(np.log1p(predictions.shifts_next_order(ring)))
        deviation = predictions.shifts_test_loss_deviation(ring) / predictions.shifts_test_loss(ring)
    logs = np.log(dimensions) - np.mean(np.log(dimensions))
    slope = float(logs @ np.log(np.mean(losses, axis=1)) / (logs @ logs))
    error = SPREAD * deviation / float(np.sqrt(len(seeds) * (logs @ logs)))
    bend = float(logs @ np.array(shortfalls) / (logs @ logs))  # negative: small d lies above the leading order
    yield Row(
        "shifts-scaling-window",
        "beyond the proof, n_1 10 and beta 0.5: log loss against log d, d 100 to 800, slope",
        -1.0,
        slope,
        (-1.0 + bend - error, -1.0 + error),
        "sampling: leading-order standard deviation of every point; and the next order, (n_1 - 1) / d at most",
        seeds,
    )


def _experiment_rows(seeds: tuple[int, ...]) -> Iterator[Row]:
    wide = Ring(n=51, n_1=10, d=200, alpha=2.0, beta=())
    expected = predictions.shifts_test_loss(wide)
    error = SPREAD * predictions.shifts_test_loss_deviation(wide) / float(np.sqrt(len(seeds)))
    yield Row(
        "shifts-window",
        "beyond the proof, n_1 10, beta 0: only lags that fit no window stay random, alpha^2 (n - 2 n_1 + 1) / d",
        expected,
        float(np.mean([train(wide, APE_SHIFTS, seed, Descent(0.004, 300)).test_loss.mean() for seed in seeds])),
        (expected - error, expected * (1 + predictions.shifts_next_order(wide)) + error),
        "sampling: leading-order standard deviation; and the next order, (n_1 - 1) / d at most",
        seeds,
    )
    for name, ring in (("shifts-paper-m1", ONE_NEIGHBOUR), ("shifts-paper-m5", FIVE_NEIGHBOURS)):
        runs = [experiment(ring, APE_SHIFTS, seed) for seed in seeds]
        floor = predictions.training_floor_of_decay(ring, DECAY, shifts=True)
        yield Row(
            f"{name}-training",
            f"m = {ring.m}: training loss of one output goes to 0, up to (epsilon / (4 n_1))^2 from decay",
            floor,
            float(np.mean([run.run.losses[-1] for run in runs])) / supervised_outputs(ring, APE_SHIFTS),
            around(floor, 1e-5 * floor),
            "derived: finite time",
            seeds,
        )
        flows, walks, tolerances = zip(*(_three_losses(ring, seed) for seed in seeds), strict=True)
        yield Row(
            f"{name}-loss",
            f"m = {ring.m}: mean loss with tokens everywhere, descent against the flow of A_kl from the same start",
            float(np.mean(flows)),
            float(np.mean(walks)),
            around(float(np.mean(flows)), float(np.mean(tolerances))),
            "derived: twice the change of M on halving the step",
            seeds,
        )
        near = [np.abs(_seen_part(run)).max() for run in runs]
        yield Row(
            f"{name}-near",
            f"m = {ring.m}: inner products of positions that share a window are right (largest error off the diagonal)",
            0.0,
            float(np.max(near)),
            (0.0, 1e-4),
            "derived: finite time",
            seeds,
        )


def _three_losses(ring: Ring, seed: int) -> tuple[float, float, float]:
    """Test loss by the flow and by descent, and what the step can do to it; without decay.

    Descent at half the step is about as far from the flow as from descent at the full step (first order), which bounds
    the change of M; twice that, put through the loss |M - B|^2 / n, is the tolerance.
    """
    step = schedule(ring, APE_SHIFTS).step / 2
    coarse, fine = (train(ring, APE_SHIFTS, seed, Descent(step / k, round(4 / ring.n_1 / step) * k)) for k in (1, 2))
    gram = flow_gram(coarse.start["p"] @ coarse.start["p"].T, coarse.supervision, [coarse.descent.time])[-1]
    flow = float(test_loss(ring, gram, coarse.theta, coarse.theta).mean())
    change = 2 * float(np.linalg.norm(coarse.weights[0] - fine.weights[0]))
    return flow, float(fine.test_loss.mean()), (2 * np.sqrt(flow * ring.n) * change + change**2) / ring.n


def _seen_part(run: Trained) -> Array:
    seen = (run.supervision.counts > 0) & ~np.eye(run.ring.n, dtype=bool)
    return np.where(seen, run.weights[0] - run.ring.target, 0.0)
