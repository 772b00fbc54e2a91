"""Absolute positions and every circular shift: what is conserved, and what it costs (second part)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from digitwise.theory import predictions
from digitwise.theory.descent import Descent, descend
from digitwise.theory.experiments import (
    DECAY,
    FIVE_NEIGHBOURS,
    ONE_NEIGHBOUR,
    Trained,
    begin,
    experiment,
    schedule,
    train,
)
from digitwise.theory.flow import flow_gram, flow_lags, invariant_spectrum, invariant_vectors, lags_of_spectrum
from digitwise.theory.ring import (
    APE_SHIFTS,
    Array,
    Ring,
    circulant,
    generator,
    pair_counts,
    supervised_outputs,
    test_loss,
)
from digitwise.theory.rows import SPREAD, Row, around, sampling_error

# w = 0, beta = 0 (Case 1 of the proof): each sequence shows one token, and the task is to repeat it times alpha.
SINGLE = Ring(n=51, n_1=1, d=200, alpha=2.0, beta=())
FIT = Descent(step=0.02, steps=120)  # time 2.4: the logistic curve has closed its gap by exp(-8 alpha 2.4)


def rows(seeds: Sequence[int]) -> Iterator[Row]:
    """The rows of the second part."""
    yield from _single_rows(tuple(seeds))
    yield from _invariant_rows(tuple(seeds))
    yield from _scaling_rows(tuple(seeds))
    yield from _experiment_rows(tuple(seeds))


def _single_rows(seeds: tuple[int, ...]) -> Iterator[Row]:
    runs = [train(SINGLE, APE_SHIFTS, seed, FIT) for seed in seeds]
    expected = predictions.shifts_test_loss(SINGLE)
    error = SPREAD * predictions.shifts_test_loss_deviation(SINGLE) / np.sqrt(len(seeds))
    yield Row(
        "theory-ape-shifts",
        "APE with every shift, w = 0, beta = 0: the loss with tokens everywhere is alpha^2 (n - 1) / d",
        expected,
        float(np.mean([run.test_loss.mean() for run in runs])),
        around(expected, float(error)),
        "sampling: exact standard deviation of the mean squared cosine of n random directions",
        seeds,
        claim=True,
    )
    yield Row(
        "shifts-diagonal",
        "p_i . p_i goes to alpha (largest departure over positions)",
        0.0,
        float(max(np.abs(np.diag(run.weights[0]) - SINGLE.alpha).max() for run in runs)),
        (0.0, 1e-9),
        "derived: the gap closes as exp(-8 alpha t)",
        seeds,
    )
    yield Row(
        "shifts-cosines",
        "every p_k only changes its length: largest change of a cosine between two of them",
        0.0,
        max(float(np.abs(_cosines(run.start["p"]) - _cosines(run.run.params["p"])).max()) for run in runs),
        (0.0, 1e-12),
        "derived: rounding",
        seeds,
    )
    decayed = [train(SINGLE, APE_SHIFTS, seed, Descent(0.02, 120, DECAY)) for seed in seeds]
    left = (SINGLE.alpha - DECAY / 4) / SINGLE.alpha
    ratio = [_off_diagonal(b) / _off_diagonal(a) for a, b in zip(runs, decayed, strict=True)]
    yield Row(
        "shifts-decay-no-help",
        "weight decay does not remove what is left: it scales all inner products alike, by 1 - epsilon / (4 alpha)",
        left,
        float(np.mean(ratio)),
        around(left, 1e-9),
        "derived: the gap closes as exp(-8 alpha t)",
        seeds,
    )


def _invariant_rows(seeds: tuple[int, ...]) -> Iterator[Row]:
    """From a start whose inner products depend on the distance only (eq. initialization)."""
    halfway = 0.1
    gaps: list[float] = []
    allowed: list[float] = []
    kept: list[float] = []
    for seed in seeds:
        rng = generator(seed, "invariant start")
        vectors = invariant_vectors(SINGLE, invariant_spectrum(SINGLE, rng), rng)
        model, start, supervision = begin(SINGLE, APE_SHIFTS, seed)
        start = {**start, "p": vectors}
        first = float(vectors[0] @ vectors[0])
        coarse, fine = (
            descend(model, start, supervision, Descent(halfway / steps, steps)).params["p"] for steps in (100, 200)
        )
        gaps.append(float(fine[0] @ fine[0]) - float(predictions.logistic(SINGLE, first, np.array([halfway]))[0]))
        allowed.append(2 * abs(float(coarse[0] @ coarse[0] - fine[0] @ fine[0])))
        before, after = vectors @ vectors[0] / first, fine @ fine[0] / float(fine[0] @ fine[0])
        kept.append(float(np.abs(before - after).max()))
    yield Row(
        "shifts-logistic",
        "A_0(t) is logistic: departure of descent from alpha / (1 + (alpha / A_0(0) - 1) exp(-8 alpha t)) at t = 0.1",
        0.0,
        float(np.mean(gaps)),
        around(0.0, float(np.mean(allowed))),
        "derived: twice the change on halving the step",
        seeds,
    )
    yield Row(
        "shifts-ratio",
        "A_j / A_0 is conserved: largest change over all j on the way",
        0.0,
        max(kept),
        (0.0, 1e-12),
        "derived: rounding",
        seeds,
    )
    losses = []
    counts, target = pair_counts(SINGLE, shifts=True)[0], SINGLE.lag_target
    for seed in seeds:
        for repeat in range(20):
            lags = lags_of_spectrum(invariant_spectrum(SINGLE, generator(seed, f"spectrum {repeat}")))
            last = flow_lags(lags, counts, target, [3.0])[-1]
            losses.append(float(np.sum((last - target) ** 2)))
    expected = predictions.shifts_test_loss(SINGLE, invariant=True)
    yield Row(
        "shifts-invariant-loss",
        "the same from translation-invariant starts (20 for each seed, by the flow of A_j): alpha^2 (n - 1) / (d + 2)",
        expected,
        float(np.mean(losses)),
        around(expected, sampling_error(losses)),
        "sampling: spread over the starts",
        seeds,
    )
    ring = Ring(n=31, n_1=7, d=62)
    asymmetry, difference = [], []
    for seed in seeds:
        rng = generator(seed, "invariant window")
        spectrum = invariant_spectrum(ring, rng)
        model, start, supervision = begin(ring, APE_SHIFTS, seed)
        start = {**start, "p": invariant_vectors(ring, spectrum, rng)}
        run = descend(model, start, supervision, Descent(0.002, 150))
        gram = run.params["p"] @ run.params["p"].T
        asymmetry.append(float(np.abs(gram - circulant(gram[:, 0])).max()))
        by_lags = flow_lags(lags_of_spectrum(spectrum), supervision.counts[0], ring.lag_target, [0.3])[-1]
        by_pairs = flow_gram(start["p"] @ start["p"].T, supervision, [0.3])[-1]
        difference.append(float(np.abs(by_pairs - circulant(by_lags)).max()))
    yield Row(
        "shifts-lemma",
        "lemma: a translation-invariant start stays so (n_1 7, beta 0.5): largest departure of P P' from a circulant",
        0.0,
        max(asymmetry),
        (0.0, 1e-9),
        "derived: rounding",
        seeds,
    )
    yield Row(
        "shifts-two-flows",
        "the appendix's equations for A_j and for A_kl agree on such a start",
        0.0,
        max(difference),
        (0.0, 1e-6),
        "derived: tolerance of the integrator",
        seeds,
    )


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


def _off_diagonal(run: Trained) -> float:
    matrix = run.weights[0]
    return float(np.linalg.norm(matrix - np.diag(np.diag(matrix))))


def _cosines(vectors: Array) -> Array:
    directions = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(directions @ directions.T)
