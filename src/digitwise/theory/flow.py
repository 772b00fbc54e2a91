"""The gradient-flow equations of the appendix, integrated by SciPy instead of being stepped through.

Three levels, each closed in itself:

    flow_gram         A_kl = p_k . p_l for any start           eq. A_derivative (with the minus sign it lost in print)
    flow_lags         A_j for a translation-invariant start    eq. diff
    flow_parameters   every array of any model                 eq. p_derivative, and its like for u, v, W_K, W_Q, W_V, h
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.integrate import solve_ivp

from digitwise.theory.attention import Model, Params
from digitwise.theory.descent import check_decay, population_gradient
from digitwise.theory.ring import Array, Ring, Supervision


def gram_rate(gram: Array, counts: Array, target: Array, decay: float = 0.0) -> Array:
    """d/dt A = -(H A + A H) - 2 decay A with H = 4 C * (A - B), entry by entry product.

    Written out with C[k, k + r] = 2w + 1 - |r| this is eq. A_derivative. In print its last line has + before the first
    sum; the line above it, and the decay of the loss, need -.
    """
    pull = 4 * counts * (gram - target) @ gram
    return -(pull + pull.T) - 2 * decay * gram


def lag_rate(lags: Array, counts: Array, target: Array, decay: float = 0.0) -> Array:
    """d/dt A_j = -8 sum_r C_r (A_r - B_r) A_{j-r} - 2 decay A_j on the ring: eq. diff with its terms collected.

    The sum is a circular convolution, so in Fourier space every mode of A only ever scales itself. A mode that starts
    at zero stays there and none changes sign, which is why A stays positive semidefinite.
    """
    force = np.fft.rfft(counts * (lags - target))
    return -8 * np.fft.irfft(force * np.fft.rfft(lags), n=len(lags)) - 2 * decay * lags


def flow_gram(gram: Array, supervision: Supervision, times: Sequence[float], decay: float = 0.0) -> Array:
    """[times, n, n]: the inner products of the positional vectors over time, for v = theta."""
    n = len(gram)

    def rate(state: Array) -> Array:
        return gram_rate(state.reshape(n, n), supervision.counts, supervision.target, decay).ravel()

    return _integrate(rate, gram.ravel(), times, decay).reshape(-1, n, n)


def flow_lags(lags: Array, counts: Array, target: Array, times: Sequence[float], decay: float = 0.0) -> Array:
    """[times, n]: A_j over time from a start whose inner products depend on the distance only (eq. initialization)."""
    if not np.allclose(lags, np.roll(lags[::-1], 1)):
        raise ValueError("lags must be symmetric (A_j = A_-j): they are inner products of vectors on a ring")
    return _integrate(lambda state: lag_rate(state, counts, target, decay), lags, times, decay)


def flow_parameters(
    model: Model, params: Params, supervision: Supervision, times: Sequence[float], decay: float = 0.0
) -> list[Params]:
    """Every array of the model at each of the times."""
    names = [name for name in params if name not in model.frozen]
    ends = np.cumsum([params[name].size for name in names])

    def unpack(state: Array) -> Params:
        parts = np.split(state, ends[:-1])
        moved = {name: part.reshape(params[name].shape) for name, part in zip(names, parts, strict=True)}
        return {**params, **moved}

    def rate(state: Array) -> Array:
        gradients = population_gradient(model, unpack(state), supervision, decay)
        return -np.concatenate([gradients[name].ravel() for name in names])

    start = np.concatenate([params[name].ravel() for name in names])
    return [unpack(state) for state in _integrate(rate, start, times, decay)]


def invariant_spectrum(ring: Ring, rng: np.random.Generator) -> Array:
    """[n]: the eigenvalues of a random translation-invariant start with A_0 near 1 and A_j of size 1 / sqrt(d).

    When d is a multiple of n, take d / n blocks of n Gaussian entries and let p_k be all blocks shifted by k: inner
    products then depend on the distance only. The eigenvalues of that Gram matrix are independent Gamma variables; the
    same law with a broken shape serves every other d. (For d < n no vectors have such a Gram matrix; the equations
    for A_j do not mind.)
    """
    shape = ring.d / ring.n
    spectrum = np.zeros(ring.n)
    for f in range(ring.n // 2 + 1):
        alone = f == 0 or 2 * f == ring.n  # a real mode; the others come in pairs of cosine and sine
        draw = rng.gamma(shape / 2, 2 / shape) if alone else rng.gamma(shape, 1 / shape)
        spectrum[f] = spectrum[-f % ring.n] = draw
    return spectrum


def lags_of_spectrum(spectrum: Array) -> Array:
    """[n] -> [n]: the first row of the circulant matrix with these eigenvalues."""
    return np.fft.ifft(spectrum).real


def invariant_vectors(ring: Ring, spectrum: Array, rng: np.random.Generator) -> Array:
    """p [n, d] whose Gram matrix is the circulant with this spectrum, turned at random in its d dimensions."""
    if ring.d < ring.n:
        raise ValueError(f"d = {ring.d} is too small: a translation-invariant start needs d of at least n = {ring.n}")
    fourier = np.fft.fft(np.eye(ring.n)) / np.sqrt(ring.n)
    root = (fourier.conj().T * np.sqrt(spectrum)) @ fourier  # the symmetric square root, real and circulant
    basis, _ = np.linalg.qr(rng.standard_normal((ring.d, ring.n)))
    return root.real @ basis.T


def _integrate(rate: Callable[[Array], Array], start: Array, times: Sequence[float], decay: float) -> Array:
    check_decay(decay)
    moments = np.asarray(times, dtype=float)
    if len(moments) == 0 or moments[0] < 0 or np.any(np.diff(moments) < 0):
        raise ValueError(f"times must be given in rising order from 0 on, not {list(times)!r}")
    if moments[-1] == 0:
        return np.repeat(start[None], len(moments), axis=0)
    solved = solve_ivp(
        lambda _, state: rate(state), (0.0, moments[-1]), start, t_eval=moments, method="RK45", rtol=1e-8, atol=1e-10
    )
    if not solved.success:
        raise ValueError(f"the flow could not be integrated up to time {moments[-1]:g}: {solved.message}")
    return np.asarray(solved.y.T)
