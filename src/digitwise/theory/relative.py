"""Relative positions: every lag is taught by many pairs, and the rest decays (third part of the proposition)."""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.optimize import brentq

from digitwise.theory.attention import FactoredRelative, check_decay
from digitwise.theory.descent import DECAY, Descent, Trained, experiment, train
from digitwise.theory.ring import M1, M5, OTHER_WEIGHTS, RPE, Array, Ring, supervise
from digitwise.theory.rows import SPREAD, Row, mean, near, zero


def limit_lags(ring: Ring, decay: float = 0.0, factors: int = 3) -> Array:
    """[n]: where <v, theta> a_k ends: the target on every lag that some window contains, zero elsewhere.

    With decay on all `factors` of the product a_k v (p, u, v: 3; all matrices: 6) their squared norms become one
    number q. A lag with the share pi_k of p then solves 2 c_k (g pi_k - b_k) g + decay pi_k = 0, where
    g = q^((factors - 1) / 2) is the norm of all the others, and q solves sum pi_k^2 = q.
    """
    check_decay(decay)
    counts = supervise(ring, RPE, np.ones(1)).counts
    b = np.where(counts > 0, ring.lag_target, 0.0)
    if decay == 0:
        return b

    def gain(q: float) -> float:
        return float(q ** ((factors - 1) / 2))

    def shares(q: float) -> Array:
        return np.asarray(2 * counts * b * gain(q) / (2 * counts * gain(q) ** 2 + decay))

    # The largest root is the stable one; it lies below the norm of the undecayed problem.
    top = balanced_norm(ring, factors)
    if np.sum(shares(top / 2) ** 2) <= top / 2:
        raise ValueError(f"decay = {decay:g} is too strong for this target: it would keep the weights at zero")
    q = float(brentq(lambda q: float(np.sum(shares(q) ** 2)) - q, top / 2, top))
    return shares(q) * gain(q)


def balanced_norm(ring: Ring, factors: int = 3) -> float:
    """q = |u|^2 = |v|^2 = sum |p_k|^2 at a perfect fit with equal norms: the `factors` of them multiply to |b|."""
    return float(ring.variance ** (1 / factors))


def scalar_updates(ring: Ring, first: Array, descent: Descent) -> Array:
    """[n]: the paper's scalar updates a_k <- a_k - 2 eta c_k (a_k - b_k) - eta decay a_k after all steps, solved."""
    counts = supervise(ring, RPE, np.ones(1)).counts
    rate = 2 * counts + descent.decay
    end = np.divide(2 * counts * ring.lag_target, rate, out=first.copy(), where=rate > 0)
    return np.asarray(end + (first - end) * (1 - descent.step * rate) ** descent.steps)


def unlearned_bound(trained: Trained, factors: int = 3) -> float:
    """The loss of the lags outside every window, |P_unseen u|^2 |v|^2 with norms in balance (1 % off at most).

    A full model puts W_K' W_Q between p and u and W_V before h: `factors` is 6 then.
    """
    unseen = trained.start["p"][trained.supervision.counts == 0]
    decayed = trained.descent.remaining * float(np.linalg.norm(unseen, 2))
    return 1.01 * decayed**2 * balanced_norm(trained.ring, factors) ** (factors - 1)


def shift_bound(trained: Trained, factors: int = 3) -> float:
    """The loss of the lags inside a window, which decay keeps a little below their target (10 % off at most)."""
    shift = limit_lags(trained.ring, trained.descent.decay, factors) - trained.ring.lag_target
    return 1.1 * float(np.sum(shift**2))


def learned_lags(trained: Trained, before: bool = False) -> Array:
    """[n]: <v, theta> a_k after training, or before."""
    e, v = trained.model.effective(trained.start if before else trained.run.params)
    return np.asarray(e * float(v @ trained.theta))


def rows(seeds: Sequence[int]) -> Iterator[Row]:
    """The paper's two experiments: the loss, every lag, and v."""
    ring, runs = M1, [experiment(M1, RPE, seed) for seed in seeds]
    decayed = limit_lags(ring, DECAY)
    shrink = np.abs(decayed - ring.lag_target)
    unlearned = max(unlearned_bound(run) for run in runs)
    # Norms of p, u and v become equal at the rate of the decay; until then lags are off by about this share of it.
    imbalance = runs[0].descent.remaining ** 2
    bound = max(shift_bound(run) for run in runs) + unlearned
    why = "derived: lags outside every window still decaying, and the shift by decay"
    yield Row(
        "theory-rpe",
        "RPE: the loss at every position, seen or not, is 0 (largest over positions)",
        *zero(mean(run.test_loss.max() for run in runs), bound, why),
        claim=True,
    )
    lags = np.mean([learned_lags(run) for run in runs], axis=0)
    yield Row(
        "rpe-lag-0",
        "<v, theta> a_0 goes to alpha",
        *near(ring.alpha, lags[0], 1.1 * shrink[0] + imbalance, "derived: shift by decay"),
    )
    yield Row(
        "rpe-lag-1",
        "<v, theta> a_1 and <v, theta> a_-1 go to beta",
        *near(ring.beta[0], (lags[1] + lags[-1]) / 2, 1.1 * shrink[1] + imbalance, "derived: shift by decay"),
    )
    balance = "derived: the balance is reached at the rate of the decay"
    yield Row(
        "rpe-lag-0-decay",
        "with the epsilon of the run: the value at which p, u and v balance against it",
        *near(decayed[0], lags[0], imbalance, balance),
    )
    others = max(np.abs(learned_lags(run)[2:-1]).max() for run in runs)
    yield Row(
        "rpe-other-lags",
        "all other a_k go to 0 (largest over lags and seeds)",
        *zero(others, np.sqrt(unlearned), "derived: lags outside every window still decaying"),
    )
    cosines = [abs(run.weights[1] @ run.theta) / np.linalg.norm(run.weights[1]) for run in runs]
    yield Row(
        "rpe-v-aligns",
        "v turns to the line of theta, up to its sign, which the a_k share (smallest cosine, by magnitude)",
        *near(1.0, min(cosines), 1e-9, "derived: what is orthogonal decays at the rate 2 sum c_k a_k^2"),
    )
    floor = np.sum(runs[0].supervision.counts * shrink**2) / ring.n_1
    yield Row(
        "rpe-training-loss",
        "training loss of one output goes to 0, up to the shift by decay",
        *near(floor, mean(run.training_loss for run in runs), 0.01 * imbalance, balance),
    )
    five, five_runs = M5, [experiment(M5, RPE, seed) for seed in seeds]
    errors = max(np.abs(learned_lags(run) - five.lag_target).max() for run in five_runs)
    bound = 1.1 * np.abs(limit_lags(five, DECAY) - five.lag_target).max()
    bound += np.sqrt(max(unlearned_bound(run) for run in five_runs))
    yield Row(
        "rpe-m5",
        "m = 5: <v, theta> a_k goes to beta_k for k to 5 and to 0 beyond (largest error over lags and seeds)",
        *zero(errors, bound, "derived: shift by decay, lags outside every window still decaying"),
    )


def variation_rows(seeds: Sequence[int]) -> Iterator[Row]:
    """With u and v fixed as in the proof, without decay, and with a target that P P' cannot fit."""
    ring, short = M1, Descent(step=0.01, steps=300, decay=DECAY)
    gaps = []
    for seed in seeds:
        run = train(ring, RPE, seed, short, FactoredRelative(frozen=("u", "v")))
        first, last = run.start["p"] @ run.start["u"], run.run.params["p"] @ run.start["u"]
        gaps.append(np.abs(last - scalar_updates(ring, first, short)).max())
    yield Row(
        "rpe-scalars",
        "with v = theta and |u| = 1 fixed, the proof's updates of a_k: largest departure from their closed form",
        *zero(max(gaps), 1e-12, "derived: rounding"),
    )
    bare = [train(ring, RPE, seed, Descent(step=0.005, steps=3000)) for seed in seeds]
    unseen = int(np.sum(bare[0].supervision.counts == 0))
    sizes = [float((u @ u) * (v @ v)) / ring.d for u, v in ((r.run.params["u"], r.run.params["v"]) for r in bare)]
    # A sum of squares of Gaussians, |u| and |v| given, has the variance 2 unseen size^2.
    error = SPREAD * float(np.sqrt(sum(2 * unseen * size**2 for size in sizes))) / len(seeds)
    why = "sampling: the unseen p_k are Gaussian and independent of what u and v become"
    yield Row(
        "rpe-no-decay",
        "no decay: untaught lags keep their first p_k, loss (n - 2 n_1 + 1) |u|^2 |v|^2 / d "
        "with u and v as trained, not 0",
        *near(mean(unseen * size for size in sizes), mean(run.test_loss.mean() for run in bare), error, why),
    )
    indefinite = Ring(n=21, n_1=7, d=42, alpha=1.0, beta=(1.0,))
    fits = [train(indefinite, RPE, seed, Descent(step=0.01, steps=3000)) for seed in seeds]
    yield Row(
        "psd-rpe",
        "RPE fits any weights: training loss 0 also for alpha 1, beta 1, where APE stops",
        *zero(mean(run.training_loss for run in fits), 1e-9, "derived: finite time"),
    )


def other_rows(seeds: Sequence[int]) -> Iterator[Row]:
    """The third part with other alpha and beta."""
    runs = [experiment(ring, RPE, seed) for ring in OTHER_WEIGHTS for seed in seeds]
    shares = [run.test_loss.max() / run.ring.variance for run in runs]
    allowed = [(shift_bound(run) + unlearned_bound(run)) / run.ring.variance for run in runs]
    yield Row(
        "other-rpe",
        "the same for RPE: loss over alpha^2 + 2 beta^2 (largest)",
        *zero(max(shares), max(allowed), "derived: finite time and decay"),
    )
