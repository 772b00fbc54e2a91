"""Absolute positions and every circular shift: what is conserved, and what it costs (second part)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from digitwise.theory import predictions
from digitwise.theory.descent import Descent, descend
from digitwise.theory.experiments import (
    DECAY,
    Trained,
    begin,
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
)
from digitwise.theory.rows import SPREAD, Row, around, sampling_error

# w = 0, beta = 0 (Case 1 of the proof): each sequence shows one token, and the task is to repeat it times alpha.
SINGLE = Ring(n=51, n_1=1, d=200, alpha=2.0, beta=())
FIT = Descent(step=0.02, steps=120)  # time 2.4: the logistic curve has closed its gap by exp(-8 alpha 2.4)


def rows(seeds: Sequence[int]) -> Iterator[Row]:
    """The rows of the second part."""
    yield from _single_rows(tuple(seeds))
    yield from _invariant_rows(tuple(seeds))


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


def _off_diagonal(run: Trained) -> float:
    matrix = run.weights[0]
    return float(np.linalg.norm(matrix - np.diag(np.diag(matrix))))


def _cosines(vectors: Array) -> Array:
    directions = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(directions @ directions.T)
