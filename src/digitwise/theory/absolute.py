"""Absolute positions and one window: what is learned inside, and what is left outside (first part of the proposition).

Where the paper speaks of infinitesimal weight decay and unlimited time, predictions here and in the other settings also
cover the finite case, so that a comparison needs no generous tolerance. `decay` is the rate (0: the paper's limit).
"""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.optimize import nnls

from digitwise.theory.attention import FactoredAbsolute, check_decay
from digitwise.theory.descent import DECAY, Descent, Trained, experiment, train
from digitwise.theory.ring import APE, M1, M5, OTHER_WEIGHTS, Array, Ring, pair_counts
from digitwise.theory.rows import Row, mean, near, sampling_error, zero

FINITE = "derived: finite time and decay"


def limit_gram(ring: Ring, decay: float = 0.0) -> Array:
    """[n, n]: where A = P P' ends: the target inside the window, nothing outside.

    Inside, 4 (A - B) P + decay P = 0 subtracts decay / 4 from every eigenvalue of B and cuts at zero: P P' is positive
    semidefinite of rank d at most. Outside, no gradient ever arrives, and decay alone acts.
    """
    check_decay(decay)
    values, vectors = np.linalg.eigh(ring.target[: ring.n_1, : ring.n_1])
    kept = np.maximum(values - decay / 4, 0)
    kept[: max(0, ring.n_1 - ring.d)] = 0  # eigh sorts upwards: the d largest stay
    gram = np.zeros((ring.n, ring.n))
    gram[: ring.n_1, : ring.n_1] = (vectors * kept) @ vectors.T
    return gram


def limit_loss(ring: Ring, decay: float = 0.0) -> Array:
    """[n]: the loss at each position with tokens everywhere.

    Unseen positions lose alpha^2 + 2 sum beta^2, including the two next to the window, whose seen neighbour does not
    help. Positions within m of an edge lose beta^2 for every neighbour that was always padding.
    """
    return np.asarray(np.sum((limit_gram(ring, decay) - ring.target) ** 2, axis=1))


def padded_loss(ring: Ring) -> Array:
    """[n]: the loss on *training* sequences, supervised or not.

    Positions just outside the window still have a target there, made of their neighbours inside. The model answers 0.
    """
    return np.asarray(np.sum(((limit_gram(ring) - ring.target) ** 2)[:, : ring.n_1], axis=1))


def undecayed_loss(ring: Ring) -> float:
    """Expected loss, without decay, of a position away from the window.

    Unseen vectors keep their random first value, |p|^2 near 1. Terms: the position's own weight, other unseen
    positions, seen positions (|p|^2 = alpha), missed neighbours.
    """
    own = (1 - ring.alpha) ** 2 + 2 / ring.d
    return own + (ring.n - ring.n_1 - 1) / ring.d + ring.n_1 * ring.alpha / ring.d + (ring.variance - ring.alpha**2)


def floor_of_decay(ring: Ring, decay: float, shifts: bool) -> float:
    """Mean squared error of a supervised output that decay leaves: the diagonal ends decay / (4 windows) short."""
    return float((decay / (4 * pair_counts(ring, shifts)[0, 0])) ** 2)


def training_floor(ring: Ring) -> float:
    """The least summed training loss of P P' on one window: the squares of the eigenvalues that it cannot have."""
    window = np.s_[: ring.n_1, : ring.n_1]
    return float(np.sum((limit_gram(ring)[window] - ring.target[window]) ** 2))


def psd_threshold(n_1: int) -> float:
    """The largest beta / alpha (m = 1) at which one window can be fitted: 1 / (2 cos(pi / (n_1 + 1)))."""
    return float(1 / (2 * np.cos(np.pi / (n_1 + 1)))) if n_1 > 1 else float("inf")


def best_spectrum(ring: Ring) -> tuple[Array, float]:
    """The eigenvalues [n] of the best circulant A >= 0 for the loss over all shifts, and that least summed loss.

    The loss is convex in A and blind to rotations of the ring, so a circulant A is among the best. Its eigenvalues must
    not be negative: a non-negative least-squares problem of n // 2 + 1 unknowns. The loss is 0 exactly when the target
    can be completed, beyond the lags that windows contain, to a positive semidefinite matrix.
    """
    lags, modes = np.arange(ring.n), np.arange(ring.n // 2 + 1)
    alone = (modes == 0) | (2 * modes == ring.n)
    basis = np.cos(2 * np.pi * np.outer(lags, modes) / ring.n) * np.where(alone, 1, 2) / ring.n
    weight = np.sqrt(ring.n * pair_counts(ring, shifts=True)[0])
    half, residual = nnls(weight[:, None] * basis, weight * ring.lag_target)
    return half[np.minimum(lags, ring.n - lags)], float(residual**2)


def excess(first: Array, best: Array, time: float) -> float:
    """How far above the least loss the flow from an invariant start can still be: D / (4 time).

    D = sum best log(best / first) - best + first, the relative entropy of the eigenvalues, falls at least at the rate
    4 (loss - least loss), because the loss is convex in A and every eigenvalue obeys l' = -4 g l with its gradient g.
    """
    logs = best * np.log(np.where(best > 0, best / first, 1.0))
    return float(np.sum(logs - best + first)) / (4 * time)


def unseen_bound(trained: Trained, readout: float = 1.0) -> float:
    """How far a finite time may leave the loss of a position outside the window from its limit.

    Its row p_k . P of A has at most the length `size`, because |p_k| has decayed and P, `readout` = |v| given, fits the
    target. |A_k v - B_k theta|^2 then is |B_k|^2 up to 2 size |B_k| + size^2.
    """
    ring, left, outside = trained.ring, trained.descent.remaining, trained.start["p"][trained.ring.n_1 :]
    inner = np.sqrt(ring.top * readout) + left * float(np.linalg.norm(outside, 2))
    size = left * float(np.linalg.norm(outside, axis=1).max()) * float(inner)
    return 2 * size * float(np.sqrt(ring.variance)) + size**2


def seen_bound(trained: Trained) -> float:
    """The same inside the window: what still arrives from outside, and the shift of the fit by decay."""
    ring, left, outside = trained.ring, trained.descent.remaining, trained.start["p"][trained.ring.n_1 :]
    size = float(np.sqrt(ring.alpha)) * left * float(np.linalg.norm(outside, 2))
    missed = float(np.sqrt(np.sum(np.square(ring.beta))))
    return 2 * size * missed + size**2 + (trained.descent.decay / 4) ** 2


def rows(seeds: Sequence[int]) -> Iterator[Row]:
    """The paper's two experiments: outside the window, at its edges, inside."""
    ring, runs = M1, [experiment(M1, APE, seed) for seed in seeds]
    loss = np.mean([run.test_loss for run in runs], axis=0)
    outside, inside = max(map(unseen_bound, runs)), max(map(seen_bound, runs))
    last, beside = ring.n_1 - 1, [ring.n_1, ring.n - 1]
    why = "derived: the unseen vectors are still exp(-6) of their first length"
    yield Row(
        "theory-ape",
        "APE: mean loss of the positions outside [n_1] is alpha^2 + 2 beta^2, that of always answering 0",
        *near(ring.variance, loss[ring.n_1 :].mean(), outside, why),
        claim=True,
    )
    lengths = [[np.linalg.norm(p[ring.n_1 :]) for p in (run.run.params["p"], run.start["p"])] for run in runs]
    yield Row(
        "ape-vectors",
        "length of p_k outside [n_1] relative to its first: shrunk by decay alone, (1 - eta epsilon)^steps",
        *near(runs[0].descent.remaining, mean(now / first for now, first in lengths), 1e-9, "derived: rounding"),
    )
    yield Row(
        "ape-edges",
        "positions 1 and n_1 each miss one neighbour that was always padding: loss beta^2",
        *near(limit_loss(ring)[0], loss[[0, last]].mean(), inside, FINITE),
    )
    yield Row(
        "ape-interior",
        "positions 2 to n_1 - 1 have all their neighbours in the window: loss 0",
        *zero(loss[1:last].max(), inside, FINITE),
    )
    yield Row(
        "ape-beside-window",
        "positions n_1 + 1 and n have a neighbour in the window and still lose all of alpha^2 + 2 beta^2",
        *near(ring.variance, loss[beside].mean(), outside, FINITE),
    )
    padded = [np.sum((run.weights[0] - ring.target)[beside, : ring.n_1] ** 2, axis=1).mean() for run in runs]
    yield Row(
        "ape-beside-window-padded",
        "the same two on padded training sequences: a target of beta s that nobody supervises, answered by 0",
        *near(padded_loss(ring)[ring.n_1], mean(padded), outside, FINITE),
    )
    five = [experiment(M5, APE, seed) for seed in seeds]
    unseen = mean(run.test_loss[M5.n_1 :].mean() for run in five)
    profile = np.mean([run.test_loss for run in five], axis=0) - limit_loss(M5)
    far, wide = max(map(unseen_bound, five)), max(max(unseen_bound(run), seen_bound(run)) for run in five)
    yield Row(
        "ape-m5",
        "m = 5: mean loss outside [n_1] is alpha^2 + 2 sum beta_m^2",
        *near(M5.variance, unseen, far, FINITE),
    )
    yield Row(
        "ape-m5-profile",
        "m = 5: largest departure, over all n positions, from the predicted loss (five steps at either edge)",
        *zero(np.abs(profile).max(), wide, FINITE),
    )


def decay_rows(seeds: Sequence[int]) -> Iterator[Row]:
    """What weight decay and a fixed v contribute to the result."""
    ring, runs = M1, [experiment(M1, APE, seed) for seed in seeds]
    fit = "derived: the fit converges as exp(-8 t)"
    diagonal = mean(np.diag(run.weights[0])[: ring.n_1].mean() for run in runs)
    yield Row(
        "ape-decay-diagonal",
        "weight decay epsilon takes epsilon / 4 off every eigenvalue in the window: p_i . p_i = alpha - epsilon / 4",
        *near(ring.alpha - DECAY / 4, diagonal, 1e-6, fit),
    )
    floor = floor_of_decay(ring, DECAY, shifts=False)
    yield Row(
        "ape-training-loss",
        "training loss of one output goes to 0, up to (epsilon / 4)^2 from decay",
        *near(floor, mean(run.training_loss for run in runs), 1e-6 * floor, fit),
    )
    # Without decay the failure only changes its size. Positions beside the window have a neighbour of another kind.
    bare = [train(ring, APE, seed, Descent(step=0.03, steps=200)).test_loss[ring.n_1 + 1 : -1] for seed in seeds]
    why = "sampling: spread over positions and seeds"
    yield Row(
        "ape-no-decay",
        "no decay: unseen vectors stay as they began, loss (1 - alpha)^2 + 2 beta^2 + (n - n_1 + 1 + n_1 alpha) / d",
        *near(undecayed_loss(ring), np.mean(bare), sampling_error(np.ravel(bare)), why),
    )
    slow = Descent(step=0.02, steps=3000, decay=DECAY)
    free = [train(ring, APE, seed, slow, FactoredAbsolute(frozen=())) for seed in seeds]
    # Decay balances |P|^2 = 2 |v|^2 (P enters twice); a fit has |v| |P|^2 = n_1 alpha, which gives |v|.
    readout = (ring.n_1 * ring.alpha / 2) ** (1 / 3)
    unseen = mean(run.test_loss[ring.n_1 :].mean() for run in free)
    yield Row(
        "ape-v-free",
        "v trained from a random start instead of fixed at theta: the same loss outside [n_1]",
        *near(ring.variance, unseen, max(unseen_bound(run, readout) for run in free), FINITE),
    )
    cosines = [float(run.weights[1] @ run.theta / np.linalg.norm(run.weights[1])) for run in free]
    yield Row(
        "ape-v-aligns",
        "and v turns to theta: smallest cosine over seeds",
        prediction=1.0,
        measured=min(cosines),
        interval=(1 - 1e-6, 1 + 1e-12),
        allowed="derived: what is orthogonal decays at the rate 2 sum C A^2 of the fit, and faster than epsilon",
    )


def other_rows(seeds: Sequence[int]) -> Iterator[Row]:
    """The first part with other alpha and beta: the paper prints none."""
    runs = [experiment(ring, APE, seed) for ring in OTHER_WEIGHTS for seed in seeds]
    ratios = [run.test_loss[run.ring.n_1 :].mean() / run.ring.variance for run in runs]
    words = ", ".join(f"{ring.alpha:g}/{ring.beta[0]:g}" for ring in OTHER_WEIGHTS)
    furthest = max(ratios, key=lambda ratio: abs(ratio - 1))
    yield Row(
        "other-ape",
        f"other alpha/beta ({words}): loss outside [n_1] over alpha^2 + 2 beta^2 (furthest from 1)",
        *near(1.0, furthest, max(unseen_bound(run) / run.ring.variance for run in runs), FINITE),
    )
