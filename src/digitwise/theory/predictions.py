"""What the theory says, as functions of the task: nothing here is trained.

Where the paper speaks of infinitesimal weight decay and unlimited time, these functions also know the finite case, so
that a comparison needs no generous tolerance: `decay` is the rate of weight decay (0: the paper's limit).
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq, nnls

from digitwise.theory.descent import Descent, check_decay
from digitwise.theory.ring import RPE, Array, Ring, pair_counts, supervise

# ---- absolute positions, one window (first part of the proposition)


def ape_gram(ring: Ring, decay: float = 0.0) -> Array:
    """[n, n]: where A = P P' ends: the target inside the window, nothing outside.

    Inside, 4 (A - B) P + decay P = 0 subtracts decay / 4 from every eigenvalue of B and cuts at zero: positive
    semidefinite of rank d is all that P P' can be. Outside, no gradient ever arrives, and decay alone rules.
    """
    check_decay(decay)
    values, vectors = np.linalg.eigh(ring.target[: ring.n_1, : ring.n_1])
    kept = np.maximum(values - decay / 4, 0)
    kept[: max(0, ring.n_1 - ring.d)] = 0  # eigh sorts upwards: the d largest stay
    gram = np.zeros((ring.n, ring.n))
    gram[: ring.n_1, : ring.n_1] = (vectors * kept) @ vectors.T
    return gram


def ape_test_loss(ring: Ring, decay: float = 0.0) -> Array:
    """[n]: the loss at each position. Unseen ones: alpha^2 + 2 sum beta^2, including the two next to the window, whose
    seen neighbour is no help. Positions within m of an edge: beta^2 for every neighbour that was always padding.
    """
    return np.asarray(np.sum((ape_gram(ring, decay) - ring.target) ** 2, axis=1))


def ape_padded_loss(ring: Ring) -> Array:
    """[n]: the loss on *training* sequences. Positions just outside the window still have a target there, made of their
    neighbours inside; nobody supervises it and the model answers 0.
    """
    return np.asarray(np.sum(((ape_gram(ring) - ring.target) ** 2)[:, : ring.n_1], axis=1))


def ape_training_floor(ring: Ring) -> float:
    """The least summed training loss of P P': the squared eigenvalues of the target's window that it cannot have."""
    window = np.s_[: ring.n_1, : ring.n_1]
    return float(np.sum((ape_gram(ring)[window] - ring.target[window]) ** 2))


def psd_threshold(n_1: int) -> float:
    """The largest beta / alpha (m = 1) at which one window can be fitted: 1 / (2 cos(pi / (n_1 + 1)))."""
    return float(1 / (2 * np.cos(np.pi / (n_1 + 1)))) if n_1 > 1 else float("inf")


def ape_undecayed_loss(ring: Ring) -> float:
    """Without decay unseen vectors keep their random first value, |p|^2 near 1: expected loss of a position away from
    the window. Terms: its own weight, other unseen positions, seen positions (|p|^2 = alpha), missed neighbours.
    """
    own = (1 - ring.alpha) ** 2 + 2 / ring.d
    return own + (ring.n - ring.n_1 - 1) / ring.d + ring.n_1 * ring.alpha / ring.d + (ring.variance - ring.alpha**2)


def remaining(descent: Descent) -> float:
    """The factor by which decay alone has shrunk a vector that receives no gradient."""
    return float((1 - descent.step * descent.decay) ** descent.steps)


# ---- absolute positions, every circular shift (second part)


def logistic(ring: Ring, first: float, times: Array, decay: float = 0.0) -> Array:
    """A_0(t) for w = 0, beta = 0: a logistic curve to alpha - decay / 4, with rate 8 times that."""
    check_decay(decay)
    top = ring.alpha - decay / 4
    if top <= 0 or first <= 0:
        raise ValueError(f"alpha - decay / 4 and the first A_0 must be positive, not {top:g} and {first:g}")
    return np.asarray(top / (1 + (top / first - 1) * np.exp(-8 * top * np.asarray(times))))


def shifts_test_loss(ring: Ring, invariant: bool = False) -> float:
    """alpha^2 (unseen lags) / d, plus the beta^2 of any neighbour that never shares a window with its output.

    For w = 0, beta = 0 every p_k only changes length, so cosines are conserved, and the squared cosine of independent
    directions in d dimensions is 1 / d on average: alpha^2 (n - 1) / d exactly. A translation-invariant start
    (`flow.invariant_spectrum`) gives d + 2 instead of d. For wider windows it is the leading order in 1 / d: only pairs
    further apart than a window remain at random, n - 2 n_1 + 1 lags of them.
    """
    unseen = pair_counts(ring, shifts=True)[0] == 0
    missed = float(np.sum(ring.lag_target[unseen] ** 2))
    return ring.alpha**2 * float(unseen.sum()) / (ring.d + 2 if invariant else ring.d) + missed


def shifts_test_loss_deviation(ring: Ring) -> float:
    """Standard deviation over random starts of the loss averaged over positions.

    Squared cosines of distinct pairs are pairwise independent with variance 2 (d - 1) / (d^2 (d + 2)).
    """
    unseen = int((pair_counts(ring, shifts=True)[0] == 0).sum())
    variance = 2 * (ring.d - 1) / (ring.d**2 * (ring.d + 2))
    return float(ring.alpha**2 * np.sqrt(2 * unseen / ring.n * variance))


def shifts_next_order(ring: Ring) -> float:
    """At most by what share of itself the leading order of `shifts_test_loss` falls short: (n_1 - 1) / d.

    To forget its overlap with a neighbour r, p_k gives up half of it: p_k - <p_k, p_r> p_r / 2. For an unseen pair k, l
    that adds <p_k, p_r> <p_r, p_l> / 2 for each of at most 2 (n_1 - 1) neighbours of k, and as many of l: random
    terms of variance 1 / (4 d^2), against 1 / d. (Neighbours of both add less.)
    """
    return (ring.n_1 - 1) / ring.d


def shifts_best_spectrum(ring: Ring) -> tuple[Array, float]:
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


def shifts_excess(first: Array, best: Array, time: float) -> float:
    """How far above the least loss the flow from an invariant start can still be: D / (4 time).

    D = sum best log(best / first) - best + first, the relative entropy of the eigenvalues, falls at least at the rate
    4 (loss - least loss), because the loss is convex in A and every eigenvalue obeys l' = -4 g l with its gradient g.
    """
    logs = best * np.log(np.where(best > 0, best / first, 1.0))
    return float(np.sum(logs - best + first)) / (4 * time)


# ---- relative positions (third part)


def rpe_lags(ring: Ring, decay: float = 0.0, factors: int = 3) -> Array:
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


def rpe_scalars(ring: Ring, first: Array, descent: Descent) -> Array:
    """[n]: the paper's scalar updates a_k <- a_k - 2 eta c_k (a_k - b_k) - eta decay a_k after all steps, solved."""
    counts = supervise(ring, RPE, np.ones(1)).counts
    rate = 2 * counts + descent.decay
    end = np.divide(2 * counts * ring.lag_target, rate, out=first.copy(), where=rate > 0)
    return np.asarray(end + (first - end) * (1 - descent.step * rate) ** descent.steps)


# ---- the full parametrisation, where absorbing W changes the dynamics


def full_invariant_spectrum(ring: Ring, spectrum: Array) -> Array:
    """[n]: the final eigenvalues of M = P W'W P' for w = 0, beta = 0 from a balanced (P'P = W'W) invariant start.

    Factored, every eigenvalue obeys m' = 2 f(t) m: all grow by one factor and ratios are conserved. With W trained too,
    m' = 4 f(t) m^(3/2): it is m^(-1/2) that falls by one common amount. Large eigenvalues grow faster, so ratios are
    *not* conserved. The common amount is fixed by A_0 = alpha.
    """
    inverse_roots = spectrum**-0.5

    def excess(amount: float) -> float:
        return float(np.mean((inverse_roots - amount) ** -2)) - ring.alpha

    below = inverse_roots.min()
    amount = brentq(excess, below - 10 * float(np.max(inverse_roots)) - 10 / np.sqrt(ring.alpha), below * (1 - 1e-9))
    return np.asarray((inverse_roots - float(amount)) ** -2)


def full_collapsed_weight(ring: Ring, decay: float) -> float:
    """|A_ij| for every pair after decay has made the tied full model rank one (w = 0, beta = 0).

    Decay of P and W together costs the trace of M^(1/2), which on the set of perfect fits (all A_ii = alpha) is least
    for one single direction. There n (a - alpha)^2 + decay sqrt(n a) is least at alpha - a = decay / (4 sqrt(n a)).
    """
    return float(brentq(lambda a: ring.alpha - a - decay / (4 * np.sqrt(ring.n * a)), ring.alpha / 2, ring.alpha))


def training_floor_of_decay(ring: Ring, decay: float, shifts: bool) -> float:
    """Mean squared error of a supervised output that decay leaves: the diagonal ends decay / (4 windows) short."""
    windows = pair_counts(ring, shifts)[0, 0]
    return float((decay / (4 * windows)) ** 2)
