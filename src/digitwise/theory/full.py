"""The factored model beside the full one: what P P' cannot fit, and what absorbing W_K, W_Q, W_V and h changes."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from scipy.optimize import brentq

from digitwise.theory.absolute import best_spectrum, excess, training_floor
from digitwise.theory.attention import (
    FactoredAbsolute,
    FactoredRelative,
    FullAbsolute,
    FullRelative,
    Model,
    Params,
    attention_matrix,
    flow_parameters,
)
from digitwise.theory.descent import Descent, Trained, begin, begin_invariant, descend, train
from digitwise.theory.relative import shift_bound, unlearned_bound
from digitwise.theory.ring import APE, APE_SHIFTS, RPE, Array, Ring, invariant_spectrum, invariant_vectors, stream
from digitwise.theory.rows import Row, mean, near, zero

SINGLE = Ring(n=21, n_1=1, d=84, alpha=2.0, beta=())
WINDOW = Ring(n=21, n_1=7, d=42, alpha=2.0, beta=(0.5,))
INDEFINITE = Ring(n=21, n_1=7, d=42, alpha=1.0, beta=(1.0,))  # beta far above alpha / 2: negative eigenvalues


def final_spectrum(ring: Ring, spectrum: Array) -> Array:
    """[n]: the final eigenvalues of M = P W'W P' for w = 0, beta = 0 from a balanced (P'P = W'W) invariant start.

    Factored, every eigenvalue obeys m' = 2 f(t) m: all grow by one factor and ratios are conserved. With W trained too,
    m' = 4 f(t) m^(3/2): it is m^(-1/2) that falls by one common amount. Large eigenvalues grow faster, so ratios are
    *not* conserved. The common amount is fixed by A_0 = alpha.
    """
    inverse_roots = spectrum**-0.5

    def excess_weight(amount: float) -> float:
        return float(np.mean((inverse_roots - amount) ** -2)) - ring.alpha

    below = inverse_roots.min()
    lowest = below - 10 * float(np.max(inverse_roots)) - 10 / np.sqrt(ring.alpha)
    return np.asarray((inverse_roots - float(brentq(excess_weight, lowest, below * (1 - 1e-9)))) ** -2)


def collapsed_weight(ring: Ring, decay: float) -> float:
    """|A_ij| for every pair after decay has made the tied full model rank one (w = 0, beta = 0).

    Decay of P and W together costs the trace of M^(1/2), which on the set of perfect fits (all A_ii = alpha) is least
    for one single direction. There n (a - alpha)^2 + decay sqrt(n a) is least at alpha - a = decay / (4 sqrt(n a)).
    """
    return float(brentq(lambda a: ring.alpha - a - decay / (4 * np.sqrt(ring.n * a)), ring.alpha / 2, ring.alpha))


def unseen_bound(run: Trained) -> float:
    """As in `absolute`, with the row p_k W_Q' W_K P' of M: all but p_k is at most |M|^(3/4) in balance."""
    outside = run.start["p"][run.ring.n_1 :]
    left = run.descent.remaining * float(np.linalg.norm(outside, axis=1).max())
    size = left * float(np.linalg.norm(run.ring.target[: run.ring.n_1, : run.ring.n_1], 2)) ** 0.75
    return 2 * size * float(np.sqrt(run.ring.variance)) + size**2


def absorb(params: Mapping[str, Array]) -> Params:
    """Factored arrays that compute the same function as tied full ones: p <- W p, u <- W u, v = W_V' h."""
    if not np.array_equal(params["w_k"], params["w_q"]):
        raise ValueError("absorbing needs W_K = W_Q: only the tied model has a factored form with p on both sides")
    absorbed = {"p": params["p"] @ params["w_k"].T, "v": params["w_v"].T @ params["h"]}
    return {**absorbed, "u": params["w_k"] @ params["u"]} if "u" in params else absorbed


def literal_outputs(model: Model, params: Params, x: Array) -> Array:
    """[samples, n]: y_hat of the full models, written out term by term as in eq. factored and eq. factored_rel.

    Slow on purpose: it is the independent reading that the effective weights are tested against.
    """
    n = x.shape[1]
    values = x @ params["w_v"].T @ params["h"]
    out = np.zeros(x.shape[:2])
    for i in range(n):
        for r in range(n):
            key = params["w_k"] @ params["p"][(i - r) % n if model.relative else r]
            query = params["w_q"] @ (params["u"] if model.relative else params["p"][i])
            out[:, i] += values[:, r] * float(key @ query)
    return out


def balanced_start(ring: Ring, seed: int, size: float = 1.0) -> tuple[Params, Array]:
    """Tied full arrays with P'P = W'W and a translation-invariant M = P W'W P', and the eigenvalues [n] of M.

    The difference P'P - W'W never changes under the flow, so a balanced start stays balanced and M = (P P')^2.
    """
    rng = stream(seed, "balanced start")
    spectrum = size * invariant_spectrum(ring, rng)
    p = invariant_vectors(ring, np.sqrt(spectrum), rng)
    values, vectors = np.linalg.eigh(p.T @ p)
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    _, start, _ = begin(ring, APE_SHIFTS, seed, FullAbsolute(tied=True))
    return {**start, "p": p, "w_q": root, "w_k": root.copy()}, spectrum


def semidefinite_rows(seeds: Sequence[int]) -> Iterator[Row]:
    """P P' is positive semidefinite. A target that is not (beta well above alpha / 2) leaves a training loss."""
    fits = Ring(n=21, n_1=7, d=42, alpha=2.0, beta=(0.9,))
    why = "derived: the fit converges exponentially, slowest rate 8 (alpha - 2 beta)"
    for setting, descent in ((APE, Descent(0.02, 2000)), (APE_SHIFTS, Descent(0.003, 2000))):
        yield Row(
            f"psd-{setting.name}-inside",
            f"{setting.title}, alpha 2, beta 0.9 (positive semidefinite target): training loss 0",
            *zero(mean(train(fits, setting, seed, descent).training_loss for seed in seeds), 1e-9, why),
        )
    floor = training_floor(INDEFINITE) / INDEFINITE.n_1
    stopped = mean(train(INDEFINITE, APE, seed, Descent(0.02, 2000)).training_loss for seed in seeds)
    yield Row(
        "psd-ape-outside",
        "APE, alpha 1, beta 1: training loss stops at the target's negative eigenvalues, sum min(lambda, 0)^2 / n_1",
        *near(floor, stopped, 1e-6, "derived: the fit converges exponentially"),
    )
    why = "derived: this fit converges only as 1 / t; the bound is the relative entropy to the best matrix over 4 t"
    outputs, patient = INDEFINITE.outputs(APE_SHIFTS), Descent(0.004, 5000)
    best, least = best_spectrum(INDEFINITE)
    last, allowed = [], []
    for seed in seeds:
        spectrum, model, start, supervision = begin_invariant(INDEFINITE, seed, "invariant start")
        last.append(descend(model, start, supervision, patient).losses[-1] / outputs)
        allowed.append(excess(spectrum, best, patient.time) / outputs)
    yield Row(
        "psd-ape-shifts-outside",
        "APE + shifts, alpha 1, beta 1: training loss stops at the distance to the positive semidefinite matrices",
        prediction=least / outputs,
        measured=mean(last),
        interval=(least / outputs, least / outputs + mean(allowed)),
        allowed=why,
    )


def rows(seeds: Sequence[int]) -> Iterator[Row]:
    """Absorbing the matrices keeps the function and changes the dynamics."""
    small = Ring(n=9, n_1=4, d=12)
    pairs: tuple[tuple[Model, Model], ...] = (
        (FullAbsolute(tied=True, frozen=()), FactoredAbsolute(frozen=())),
        (FullRelative(tied=True), FactoredRelative()),
    )
    gaps = []
    for seed in seeds:
        x = stream(seed, "tokens").standard_normal((20, small.n, small.d))
        for full, factored in pairs:
            _, params, _ = begin(small, APE, seed, full)
            matrix, v = attention_matrix(factored, absorb(params))
            gaps.append(np.abs(literal_outputs(full, params, x) - (x @ v) @ matrix.T).max())
    yield Row(
        "full-same-function",
        "W_K = W_Q = W: eq. factored written out term by term equals the factored model with p <- W p, v = W_V' h",
        *zero(max(gaps), 1e-12, "derived: rounding"),
    )
    why = "derived: differences over 1/400 of the time"
    yield Row(
        "full-growth-factored",
        "P P': eigenvalues of M grow with speed m (exponent)",
        *near(1.0, mean(_growth(seed, absorbed=True) for seed in seeds), 0.01, why),
    )
    yield Row(
        "full-growth-full",
        "P W'W P': with speed m^(3/2), so large ones run ahead (exponent)",
        *near(1.5, mean(_growth(seed, absorbed=False) for seed in seeds), 0.01, why),
    )
    predicted, measured, plain = (mean(part) for part in zip(*map(_shift_losses, seeds), strict=True))
    why = "derived: tolerance of the integrator"
    yield Row(
        "full-shifts-loss",
        "W trained too, w = 0, beta = 0: m^(-1/2) falls by one amount for all eigenvalues, and that gives the loss",
        *near(predicted, measured, 1e-4, why),
    )
    yield Row(
        "full-shifts-worse",
        "and so A_j / A_0 is not conserved: loss over that of the factored model from the same start (1 if it were)",
        *near(predicted / plain, measured / plain, 1e-3, why),
    )
    eleven, descent = Ring(n=11, n_1=1, d=11, alpha=2.0, beta=()), Descent(0.005, 10000, 0.3)
    collapsed = [train(eleven, APE_SHIFTS, seed, descent, FullAbsolute(tied=True)).weights[0] for seed in seeds]
    smallest = mean(np.abs(matrix).min() for matrix in collapsed)
    yield Row(
        "full-shifts-decay",
        "with W trained too, weight decay makes M rank one: every |p_i W'W p_j| = alpha (n 11; smallest over pairs)",
        *near(collapsed_weight(eleven, descent.decay), smallest, 1e-4, "derived: finite time"),
    )


def outcome_rows(seeds: Sequence[int]) -> Iterator[Row]:
    """The paper's conclusions hold for the full models too; their fit has no limit."""
    ape = [train(WINDOW, APE, seed, Descent(0.01, 2000, 0.3), FullAbsolute()) for seed in seeds]
    unseen = mean(run.test_loss[WINDOW.n_1 :].mean() for run in ape)
    why = "derived: unseen vectors are still exp(-6) of their first length"
    yield Row(
        "full-ape",
        "all of W_K, W_Q and p trained: unseen positions still lose alpha^2 + 2 beta^2",
        *near(WINDOW.variance, unseen, max(map(unseen_bound, ape)), why),
    )
    rpe = [train(WINDOW, RPE, seed, Descent(0.004, 5000, 0.3), FullRelative()) for seed in seeds]
    bound = max(shift_bound(run, factors=6) + unlearned_bound(run, factors=6) for run in rpe)
    why = "derived: shift by decay, lags outside every window still decaying"
    yield Row(
        "full-rpe",
        "all of W_K, W_Q, W_V, h, p and u trained: RPE still has loss 0 at every position (largest)",
        *zero(mean(run.test_loss.max() for run in rpe), bound, why),
    )
    fits = [train(INDEFINITE, APE, seed, Descent(0.01, 2500), FullAbsolute()) for seed in seeds]
    yield Row(
        "psd-full",
        "W_K and W_Q apart: training loss 0 also for alpha 1, beta 1, where P P' stops",
        *zero(mean(run.training_loss for run in fits), 1e-9, "derived: finite time"),
    )


def _growth(seed: int, absorbed: bool) -> float:
    """The exponent with which the speed of an eigenvalue of M grows with its size (force divided out)."""
    times = np.linspace(0, 0.5, 400)
    start, _ = balanced_start(SINGLE, seed, size=0.05)
    _, _, supervision = begin(SINGLE, APE_SHIFTS, seed)
    model: Model = FactoredAbsolute() if absorbed else FullAbsolute(tied=True)
    states = flow_parameters(model, absorb(start) if absorbed else start, supervision, list(times))
    path = [model.effective(state)[0] for state in states]
    values = np.array([np.linalg.eigvalsh((m + m.T) / 2) for m in path])
    force = SINGLE.alpha - np.array([m[0, 0] for m in path])
    middle = values[1:-1]
    speed = (values[2:] - values[:-2]) / (times[2:] - times[:-2])[:, None] / force[1:-1, None]
    early = force[1:-1] > 0.05 * SINGLE.alpha  # beyond, both speed and force are rounding
    return float(np.polyfit(np.log(middle[early]).ravel(), np.log(speed[early]).ravel(), 1)[0])


def _shift_losses(seed: int) -> tuple[float, float, float]:
    """Test loss for w = 0, beta = 0 from a balanced start: predicted, measured, and that of the factored model."""
    start, spectrum = balanced_start(SINGLE, seed)
    _, _, supervision = begin(SINGLE, APE_SHIFTS, seed)

    def loss(model: Model, params: Params) -> float:
        last = model.effective(flow_parameters(model, params, supervision, [3.0])[-1])
        return float(SINGLE.test_loss(*last, supervision.theta).mean())

    predicted = float(np.mean(final_spectrum(SINGLE, spectrum) ** 2)) - SINGLE.alpha**2
    return predicted, loss(FullAbsolute(tied=True), start), loss(FactoredAbsolute(), absorb(start))
