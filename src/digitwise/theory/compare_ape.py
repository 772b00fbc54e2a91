"""Absolute positions and one window: what is learned inside, and what is left outside (first part)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from digitwise.theory import predictions
from digitwise.theory.attention import FactoredAbsolute
from digitwise.theory.descent import Descent, descend
from digitwise.theory.experiments import (
    DECAY,
    FIVE_NEIGHBOURS,
    ONE_NEIGHBOUR,
    begin,
    experiment,
    seen_bound,
    train,
    unseen_bound,
)
from digitwise.theory.flow import invariant_spectrum, invariant_vectors
from digitwise.theory.ring import APE, APE_SHIFTS, Ring, generator, supervised_outputs
from digitwise.theory.rows import Row, around, sampling_error


def rows(seeds: Sequence[int]) -> Iterator[Row]:
    """The rows of the first part."""
    yield from _experiment_rows(tuple(seeds))
    yield from _decay_rows(tuple(seeds))
    yield from _psd_rows(tuple(seeds))


def _experiment_rows(seeds: tuple[int, ...]) -> Iterator[Row]:
    ring, runs = ONE_NEIGHBOUR, [experiment(ONE_NEIGHBOUR, APE, seed) for seed in seeds]
    loss = np.mean([run.test_loss for run in runs], axis=0)
    outside = max(unseen_bound(run) for run in runs)
    inside = max(seen_bound(run) for run in runs)
    predicted = predictions.ape_test_loss(ring)
    yield Row(
        "theory-ape",
        "APE: mean loss of the positions outside [n_1] is alpha^2 + 2 beta^2, that of always answering 0",
        ring.variance,
        float(loss[ring.n_1 :].mean()),
        around(ring.variance, outside),
        "derived: the unseen vectors are still exp(-6) of their first length",
        seeds,
        claim=True,
    )
    shrunk = [
        np.linalg.norm(run.run.params["p"][ring.n_1 :]) / np.linalg.norm(run.start["p"][ring.n_1 :]) for run in runs
    ]
    left = predictions.remaining(runs[0].descent)
    yield Row(
        "ape-vectors",
        "length of p_k outside [n_1] relative to its first: shrunk by decay alone, (1 - eta epsilon)^steps",
        left,
        float(np.mean(shrunk)),
        around(left, 1e-9),
        "derived: rounding",
        seeds,
    )
    yield Row(
        "ape-edges",
        "positions 1 and n_1 each miss one neighbour that was always padding: loss beta^2",
        float(predicted[0]),
        float(loss[[0, ring.n_1 - 1]].mean()),
        around(float(predicted[0]), inside),
        "derived: finite time and decay",
        seeds,
    )
    yield Row(
        "ape-interior",
        "positions 2 to n_1 - 1 have all their neighbours in the window: loss 0",
        0.0,
        float(loss[1 : ring.n_1 - 1].max()),
        (0.0, inside),
        "derived: finite time and decay",
        seeds,
    )
    yield Row(
        "ape-beside-window",
        "positions n_1 + 1 and n have a neighbour in the window and still lose all of alpha^2 + 2 beta^2",
        ring.variance,
        float(loss[[ring.n_1, ring.n - 1]].mean()),
        around(ring.variance, outside),
        "derived: finite time and decay",
        seeds,
    )
    padded = [
        np.sum((run.weights[0] - ring.target)[[ring.n_1, ring.n - 1], : ring.n_1] ** 2, axis=1).mean() for run in runs
    ]
    yield Row(
        "ape-beside-window-padded",
        "the same two on padded training sequences: a target of beta s that nobody supervises, answered by 0",
        float(predictions.ape_padded_loss(ring)[ring.n_1]),
        float(np.mean(padded)),
        around(float(predictions.ape_padded_loss(ring)[ring.n_1]), outside),
        "derived: finite time and decay",
        seeds,
    )
    five = [experiment(FIVE_NEIGHBOURS, APE, seed) for seed in seeds]
    profile = np.mean([run.test_loss for run in five], axis=0) - predictions.ape_test_loss(FIVE_NEIGHBOURS)
    yield Row(
        "ape-m5",
        "m = 5: mean loss outside [n_1] is alpha^2 + 2 sum beta_m^2",
        FIVE_NEIGHBOURS.variance,
        float(np.mean([run.test_loss[FIVE_NEIGHBOURS.n_1 :].mean() for run in five])),
        around(FIVE_NEIGHBOURS.variance, max(unseen_bound(run) for run in five)),
        "derived: finite time and decay",
        seeds,
    )
    yield Row(
        "ape-m5-profile",
        "m = 5: largest departure, over all n positions, from the predicted loss (five steps at either edge)",
        0.0,
        float(np.abs(profile).max()),
        (0.0, max(max(unseen_bound(run), seen_bound(run)) for run in five)),
        "derived: finite time and decay",
        seeds,
    )


def _decay_rows(seeds: tuple[int, ...]) -> Iterator[Row]:
    ring, runs = ONE_NEIGHBOUR, [experiment(ONE_NEIGHBOUR, APE, seed) for seed in seeds]
    short = ring.alpha - DECAY / 4
    yield Row(
        "ape-decay-diagonal",
        "weight decay epsilon takes epsilon / 4 off every eigenvalue in the window: p_i . p_i = alpha - epsilon / 4",
        short,
        float(np.mean([np.diag(run.weights[0])[: ring.n_1].mean() for run in runs])),
        around(short, 1e-6),
        "derived: the fit converges as exp(-8 t)",
        seeds,
    )
    floor = predictions.training_floor_of_decay(ring, DECAY, shifts=False)
    yield Row(
        "ape-training-loss",
        "training loss of one output goes to 0, up to (epsilon / 4)^2 from decay",
        floor,
        float(np.mean([run.run.losses[-1] for run in runs])) / supervised_outputs(ring, APE),
        around(floor, 1e-6 * floor),
        "derived: the fit converges as exp(-8 t)",
        seeds,
    )
    # Without decay the failure only changes its size. Positions beside the window have a neighbour of another kind.
    bare = [train(ring, APE, seed, Descent(step=0.03, steps=200)).test_loss[ring.n_1 + 1 : -1] for seed in seeds]
    expected = predictions.ape_undecayed_loss(ring)
    yield Row(
        "ape-no-decay",
        "no decay: unseen vectors stay as they began, loss (1 - alpha)^2 + 2 beta^2 + (n - n_1 + 1 + n_1 alpha) / d",
        expected,
        float(np.mean(bare)),
        around(expected, sampling_error(np.ravel(bare))),
        "sampling: spread over positions and seeds",
        seeds,
    )
    free = [
        train(ring, APE, seed, Descent(step=0.02, steps=3000, decay=DECAY), FactoredAbsolute(frozen=()))
        for seed in seeds
    ]
    # Decay balances |P|^2 = 2 |v|^2 (P enters twice); a fit has |v| |P|^2 = n_1 alpha, which gives |v|.
    readout = (ring.n_1 * ring.alpha / 2) ** (1 / 3)
    yield Row(
        "ape-v-free",
        "v trained from a random start instead of fixed at theta: the same loss outside [n_1]",
        ring.variance,
        float(np.mean([run.test_loss[ring.n_1 :].mean() for run in free])),
        around(ring.variance, max(unseen_bound(run, readout) for run in free)),
        "derived: finite time and decay",
        seeds,
    )
    cosines = [run.weights[1] @ run.theta / np.linalg.norm(run.weights[1]) for run in free]
    yield Row(
        "ape-v-aligns",
        "and v turns to theta: smallest cosine over seeds",
        1.0,
        float(np.min(cosines)),
        (1 - 1e-6, 1 + 1e-12),
        "derived: what is orthogonal decays at the rate 2 sum C A^2 of the fit, and faster than epsilon",
        seeds,
    )


def _psd_rows(seeds: tuple[int, ...]) -> Iterator[Row]:
    """P P' is positive semidefinite. A target that is not (beta well above alpha / 2) leaves a training loss."""
    fits, misses = Ring(n=21, n_1=7, d=42, alpha=2.0, beta=(0.9,)), Ring(n=21, n_1=7, d=42, alpha=1.0, beta=(1.0,))
    for setting, descent in ((APE, Descent(0.02, 2000)), (APE_SHIFTS, Descent(0.003, 2000))):
        runs = [train(fits, setting, seed, descent) for seed in seeds]
        yield Row(
            f"psd-{setting.name}-inside",
            f"{setting.title}, alpha 2, beta 0.9 (positive semidefinite target): training loss 0",
            0.0,
            float(np.mean([run.run.losses[-1] for run in runs])) / supervised_outputs(fits, setting),
            (0.0, 1e-9),
            "derived: the fit converges exponentially, slowest rate 8 (alpha - 2 beta)",
            seeds,
        )
    floor = predictions.ape_training_floor(misses) / misses.n_1
    yield Row(
        "psd-ape-outside",
        "APE, alpha 1, beta 1: training loss stops at the target's negative eigenvalues, sum min(lambda, 0)^2 / n_1",
        floor,
        float(np.mean([train(misses, APE, s, Descent(0.02, 2000)).run.losses[-1] for s in seeds])) / misses.n_1,
        around(floor, 1e-6),
        "derived: the fit converges exponentially",
        seeds,
    )
    outputs, descent = supervised_outputs(misses, APE_SHIFTS), Descent(0.004, 5000)
    best, least = predictions.shifts_best_spectrum(misses)
    last, allowed = [], []
    for seed in seeds:
        rng = generator(seed, "invariant start")
        spectrum = invariant_spectrum(misses, rng)
        model, start, supervision = begin(misses, APE_SHIFTS, seed)
        start = {**start, "p": invariant_vectors(misses, spectrum, rng)}
        last.append(descend(model, start, supervision, descent).losses[-1] / outputs)
        allowed.append(predictions.shifts_excess(spectrum, best, descent.time) / outputs)
    yield Row(
        "psd-ape-shifts-outside",
        "APE + shifts, alpha 1, beta 1: training loss stops at the distance to the positive semidefinite matrices",
        least / outputs,
        float(np.mean(last)),
        (least / outputs, least / outputs + float(np.mean(allowed))),
        "derived: this fit converges only as 1 / t; the bound is the relative entropy to the best matrix over 4 t",
        seeds,
    )
