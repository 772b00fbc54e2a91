"""Linear attention, factored as in the paper's proofs and full; its gradient, and its gradient flow.

A model is a dictionary of arrays (`Params`) with two functions: `effective` maps them to the weights that enter the
loss, (e, v), and `pull_back` carries a gradient by (e, v) back to the arrays. Descent, sampling and flow are shared, so
parametrisations differ in nothing but these two functions.

    FactoredAbsolute   y_hat_i = sum_r (p_i . p_r) <v, x_r>                      eq. linear_ape
    FactoredRelative   y_hat_i = sum_r (p_{i-r} . u) <v, x_r>                    eq. linear_rpe
    FullAbsolute       y_hat_i = h' W_V sum_r x_r (p_r' W_K' W_Q p_i)            eq. factored
    FullRelative       y_hat_i = h' W_V sum_r x_r (p_{i-r}' W_K' W_Q u)          eq. factored_rel
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.integrate import solve_ivp

from digitwise.theory.ring import Array, Ring, Supervision, circulant

Params = dict[str, Array]


class Model(Protocol):
    """What training needs from a parametrisation."""

    @property
    def relative(self) -> bool:
        """Whether e is a vector of lags [n] rather than a matrix [n, n]."""

    @property
    def frozen(self) -> tuple[str, ...]:
        """Names of the arrays that keep their first value (and are not decayed)."""

    def start(self, ring: Ring, theta: Array, rng: np.random.Generator) -> Params:
        """Random first values: vectors of length about one."""

    def effective(self, params: Params) -> tuple[Array, Array]:
        """(e, v): e [n, n] or [n], v [d]."""

    def pull_back(self, params: Params, by_e: Array, by_v: Array) -> Params:
        """The gradient by every array, given the gradient by e and by v."""


@dataclass(frozen=True)
class FactoredAbsolute:
    """W absorbed into the positional vectors: e = P P', symmetric and positive semidefinite whatever the data.

    The paper keeps v = theta for its two negative results, so `v` is frozen by default.
    """

    frozen: tuple[str, ...] = ("v",)
    relative = False

    def start(self, ring: Ring, theta: Array, rng: np.random.Generator) -> Params:
        return {"p": gaussian(rng, ring.n, ring.d), "v": theta.copy() if "v" in self.frozen else gaussian(rng, ring.d)}

    def effective(self, params: Params) -> tuple[Array, Array]:
        return params["p"] @ params["p"].T, params["v"]

    def pull_back(self, params: Params, by_e: Array, by_v: Array) -> Params:
        return {"p": (by_e + by_e.T) @ params["p"], "v": by_v}


@dataclass(frozen=True)
class FactoredRelative:
    """One positional vector per lag and a constant query u: e_k = a_k = p_k . u."""

    frozen: tuple[str, ...] = ()
    relative = True

    def start(self, ring: Ring, theta: Array, rng: np.random.Generator) -> Params:
        p, u, v = gaussian(rng, ring.n, ring.d), gaussian(rng, ring.d), gaussian(rng, ring.d)
        if "u" in self.frozen:
            u /= np.linalg.norm(u)  # |u| = 1 makes descent on p the same as the paper's descent on the scalars a
        return {"p": p, "u": u, "v": theta.copy() if "v" in self.frozen else v}

    def effective(self, params: Params) -> tuple[Array, Array]:
        return params["p"] @ params["u"], params["v"]

    def pull_back(self, params: Params, by_e: Array, by_v: Array) -> Params:
        return {"p": by_e[:, None] * params["u"], "u": by_e @ params["p"], "v": by_v}


@dataclass(frozen=True)
class FullAbsolute:
    """All matrices trained: e = P W_Q' W_K P'. `tied` keeps W_K = W_Q = W, the paper's simplification.

    Freezing ("w_v", "h") starts them at the identity and theta, so that v = theta as in the paper's proofs.
    """

    tied: bool = False
    frozen: tuple[str, ...] = ("w_v", "h")
    relative = False

    def start(self, ring: Ring, theta: Array, rng: np.random.Generator) -> Params:
        return {"p": gaussian(rng, ring.n, ring.d), **_matrices(ring.d, self.tied, self.frozen, theta, rng)}

    def effective(self, params: Params) -> tuple[Array, Array]:
        queries, keys = params["p"] @ params["w_q"].T, params["p"] @ params["w_k"].T
        return queries @ keys.T, params["w_v"].T @ params["h"]

    def pull_back(self, params: Params, by_e: Array, by_v: Array) -> Params:
        p, w_k, w_q = params["p"], params["w_k"], params["w_q"]
        to_queries, to_keys = by_e @ (p @ w_k.T), by_e.T @ (p @ w_q.T)  # gradients by the rows of queries and keys
        by_w_q, by_w_k = to_queries.T @ p, to_keys.T @ p
        if self.tied:
            by_w_q = by_w_k = by_w_q + by_w_k
        return {"p": to_queries @ w_q + to_keys @ w_k, "w_q": by_w_q, "w_k": by_w_k, **_to_readout(params, by_v)}


@dataclass(frozen=True)
class FullRelative:
    """All matrices trained: e_k = p_k' W_K' W_Q u."""

    tied: bool = False
    frozen: tuple[str, ...] = ()
    relative = True

    def start(self, ring: Ring, theta: Array, rng: np.random.Generator) -> Params:
        vectors = {"p": gaussian(rng, ring.n, ring.d), "u": gaussian(rng, ring.d)}
        return {**vectors, **_matrices(ring.d, self.tied, self.frozen, theta, rng)}

    def effective(self, params: Params) -> tuple[Array, Array]:
        return params["p"] @ (params["w_k"].T @ (params["w_q"] @ params["u"])), params["w_v"].T @ params["h"]

    def pull_back(self, params: Params, by_e: Array, by_v: Array) -> Params:
        p, u, w_k, w_q = params["p"], params["u"], params["w_k"], params["w_q"]
        query, key = w_q @ u, w_k @ (by_e @ p)  # key: the keys of all lags, weighted by their gradients
        by_w_q, by_w_k = np.outer(key, u), np.outer(query, by_e @ p)
        if self.tied:
            by_w_q = by_w_k = by_w_q + by_w_k
        by_p, by_u = np.outer(by_e, w_k.T @ query), w_q.T @ key
        return {"p": by_p, "u": by_u, "w_q": by_w_q, "w_k": by_w_k, **_to_readout(params, by_v)}


def _matrices(d: int, tied: bool, frozen: tuple[str, ...], theta: Array, rng: np.random.Generator) -> Params:
    w_q = gaussian(rng, d, d)
    w_k = w_q.copy() if tied else gaussian(rng, d, d)
    w_v, h = gaussian(rng, d, d), gaussian(rng, d)
    aligned = {"w_v", "h"} <= set(frozen)
    return {"w_q": w_q, "w_k": w_k, "w_v": np.eye(d) if aligned else w_v, "h": theta.copy() if aligned else h}


def _to_readout(params: Params, by_v: Array) -> Params:
    return {"w_v": np.outer(params["h"], by_v), "h": params["w_v"] @ by_v}


def gaussian(rng: np.random.Generator, *shape: int) -> Array:
    """[..., d]: Gaussian vectors of length about one."""
    return rng.standard_normal(shape) / np.sqrt(shape[-1])


def attention_matrix(model: Model, params: Params) -> tuple[Array, Array]:
    """(M [n, n], v [d]): the function of the model, whatever its parametrisation."""
    e, v = model.effective(params)
    return (circulant(e) if model.relative else e), v


def check_decay(decay: float) -> None:
    """Refuse a rate of weight decay that would make the weights grow."""
    if not (np.isfinite(decay) and decay >= 0):
        raise ValueError(f"decay must be 0 or more, not {decay!r}")


def population_gradient(model: Model, params: Params, supervision: Supervision, decay: float = 0.0) -> Params:
    """The gradient of the expected loss by every trained array, with the decay added."""
    e, v = model.effective(params)
    gradients = model.pull_back(params, *supervision.gradient(e, v))
    trained = {name: g for name, g in gradients.items() if name not in model.frozen}
    return {name: g + decay * params[name] for name, g in trained.items()} if decay else trained


def flat_gradient(
    model: Model, params: Params, supervision: Supervision, decay: float = 0.0
) -> tuple[Array, Callable[[Array], Array], Callable[[Array], Params]]:
    """The trained arrays as one vector, the gradient as a function of such vectors, and the way back to arrays."""
    names = [name for name in params if name not in model.frozen]
    ends = np.cumsum([params[name].size for name in names])

    def unpack(state: Array) -> Params:
        parts = np.split(state, ends[:-1])
        return params | {name: part.reshape(params[name].shape) for name, part in zip(names, parts, strict=True)}

    def gradient(state: Array) -> Array:
        by = population_gradient(model, unpack(state), supervision, decay)
        return np.concatenate([by[name].ravel() for name in names])

    return np.concatenate([params[name].ravel() for name in names]), gradient, unpack


def flow_parameters(
    model: Model, params: Params, supervision: Supervision, times: Sequence[float], decay: float = 0.0
) -> list[Params]:
    """Every array of the model at each of the times: eq. p_derivative, and its like for u, v and the matrices."""
    start, gradient, unpack = flat_gradient(model, params, supervision, decay)
    return [unpack(state) for state in _integrate(lambda state: -gradient(state), start, times, decay)]


def flow_gram(gram: Array, supervision: Supervision, times: Sequence[float], decay: float = 0.0) -> Array:
    """[times, n, n]: A_kl = p_k . p_l over time from any start, for v = theta (eq. A_derivative)."""

    def rate(state: Array) -> Array:
        return gram_rate(state.reshape(gram.shape), supervision.counts, supervision.target, decay).ravel()

    return _integrate(rate, gram.ravel(), times, decay).reshape(-1, *gram.shape)


def flow_lags(lags: Array, counts: Array, target: Array, times: Sequence[float], decay: float = 0.0) -> Array:
    """[times, n]: A_j over time (eq. diff) from a translation-invariant start (eq. initialization)."""
    if not np.allclose(lags, np.roll(lags[::-1], 1)):
        raise ValueError("lags must be symmetric (A_j = A_-j): they are inner products of vectors on a ring")
    return _integrate(lambda state: lag_rate(state, counts, target, decay), lags, times, decay)


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
