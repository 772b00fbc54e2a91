"""Relative positions: every lag is taught by many pairs, and the rest decays (third part)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from digitwise.theory import predictions
from digitwise.theory.attention import FactoredRelative
from digitwise.theory.descent import Descent
from digitwise.theory.experiments import (
    DECAY,
    FIVE_NEIGHBOURS,
    ONE_NEIGHBOUR,
    Trained,
    experiment,
    shift_bound,
    train,
    unlearned_bound,
)
from digitwise.theory.ring import RPE, Array, Ring, supervised_outputs
from digitwise.theory.rows import Row, around


def rows(seeds: Sequence[int]) -> Iterator[Row]:
    """The rows of the third part."""
    yield from _experiment_rows(tuple(seeds))
    yield from _other_rows(tuple(seeds))


def _experiment_rows(seeds: tuple[int, ...]) -> Iterator[Row]:
    ring, runs = ONE_NEIGHBOUR, [experiment(ONE_NEIGHBOUR, RPE, seed) for seed in seeds]
    decayed = predictions.rpe_lags(ring, DECAY)
    shrink = np.abs(decayed - ring.lag_target)
    unlearned = max(unlearned_bound(run) for run in runs)
    # Norms of p, u and v become equal at the rate of the decay; until then lags are off by about this share of it.
    imbalance = predictions.remaining(runs[0].descent) ** 2
    yield Row(
        "theory-rpe",
        "RPE: the loss at every position, seen or not, is 0 (largest over positions)",
        0.0,
        float(np.mean([run.test_loss.max() for run in runs])),
        (0.0, max(shift_bound(run) for run in runs) + unlearned),
        "derived: lags outside every window still decaying, and the shift by decay",
        seeds,
        claim=True,
    )
    lags = np.mean([_lags(run) for run in runs], axis=0)
    yield Row(
        "rpe-lag-0",
        "<v, theta> a_0 goes to alpha",
        ring.alpha,
        float(lags[0]),
        around(ring.alpha, 1.1 * float(shrink[0]) + imbalance),
        "derived: shift by decay",
        seeds,
    )
    yield Row(
        "rpe-lag-1",
        "<v, theta> a_1 and <v, theta> a_-1 go to beta",
        ring.beta[0],
        float((lags[1] + lags[-1]) / 2),
        around(ring.beta[0], 1.1 * float(shrink[1]) + imbalance),
        "derived: shift by decay",
        seeds,
    )
    yield Row(
        "rpe-lag-0-decay",
        "with the epsilon of the run: the value at which p, u and v balance against it",
        float(decayed[0]),
        float(lags[0]),
        around(float(decayed[0]), imbalance),
        "derived: the balance is reached at the rate of the decay",
        seeds,
    )
    others = [np.abs(_lags(run)[2:-1]).max() for run in runs]
    yield Row(
        "rpe-other-lags",
        "all other a_k go to 0 (largest over lags and seeds)",
        0.0,
        float(np.max(others)),
        (0.0, float(np.sqrt(unlearned))),
        "derived: lags outside every window still decaying",
        seeds,
    )
    cosines = [abs(run.weights[1] @ run.theta) / np.linalg.norm(run.weights[1]) for run in runs]
    yield Row(
        "rpe-v-aligns",
        "v turns to the line of theta, up to its sign, which the a_k share (smallest cosine, by magnitude)",
        1.0,
        float(np.min(cosines)),
        (1 - 1e-9, 1 + 1e-9),
        "derived: what is orthogonal decays at the rate 2 sum c_k a_k^2",
        seeds,
    )
    yield Row(
        "rpe-training-loss",
        "training loss of one output goes to 0, up to the shift by decay",
        float(np.sum(runs[0].supervision.counts * shrink**2)) / ring.n_1,
        float(np.mean([run.run.losses[-1] for run in runs])) / supervised_outputs(ring, RPE),
        around(float(np.sum(runs[0].supervision.counts * shrink**2)) / ring.n_1, 0.01 * imbalance),
        "derived: the balance is reached at the rate of the decay",
        seeds,
    )
    five = [experiment(FIVE_NEIGHBOURS, RPE, seed) for seed in seeds]
    errors = [np.abs(_lags(run) - FIVE_NEIGHBOURS.lag_target).max() for run in five]
    five_shrink = float(np.abs(predictions.rpe_lags(FIVE_NEIGHBOURS, DECAY) - FIVE_NEIGHBOURS.lag_target).max())
    yield Row(
        "rpe-m5",
        "m = 5: <v, theta> a_k goes to beta_k for k to 5 and to 0 beyond (largest error over lags and seeds)",
        0.0,
        float(np.max(errors)),
        (0.0, 1.1 * five_shrink + float(np.sqrt(max(unlearned_bound(run) for run in five)))),
        "derived: shift by decay, lags outside every window still decaying",
        seeds,
    )


def _other_rows(seeds: tuple[int, ...]) -> Iterator[Row]:
    ring = ONE_NEIGHBOUR
    plain = Descent(step=0.01, steps=300, decay=DECAY)
    scalars = [train(ring, RPE, seed, plain, FactoredRelative(frozen=("u", "v"))) for seed in seeds]
    gaps = [
        np.abs(
            run.run.params["p"] @ run.start["u"] - predictions.rpe_scalars(ring, run.start["p"] @ run.start["u"], plain)
        ).max()
        for run in scalars
    ]
    yield Row(
        "rpe-scalars",
        "with v = theta and |u| = 1 fixed, the proof's updates of a_k: largest departure from their closed form",
        0.0,
        float(np.max(gaps)),
        (0.0, 1e-12),
        "derived: rounding",
        seeds,
    )
    bare = [train(ring, RPE, seed, Descent(step=0.005, steps=3000)) for seed in seeds]
    unseen = int(np.sum(bare[0].supervision.counts == 0))
    expected, variance = [], 0.0
    for run in bare:
        params = run.run.params
        size = float((params["u"] @ params["u"]) * (params["v"] @ params["v"])) / ring.d
        expected.append(unseen * size)
        variance += 2 * unseen * size**2  # a sum of squares of Gaussians, |u| and |v| given
    error = 3.29 * float(np.sqrt(variance)) / len(seeds)
    yield Row(
        "rpe-no-decay",
        "no decay: untaught lags keep their first p_k, loss (n - 2 n_1 + 1) |u|^2 |v|^2 / d "
        "with u and v as trained, not 0",
        float(np.mean(expected)),
        float(np.mean([run.test_loss.mean() for run in bare])),
        around(float(np.mean(expected)), error),
        "sampling: the unseen p_k are Gaussian and independent of what u and v become",
        seeds,
    )
    indefinite = Ring(n=21, n_1=7, d=42, alpha=1.0, beta=(1.0,))
    fits = [train(indefinite, RPE, seed, Descent(step=0.01, steps=3000)) for seed in seeds]
    yield Row(
        "psd-rpe",
        "RPE fits any weights: training loss 0 also for alpha 1, beta 1, where APE stops",
        0.0,
        float(np.mean([run.run.losses[-1] for run in fits])) / indefinite.n_1,
        (0.0, 1e-9),
        "derived: finite time",
        seeds,
    )


def _lags(run: Trained) -> Array:
    """<v, theta> a_k."""
    e, v = run.model.effective(run.run.params)
    return np.asarray(e * float(v @ run.theta))
