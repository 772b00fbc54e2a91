"""What differences, comparisons and divisions by one digit train on: mostly short numbers, and what is rare otherwise.

All problems of a batch are at most as long as a length that is drawn for the batch. What has to go up one row and down
another, or down from the top, is learned where the way is short.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from digitwise.data.carries import Practice
from digitwise.data.distributions import UniformLengths, fits
from digitwise.numbers.digits import Digits
from digitwise.tasks.base import Distribution

Ints = NDArray[np.int64]
SHORT = (0.25, 0.25, 0.3, 0.1, 0.1)
"""Shares of batches with numbers of at most 1, 2, ... digits; the last share is for all that are longer."""


SHARES = (0.35, 0.1, 0.1, 0.05, 0.1, 0.3)
"""Of pairs of numbers: any, equal at the top, equal at the bottom, equal, near, with borrows through zeros."""


@dataclass(frozen=True)
class ShortFirst(Distribution):
    """Numbers of uniform lengths."""

    max_length: int = 5

    def width(self, longest: int | None) -> int:
        return fits(self.max_length, longest)

    def draw(self, rng: np.random.Generator, count: int, numbers: int, longest: int | None) -> Digits:
        most = _most(rng, self.width(longest))
        return UniformLengths(most).draw(rng, count, numbers, longest)


@dataclass(frozen=True)
class Compared(Distribution):
    """Two numbers: any, equal at the top or at the bottom, equal, near each other, and such that a borrow passes
    through zeros. `200 - 191` and `300 - 191` differ only in whether a zero leads, and such columns are rare."""

    max_length: int = 5

    def width(self, longest: int | None) -> int:
        if self.max_length > 18:
            raise ValueError(f"compared numbers have at most 18 digits here, not {self.max_length}")
        return fits(self.max_length, longest)

    def draw(self, rng: np.random.Generator, count: int, numbers: int, longest: int | None) -> Digits:
        if numbers != 2:
            raise ValueError(f"two numbers are compared, not {numbers}")
        most = _most(rng, self.width(longest))
        power = 10 ** np.arange(most)
        a, b = Practice(most, borrows=True).draw(rng, count, 2, longest).astype(np.int64).swapaxes(0, 1) @ power
        below = 10 ** rng.integers(0, most + 1, count)
        c, d = self._borrowing(rng, count, most) if most > 2 else (a, b)
        pairs = [
            (a, b), (a, a // below * below + b % below), (a, b // below * below + a % below), (a, a),
            (a, np.abs(a - rng.integers(0, below + 1)) % 10**most), (c, d),
        ]  # fmt: skip
        kind = rng.choice(len(pairs), count, p=SHARES)
        chosen = np.choose(kind, [pair[0] for pair in pairs]), np.choose(kind, [pair[1] for pair in pairs])
        swapped = rng.random(count) < 0.5
        values = np.stack([np.where(swapped, *chosen[::-1]), np.where(swapped, *chosen)], axis=1)
        return (values[..., None] // power % 10).astype(np.uint8)

    def _borrowing(self, rng: np.random.Generator, count: int, most: int) -> tuple[Ints, Ints]:
        """A number with zeros above its lowest digits, and one that is so little below it that these are borrowed from;
        half of the time lower by more in the digits above the zeros, so that none of them leads."""
        low = rng.integers(0, max(1, most - 1), count)
        disturbed = 10 ** rng.integers(0, low + 1)
        above = 10 ** np.minimum(low + 1, most - 1)
        one = rng.integers(1, 10**most // above) * above + rng.integers(0, disturbed)
        further = rng.integers(0, one // above) * above * (rng.random(count) < 0.5)
        other = one - rng.integers(1, 10 * disturbed + 1) - further
        return one, np.maximum(other, 0)


def _most(rng: np.random.Generator, longest: int) -> int:
    shares = np.array(SHORT[:longest])
    drawn = int(rng.choice(len(shares), p=shares / shares.sum())) + 1
    return longest if drawn == len(shares) else drawn
