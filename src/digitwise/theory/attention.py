"""The linear-attention models: factored as in the paper's proofs, and with all of W_K, W_Q, W_V and h beside it.

A model is a dictionary of arrays (`Params`) with two functions: `effective` maps them to the weights that the loss sees
(e, v), and `pull_back` carries a gradient by (e, v) back to the arrays. Everything else (descent, sampling, flow) is
shared, so the parametrisations differ in nothing but these two functions.

    FactoredAbsolute   y_hat_i = sum_r (p_i . p_r) <v, x_r>                              eq. linear_ape
    FactoredRelative   y_hat_i = sum_r (p_{i-r} . u) <v, x_r>                            eq. linear_rpe
    FullAbsolute       y_hat_i = h' W_V sum_r x_r (p_r' W_K' W_Q p_i)                    eq. factored
    FullRelative       y_hat_i = h' W_V sum_r x_r (p_{i-r}' W_K' W_Q u)                  eq. factored_rel
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from digitwise.theory.ring import Array, Ring, circulant

Params = dict[str, Array]


class Model(Protocol):
    """What training needs to know about a parametrisation."""

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


def attention_matrix(model: Model, params: Params) -> tuple[Array, Array]:
    """(M [n, n], v [d]): the function of the model, whatever its parametrisation."""
    e, v = model.effective(params)
    return (circulant(e) if model.relative else e), v


@dataclass(frozen=True)
class FactoredAbsolute:
    """W absorbed into the positional vectors: e = P P', symmetric and positive semidefinite whatever the data say.

    The paper keeps v = theta for its two negative results, so `v` is frozen unless told otherwise.
    """

    frozen: tuple[str, ...] = ("v",)
    relative = False

    def start(self, ring: Ring, theta: Array, rng: np.random.Generator) -> Params:
        return {"p": _rows(ring.n, ring.d, rng), "v": theta.copy() if "v" in self.frozen else _row(ring.d, rng)}

    def effective(self, params: Params) -> tuple[Array, Array]:
        return params["p"] @ params["p"].T, params["v"]

    def pull_back(self, params: Params, by_e: Array, by_v: Array) -> Params:
        return {"p": (by_e + by_e.T) @ params["p"], "v": by_v}


@dataclass(frozen=True)
class FactoredRelative:
    """One positional vector for each lag and a constant query u: e_k = a_k = p_k . u."""

    frozen: tuple[str, ...] = ()
    relative = True

    def start(self, ring: Ring, theta: Array, rng: np.random.Generator) -> Params:
        p, u, v = _rows(ring.n, ring.d, rng), _row(ring.d, rng), _row(ring.d, rng)
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
        return {"p": _rows(ring.n, ring.d, rng), **_matrices(ring.d, self.tied, self.frozen, theta, rng)}

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
        vectors = {"p": _rows(ring.n, ring.d, rng), "u": _row(ring.d, rng)}
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


def absorb(params: Mapping[str, Array]) -> Params:
    """Factored arrays that compute the same function as tied full ones: p <- W p, u <- W u, v = W_V' h."""
    if not np.array_equal(params["w_k"], params["w_q"]):
        raise ValueError("absorbing needs W_K = W_Q: only the tied model has a factored form with p on both sides")
    absorbed = {"p": params["p"] @ params["w_k"].T, "v": params["w_v"].T @ params["h"]}
    return {**absorbed, "u": params["w_k"] @ params["u"]} if "u" in params else absorbed


def _rows(count: int, d: int, rng: np.random.Generator) -> Array:
    return rng.standard_normal((count, d)) / np.sqrt(d)


def _row(d: int, rng: np.random.Generator) -> Array:
    return _rows(1, d, rng)[0]


def _matrices(d: int, tied: bool, frozen: tuple[str, ...], theta: Array, rng: np.random.Generator) -> Params:
    w_q = _rows(d, d, rng)
    w_k = w_q.copy() if tied else _rows(d, d, rng)
    w_v, h = _rows(d, d, rng), _row(d, rng)
    aligned = {"w_v", "h"} <= set(frozen)
    return {"w_q": w_q, "w_k": w_k, "w_v": np.eye(d) if aligned else w_v, "h": theta.copy() if aligned else h}


def _to_readout(params: Params, by_v: Array) -> Params:
    return {"w_v": np.outer(params["h"], by_v), "h": params["w_v"] @ by_v}
