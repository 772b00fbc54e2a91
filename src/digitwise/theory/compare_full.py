"""The full parametrisation beside the factored one: the same functions, other dynamics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from digitwise.theory import predictions
from digitwise.theory.attention import (
    FactoredAbsolute,
    FactoredRelative,
    FullAbsolute,
    FullRelative,
    Model,
    Params,
    absorb,
    attention_matrix,
    literal_outputs,
)
from digitwise.theory.descent import Descent
from digitwise.theory.experiments import Trained, begin, shift_bound, train, unlearned_bound
from digitwise.theory.flow import flow_parameters, invariant_spectrum, invariant_vectors
from digitwise.theory.ring import APE, APE_SHIFTS, RPE, Array, Ring, generator, test_loss
from digitwise.theory.rows import Row, around

SINGLE = Ring(n=21, n_1=1, d=84, alpha=2.0, beta=())
WINDOW = Ring(n=21, n_1=7, d=42, alpha=2.0, beta=(0.5,))


def rows(seeds: Sequence[int]) -> Iterator[Row]:
    """The rows on what absorbing W_K, W_Q, W_V and h changes."""
    yield from _function_rows(tuple(seeds))
    yield from _growth_rows(tuple(seeds))
    yield from _shift_rows(tuple(seeds))
    yield from _outcome_rows(tuple(seeds))


def balanced_start(ring: Ring, seed: int, size: float = 1.0) -> tuple[Params, Array]:
    """Tied full arrays with P'P = W'W and a translation-invariant M = P W'W P', and the eigenvalues [n] of M.

    The difference P'P - W'W never changes under the flow, so a balanced start stays balanced and M = (P P')^2.
    """
    rng = generator(seed, "balanced start")
    spectrum = size * invariant_spectrum(ring, rng)
    p = invariant_vectors(ring, np.sqrt(spectrum), rng)
    values, vectors = np.linalg.eigh(p.T @ p)
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    _, start, _ = begin(ring, APE_SHIFTS, seed, FullAbsolute(tied=True))
    return {**start, "p": p, "w_q": root, "w_k": root.copy()}, spectrum


def _function_rows(seeds: tuple[int, ...]) -> Iterator[Row]:
    ring = Ring(n=9, n_1=4, d=12)
    gaps = []
    pairs: tuple[tuple[Model, Model], ...] = (
        (FullAbsolute(tied=True, frozen=()), FactoredAbsolute(frozen=())),
        (FullRelative(tied=True), FactoredRelative()),
    )
    for seed in seeds:
        x = generator(seed, "tokens").standard_normal((20, ring.n, ring.d))
        for full, factored in pairs:
            _, params, _ = begin(ring, APE, seed, full)
            matrix, v = attention_matrix(factored, absorb(params))
            gaps.append(float(np.abs(literal_outputs(full, params, x) - (x @ v) @ matrix.T).max()))
    yield Row(
        "full-same-function",
        "W_K = W_Q = W: eq. factored written out term by term equals the factored model with p <- W p, v = W_V' h",
        0.0,
        max(gaps),
        (0.0, 1e-12),
        "derived: rounding",
        seeds,
    )


def _growth_rows(seeds: tuple[int, ...]) -> Iterator[Row]:
    """From a small start, how the speed of an eigenvalue of M depends on its size (force divided out)."""
    times = np.linspace(0, 0.5, 400)
    laws: tuple[tuple[str, Model, float, str], ...] = (
        ("full-growth-factored", FactoredAbsolute(), 1.0, "P P': eigenvalues of M grow with speed m"),
        ("full-growth-full", FullAbsolute(tied=True), 1.5, "P W'W P': with speed m^(3/2), so large ones run ahead"),
    )
    for name, model, exponent, words in laws:
        slopes = []
        for seed in seeds:
            start, _ = balanced_start(SINGLE, seed, size=0.05)
            _, _, supervision = begin(SINGLE, APE_SHIFTS, seed)
            params = absorb(start) if isinstance(model, FactoredAbsolute) else start
            path = [model.effective(state)[0] for state in flow_parameters(model, params, supervision, list(times))]
            values = np.array([np.linalg.eigvalsh((m + m.T) / 2) for m in path])
            force = SINGLE.alpha - np.array([m[0, 0] for m in path])
            middle = values[1:-1]
            speed = (values[2:] - values[:-2]) / (times[2:] - times[:-2])[:, None] / force[1:-1, None]
            early = force[1:-1] > 0.05 * SINGLE.alpha  # beyond, both speed and force are rounding
            slopes.append(np.polyfit(np.log(middle[early]).ravel(), np.log(speed[early]).ravel(), 1)[0])
        yield Row(
            name,
            f"{words} (exponent)",
            exponent,
            float(np.mean(slopes)),
            around(exponent, 0.01),
            "derived: differences over 1/400 of the time",
            seeds,
        )


def _shift_rows(seeds: tuple[int, ...]) -> Iterator[Row]:
    """w = 0, beta = 0 again: absorbing W is what conserves the ratio A_j / A_0."""
    factored, full = FactoredAbsolute(), FullAbsolute(tied=True)
    expected, measured, plain = [], [], []
    for seed in seeds:
        start, spectrum = balanced_start(SINGLE, seed)
        _, _, supervision = begin(SINGLE, APE_SHIFTS, seed)
        last = full.effective(flow_parameters(full, start, supervision, [3.0])[-1])
        measured.append(float(test_loss(SINGLE, *last, supervision.theta).mean()))
        expected.append(float(np.mean(predictions.full_invariant_spectrum(SINGLE, spectrum) ** 2)) - SINGLE.alpha**2)
        same = factored.effective(flow_parameters(factored, absorb(start), supervision, [3.0])[-1])
        plain.append(float(test_loss(SINGLE, *same, supervision.theta).mean()))
    yield Row(
        "full-shifts-loss",
        "W trained too, w = 0, beta = 0: m^(-1/2) falls by one amount for all eigenvalues, and that gives the loss",
        float(np.mean(expected)),
        float(np.mean(measured)),
        around(float(np.mean(expected)), 1e-4),
        "derived: tolerance of the integrator",
        seeds,
    )
    worse = float(np.mean(expected)) / float(np.mean(plain))
    yield Row(
        "full-shifts-worse",
        "and so A_j / A_0 is not conserved: loss over that of the factored model from the same start (1 if it were)",
        worse,
        float(np.mean(measured)) / float(np.mean(plain)),
        around(worse, 1e-3),
        "derived: tolerance of the integrator",
        seeds,
    )
    small = Ring(n=11, n_1=1, d=11, alpha=2.0, beta=())
    decay = 0.3
    level = predictions.full_collapsed_weight(small, decay)
    collapsed = [
        train(small, APE_SHIFTS, seed, Descent(0.005, 10000, decay), FullAbsolute(tied=True)).weights[0]
        for seed in seeds
    ]
    yield Row(
        "full-shifts-decay",
        "with W trained too, weight decay makes M rank one: every |p_i W'W p_j| = alpha (n 11; smallest over pairs)",
        level,
        float(np.mean([np.abs(matrix).min() for matrix in collapsed])),
        around(level, 1e-4),
        "derived: finite time",
        seeds,
    )


def _outcome_rows(seeds: tuple[int, ...]) -> Iterator[Row]:
    """What the paper concludes survives; what it reduces away shows in the fit."""
    ape = [train(WINDOW, APE, seed, Descent(0.01, 2000, 0.3), FullAbsolute()) for seed in seeds]
    yield Row(
        "full-ape",
        "all of W_K, W_Q and p trained: unseen positions still lose alpha^2 + 2 beta^2",
        WINDOW.variance,
        float(np.mean([run.test_loss[WINDOW.n_1 :].mean() for run in ape])),
        around(WINDOW.variance, max(_full_unseen_bound(run) for run in ape)),
        "derived: unseen vectors are still exp(-6) of their first length",
        seeds,
    )
    rpe = [train(WINDOW, RPE, seed, Descent(0.004, 5000, 0.3), FullRelative()) for seed in seeds]
    yield Row(
        "full-rpe",
        "all of W_K, W_Q, W_V, h, p and u trained: RPE still has loss 0 at every position (largest)",
        0.0,
        float(np.mean([run.test_loss.max() for run in rpe])),
        (0.0, max(shift_bound(run, factors=6) + unlearned_bound(run, factors=6) for run in rpe)),
        "derived: shift by decay, lags outside every window still decaying",
        seeds,
    )
    indefinite = Ring(n=21, n_1=7, d=42, alpha=1.0, beta=(1.0,))
    fits = [train(indefinite, APE, seed, Descent(0.01, 2500), FullAbsolute()) for seed in seeds]
    yield Row(
        "psd-full",
        "W_K and W_Q apart: training loss 0 also for alpha 1, beta 1, where P P' stops",
        0.0,
        float(np.mean([run.run.losses[-1] for run in fits])) / indefinite.n_1,
        (0.0, 1e-9),
        "derived: finite time",
        seeds,
    )


def _full_unseen_bound(run: Trained) -> float:
    """As `experiments.unseen_bound`, with the row p_k W_Q' W_K P' of M: all but p_k is at most |M|^(3/4) in balance."""
    outside = run.start["p"][run.ring.n_1 :]
    left = predictions.remaining(run.descent) * float(np.linalg.norm(outside, axis=1).max())
    size = left * float(np.linalg.norm(run.ring.target[: run.ring.n_1, : run.ring.n_1], 2)) ** 0.75
    return 2 * size * float(np.sqrt(run.ring.variance)) + size**2
