"""The regression task on a ring, and everything about it that training can see.

Shapes: n positions on the ring, d entries of a token, n_1 positions that carry a token during training.

    s = X theta                    [n]     what a token x_i says: <theta, x_i>, standard normal when x_i is
    y = B s                        [n]     eq. regression_y_x, with B the circulant `Ring.target`
    y_hat = M X v                  [n]     every model of the paper, with M [n, n] its attention and v [d] its read-out

Because tokens are independent standard normals, E <a, x_i> <b, x_j> = <a, b> if i = j and 0 otherwise. So the expected
loss is a weighted sum over pairs of positions, and the weights are plain counts:

    E loss(M, v) = sum_{i, r} C[i, r] * |M[i, r] v - B[i, r] theta|^2

C[i, r] is the number of training windows that contain both i and r: one window for APE (eq. eq:loss_noaug), n shifted
windows for the augmented loss (eq. eq:loss_aug). A pair that no window contains has C = 0, and nothing teaches it:
the three results of the paper are three answers to what becomes of such a pair.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Ring:
    """The task: n positions, the first n_1 of them filled during training, tokens of d entries, weights alpha and beta.

    `beta` holds (beta_1, ..., beta_m): the weights of the neighbours 1, ..., m steps away on either side.
    The paper gives n, n_1, d and m of its experiments, but neither alpha nor beta: the defaults are ours.
    """

    n: int = 51
    n_1: int = 10
    d: int = 200
    alpha: float = 2.0
    beta: tuple[float, ...] = (0.5,)

    def __post_init__(self) -> None:
        for name in ("n", "n_1", "d"):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}")
        if self.n_1 > self.n:
            raise ValueError(
                f"n_1 must not exceed n: the window of {self.n_1} does not fit a ring of {self.n} positions"
            )
        if not isinstance(self.beta, tuple):
            raise ValueError(f"beta must be a tuple (beta_1, ..., beta_m), for instance (0.5,), not {self.beta!r}")
        if 2 * self.m >= self.n:
            raise ValueError(
                f"m = {self.m} neighbours on each side overlap on a ring of n = {self.n}: "
                f"give at most {(self.n - 1) // 2} values of beta or enlarge n"
            )
        if not np.all(np.isfinite([self.alpha, *self.beta])):
            raise ValueError(f"alpha and beta must be finite, not {self.alpha!r} and {self.beta!r}")

    @property
    def m(self) -> int:
        """How far the target looks to either side."""
        return len(self.beta)

    @property
    def lag_target(self) -> Array:
        """b [n]: the target as a function of the lag i - r on the ring (lag -k is stored at n - k)."""
        b = np.zeros(self.n)
        b[0] = self.alpha
        for k, weight in enumerate(self.beta, start=1):
            b[k] = b[-k] = weight
        return b

    @property
    def target(self) -> Array:
        """B [n, n]: y = B s."""
        return circulant(self.lag_target)

    @property
    def window(self) -> NDArray[np.bool_]:
        """[n]: which positions carry a token during training (before any shift)."""
        return np.arange(self.n) < self.n_1

    @property
    def variance(self) -> float:
        """E y_i^2 = alpha^2 + 2 sum beta_m^2: the loss of a model that always answers 0."""
        return float(np.sum(self.lag_target**2))


def circulant(lags: Array) -> Array:
    """[n] -> [n, n]: entry (i, r) is lags[i - r], read around the ring.

    This is the paper's idea in one line, p[i, j] = table[classes(i, j)], with the class of a pair its lag.
    """
    n = len(lags)
    i, r = np.ogrid[:n, :n]
    return lags[(i - r) % n]


def pool_lags(pairs: Array) -> Array:
    """[n, n] -> [n]: sums over all pairs of the same lag, the transpose of `circulant`."""
    n = len(pairs)
    i, r = np.indices((n, n))
    return np.asarray(np.bincount(((i - r) % n).ravel(), weights=pairs.ravel(), minlength=n), dtype=np.float64)


@dataclass(frozen=True)
class Setting:
    """One of the paper's three settings: which positions the model knows, and whether training data are shifted."""

    name: str
    title: str
    relative: bool
    shifts: bool


APE = Setting("ape", "APE", relative=False, shifts=False)
APE_SHIFTS = Setting("ape-shifts", "APE + shifts", relative=False, shifts=True)
RPE = Setting("rpe", "RPE", relative=True, shifts=False)
SETTINGS = (APE, APE_SHIFTS, RPE)


def pair_counts(ring: Ring, shifts: bool) -> Array:
    """C [n, n]: in how many training windows positions i and r both carry a token.

    With every circular shift this is (n_1 - |i - r|)_+ for windows of at most half the ring, the paper's
    2w + 1 - |r|; for longer windows the other way around the ring adds its own share, which the paper leaves out.
    """
    inside = ring.window.astype(float)
    if not shifts:
        return np.outer(inside, inside)
    return circulant(np.array([inside @ np.roll(inside, lag) for lag in range(ring.n)]))


def pair_loss(e: Array, b: Array, v: Array, theta: Array) -> Array:
    """|e v - b theta|^2 for every entry of e and b, without an axis of d.

    Split along v: (e |v| - b c)^2 + b^2 (1 - c^2), with c the cosine of v and theta. Multiplying the square out instead
    would lose eight digits near a perfect fit, and could come out negative.
    """
    length = float(np.linalg.norm(v))
    cosine = float(v @ theta) / length if length > 0 else 0.0
    return np.asarray((e * length - b * cosine) ** 2 + b**2 * max(1 - cosine**2, 0.0))


@dataclass(frozen=True, eq=False)
class Supervision:
    """What the population loss knows: sum counts * |e v - target theta|^2 over the effective weights e of a model.

    For absolute positions e is the attention matrix M [n, n]; for relative positions it is the vector of lags a [n],
    and the counts of all pairs with the same lag are pooled. That pooling is the whole difference between the two.
    """

    counts: Array
    target: Array
    theta: Array

    def loss(self, e: Array, v: Array) -> float:
        """E loss, summed over all supervised outputs of all windows."""
        return float(np.sum(self.counts * pair_loss(e, self.target, v, self.theta)))

    def gradient(self, e: Array, v: Array) -> tuple[Array, Array]:
        """The gradients of `loss` by e and by v."""
        by_e = 2 * self.counts * (e * float(v @ v) - self.target * float(v @ self.theta))
        weighted = self.counts * e
        by_v = 2 * float(np.vdot(weighted, e)) * v - 2 * float(np.vdot(weighted, self.target)) * self.theta
        return by_e, by_v


def supervise(ring: Ring, setting: Setting, theta: Array) -> Supervision:
    """The population loss of a setting."""
    counts = pair_counts(ring, setting.shifts)
    if setting.relative:
        return Supervision(pool_lags(counts), ring.lag_target, theta)
    return Supervision(counts, ring.target, theta)


def supervised_outputs(ring: Ring, setting: Setting) -> int:
    """How many outputs the summed loss counts: divide by it to get the mean squared error of one output."""
    return ring.n_1 * (ring.n if setting.shifts else 1)


def test_loss(ring: Ring, matrix: Array, v: Array, theta: Array) -> Array:
    """[n]: E (y_hat_i - y_i)^2 at each position when all n positions carry tokens."""
    return np.asarray(pair_loss(matrix, ring.target, v, theta).sum(axis=1))


def sampled_test_loss(
    ring: Ring, matrices: list[Array], readouts: list[Array], theta: Array, samples: int, rng: np.random.Generator
) -> Array:
    """[models, n]: the same from drawn tokens, the same draws for every model (in slices: 5,000 rings are 400 MB)."""
    if samples < 1:
        raise ValueError(f"samples must be at least 1, not {samples}")
    total = np.zeros((len(matrices), ring.n))
    for begin in range(0, samples, 250):
        x = rng.standard_normal((min(250, samples - begin), ring.n, ring.d))
        y = (x @ theta) @ ring.target.T
        for k, (matrix, v) in enumerate(zip(matrices, readouts, strict=True)):
            total[k] += np.sum(((x @ v) @ matrix.T - y) ** 2, axis=0)
    return total / samples


# pytest would otherwise collect the function as a test wherever it is imported
test_loss.__test__ = False  # type: ignore[attr-defined]


def generator(seed: int, name: str) -> np.random.Generator:
    """A stream of its own for every (seed, name): nothing here touches numpy's global state."""
    if seed < 0:
        raise ValueError(f"seed must not be negative, not {seed}")
    return np.random.default_rng([seed, zlib.crc32(name.encode())])


def unit_vector(d: int, rng: np.random.Generator) -> Array:
    """A uniformly random direction: the theta of a run."""
    draw = rng.standard_normal(d)
    return draw / np.linalg.norm(draw)
