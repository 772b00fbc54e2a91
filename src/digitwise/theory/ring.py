"""The regression task on a ring, and its expected loss in closed form.

Shapes: n positions on the ring, d entries per token, n_1 positions that carry a token during training.

    s = X theta                    [n]     the number that each token carries, standard normal because |theta| = 1
    y = B s                        [n]     eq. regression_y_x, with B the circulant `Ring.target`
    y_hat = M X v                  [n]     every model of the paper: M [n, n] is its attention, v [d] its read-out

Tokens are independent standard normals, so E <a, x_i> <b, x_j> is <a, b> if i = j and 0 otherwise. The expected loss is
therefore a weighted sum over pairs of positions, and the weights are plain counts:

    E loss(M, v) = sum_{i, r} C[i, r] * |M[i, r] v - B[i, r] theta|^2

C[i, r] is the number of training windows that contain both i and r: one window for APE (eq. eq:loss_noaug), n shifted
windows for the augmented loss (eq. eq:loss_aug). A pair that no window contains has C = 0 and receives no gradient. The
paper's three results are three answers to one question: what becomes of such a pair?
"""

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from digitwise.rng import generator

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
            raise ValueError(f"n_1 must not exceed n: the window of {self.n_1} does not fit a ring of {self.n}")
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
        """How many neighbours on either side enter the target."""
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

    @property
    def top(self) -> float:
        """alpha + 2 sum beta_m in magnitude: a bound on the eigenvalues of the target."""
        return abs(self.alpha) + 2 * sum(abs(weight) for weight in self.beta)

    def outputs(self, setting: "Setting") -> int:
        """How many outputs the summed loss counts: divide by it for the mean squared error of one output."""
        return self.n_1 * (self.n if setting.shifts else 1)

    def test_loss(self, matrix: Array, v: Array, theta: Array) -> Array:
        """[n]: E (y_hat_i - y_i)^2 at each position when all n positions carry tokens."""
        return np.asarray(pair_loss(matrix, self.target, v, theta).sum(axis=1))


# The paper's two experiments, by their m. Sizes are the paper's; alpha and beta are not printed there. Ours keep the
# target positive definite (see docs/theory.md): eigenvalues of M1 are between 1 and 3, of M5 between 0.8 and 8.
M1 = Ring(n=51, n_1=10, d=200, alpha=2.0, beta=(0.5,))
M5 = Ring(n=51, n_1=20, d=200, alpha=2.0, beta=(1.0, 0.8, 0.6, 0.4, 0.2))

# Other weights, to show that the picture does not hang on the choice: the edge of what P P' can fit, a large alpha, a
# negative neighbour, none at all.
OTHER_WEIGHTS = tuple(Ring(alpha=a, beta=(b,)) for a, b in ((1.0, 0.5), (3.0, 0.3), (2.0, -0.5), (1.5, 0.0)))


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
    """One of the paper's three settings: relative or absolute positions, training data shifted or not."""

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
    """The population loss: sum counts * |e v - target theta|^2 over the effective weights e of a model.

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


def stream(seed: int, name: str) -> np.random.Generator:
    """One generator per (seed, name), with the key of `digitwise.rng`.

    The key seeds PCG64 here and SFC64 there: the numbers of docs/theory.md were drawn with PCG64.
    """
    if seed < 0:
        raise ValueError(f"seed must not be negative, not {seed}")
    return np.random.default_rng(cast(np.random.SeedSequence, generator(seed, name).bit_generator.seed_seq))


def unit_vector(d: int, rng: np.random.Generator) -> Array:
    """A uniformly random direction: the theta of a run."""
    draw = rng.standard_normal(d)
    return draw / np.linalg.norm(draw)


def invariant_spectrum(ring: Ring, rng: np.random.Generator) -> Array:
    """[n]: the eigenvalues of a random translation-invariant start with A_0 near 1 and A_j of size 1 / sqrt(d).

    When d is a multiple of n, take d / n blocks of n Gaussian entries and let p_k be all blocks shifted by k: inner
    products then depend on the distance only. The eigenvalues of that Gram matrix are independent Gamma variables; the
    same law with a broken shape serves every other d. (For d < n no vectors have such a Gram matrix, but the equations
    for A_j still hold.)
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
