"""Problems by length or value, shifted copies, problems without carries, and mixtures of these.

A distribution draws the numbers of any length (both summands, or the multiplicand alone) as digits
`[count, numbers, width]`. It receives the most digits that fit, so it can refuse before anything is computed.
"""

from dataclasses import dataclass

import numpy as np

from digitwise.numbers import digits as dg
from digitwise.numbers.digits import Digits
from digitwise.tasks.base import Distribution

MOST_DIGITS = 1_000_000
"""Longer numbers are refused before memory is allocated."""


def fits(length: int, longest: int | None, least: int = 1) -> int:
    """Return the length if it is possible; `longest` is None where there is no canvas."""
    if length < least:
        raise ValueError(f"a length must be at least {least}, not {length}")
    if length > MOST_DIGITS:
        raise ValueError(f"a length must be at most {MOST_DIGITS:,}, not {length}")
    if longest is not None and length > longest:
        raise ValueError(f"numbers of {length} digits need a canvas of at least {length}, and this one has {longest}")
    return length


@dataclass(frozen=True)
class UniformValues(Distribution):
    """The paper's: uniform over all values below 10^max_length, so nine in ten have max_length digits."""

    max_length: int = 5

    def width(self, longest: int | None) -> int:
        return fits(self.max_length, longest)

    def draw(self, rng: np.random.Generator, count: int, numbers: int, longest: int | None) -> Digits:
        return rng.integers(0, 10, (count, numbers, self.width(longest)), dtype=np.uint8)


@dataclass(frozen=True)
class UniformLengths(Distribution):
    """Lengths uniform from min_length to max_length, then values uniform among the numbers of that many digits.

    Each number of a problem has a length of its own.
    """

    max_length: int = 5
    min_length: int = 1

    def width(self, longest: int | None) -> int:
        fits(self.min_length, self.max_length)
        return fits(self.max_length, longest)

    def draw(self, rng: np.random.Generator, count: int, numbers: int, longest: int | None) -> Digits:
        width = self.width(longest)
        return dg.sample(rng, width, rng.integers(self.min_length, self.max_length + 1, (count, numbers)))


@dataclass(frozen=True)
class GrowingLengths(UniformLengths):
    """The same up to a length that is drawn for the whole draw, uniform from min_length to max_length: where sequences
    grow with their numbers, training shows all lengths of sequences up to the longest."""

    def draw(self, rng: np.random.Generator, count: int, numbers: int, longest: int | None) -> Digits:
        most = int(rng.integers(self.min_length, self.width(longest) + 1))
        return UniformLengths(most, self.min_length).draw(rng, count, numbers, longest)


@dataclass(frozen=True)
class ExactLength(Distribution):
    """Every operand has exactly `length` digits: the meaning of "length L" in all headline numbers."""

    length: int = 5

    def width(self, longest: int | None) -> int:
        return fits(self.length, longest)

    def draw(self, rng: np.random.Generator, count: int, numbers: int, longest: int | None) -> Digits:
        drawn = rng.integers(0, 10, (count, numbers, self.width(longest)), dtype=np.uint8)
        if self.length > 1:
            drawn[..., -1] = rng.integers(1, 10, (count, numbers), dtype=np.uint8)
        return drawn


@dataclass(frozen=True)
class Shifted(Distribution):
    """Copies of another distribution's problems with the same number of zeros appended to every varying operand,
    each shift that fits the canvas equally likely (the paper's augmentation, findings A3 and M3)."""

    base: Distribution = UniformValues()

    def width(self, longest: int | None) -> int:
        self.base.width(longest)
        if longest is None:
            raise ValueError("shifted copies move numbers on a canvas, and this task has none")
        return longest

    def draw(self, rng: np.random.Generator, count: int, numbers: int, longest: int | None) -> Digits:
        width = self.width(longest)
        drawn = dg.widen(self.base.draw(rng, count, numbers, longest), width)
        by = rng.integers(0, width - dg.lengths(drawn).max(-1) + 1)
        return dg.shift(drawn, np.repeat(by[:, None], numbers, axis=1))

    def most_digits(self, longest: int | None) -> int:
        return self.base.most_digits(longest)


@dataclass(frozen=True)
class ShortMultipliers(Distribution):
    """Another distribution's multiplicands, times multipliers of one digit up to as many as the task has, each length
    equally likely, 0 among them: for training. Large multipliers are learned from small ones, and a multiplier of 0
    makes every digit depend on the multiplier, which carries to longer multiplicands (LOG.md)."""

    base: Distribution = UniformValues()
    tries: int = 1
    """For every other multiplicand so many multipliers are drawn, and the one whose product has the most zeros and
    nines is taken: there a carry hangs on places far below, which is what is wrong in long products (LOG.md)."""

    def __post_init__(self) -> None:
        if not 1 <= self.tries <= 1000:
            raise ValueError(f"tries must be from 1 to 1,000, not {self.tries}")

    def width(self, longest: int | None) -> int:
        return self.base.width(longest)

    def draw(self, rng: np.random.Generator, count: int, numbers: int, longest: int | None) -> Digits:
        if numbers != 1:
            raise ValueError("sums have no multiplier: use this distribution with multiplication")
        return self.base.draw(rng, count, numbers, longest)

    def multipliers(self, rng: np.random.Generator, count: int, digits: int, zero: bool) -> Digits:
        return dg.sample(rng, digits, rng.integers(1, digits + 1, count))

    def products(
        self, rng: np.random.Generator, count: int, digits: int, zero: bool, longest: int | None
    ) -> tuple[Digits, Digits]:
        multipliers, numbers = super().products(rng, count, digits, zero, longest)
        if self.tries > 1:
            hard = numbers[::2]
            tried = self.multipliers(rng, self.tries * len(hard), digits, zero).reshape(self.tries, -1, digits)
            found = dg.multiply(tried, hard[:, 0])
            place = np.arange(found.shape[-1])
            inner = (place > 0) & (place < dg.lengths(found)[..., None] - 1)
            best = (inner & ((found == 0) | (found == 9))).sum(-1).argmax(0)
            multipliers[::2] = tried[best, np.arange(len(hard))]
        return multipliers, numbers

    def most_digits(self, longest: int | None) -> int:
        return self.base.most_digits(longest)


@dataclass(frozen=True)
class NoCarry(Distribution):
    """Two summands of which no column exceeds 9, uniform over all such pairs below 10^length, or of exactly `length`
    digits each."""

    length: int = 5
    exactly: bool = False

    def width(self, longest: int | None) -> int:
        return fits(self.length, longest)

    def draw(self, rng: np.random.Generator, count: int, numbers: int, longest: int | None) -> Digits:
        if numbers != 2:
            raise ValueError("additions without carries need two summands: use this distribution with addition")
        width = self.width(longest)
        out = np.moveaxis(_columns_without_carry(rng, (count, width), least=0), -1, -2)
        if self.exactly:
            out[:, :, -1] = _columns_without_carry(rng, (count,), least=1 if width > 1 else 0)
        return out


@dataclass(frozen=True)
class ManyNines(Distribution):
    """Two summands of one length, uniform from 1 to max_length. Each column sums to 9 with chance `share`, and is
    uniform otherwise: runs of nines of every length, entered with a carry about as often as without one."""

    max_length: int = 5
    share: float = 0.5

    def width(self, longest: int | None) -> int:
        return fits(self.max_length, longest)

    def draw(self, rng: np.random.Generator, count: int, numbers: int, longest: int | None) -> Digits:
        if numbers != 2:
            raise ValueError("columns that sum to 9 need two summands: use this distribution with addition")
        width = self.width(longest)
        out = rng.integers(0, 10, (count, 2, width), dtype=np.uint8)
        out[:, 1] = np.where(rng.random((count, width)) < self.share, 9 - out[:, 0], out[:, 1])
        lengths = rng.integers(1, width + 1, count)
        out *= (np.arange(width) < lengths[:, None])[:, None, :]
        return out


@dataclass(frozen=True)
class Mixture(Distribution):
    """Each problem comes from one of several distributions, chosen by weight: `Mixture(((0.5, a), (0.5, b)))`."""

    parts: tuple[tuple[float, Distribution], ...] = ((1.0, UniformValues()),)

    def width(self, longest: int | None) -> int:
        if not self.parts or any(weight < 0 for weight, _ in self.parts) or not sum(w for w, _ in self.parts) > 0:
            raise ValueError("a mixture needs parts with weights that are not negative and not all zero")
        return max(part.width(longest) for _, part in self.parts)

    def draw(self, rng: np.random.Generator, count: int, numbers: int, longest: int | None) -> Digits:
        width = self.width(longest)
        weights = np.array([weight for weight, _ in self.parts])
        choice = rng.choice(len(self.parts), count, p=weights / weights.sum())
        out = np.zeros((count, numbers, width), dtype=np.uint8)
        for index, (_, part) in enumerate(self.parts):
            chosen = np.flatnonzero(choice == index)
            out[chosen] = dg.widen(part.draw(rng, len(chosen), numbers, longest), width)
        return out

    def most_digits(self, longest: int | None) -> int:
        return max(part.most_digits(longest) for _, part in self.parts)


def _columns_without_carry(rng: np.random.Generator, shape: tuple[int, ...], least: int) -> Digits:
    """Uniform pairs of digits, each at least `least`, that sum to at most 9: `[*shape, 2]`."""
    pairs = np.array([(a, b) for a in range(least, 10) for b in range(least, 10 - a)], dtype=np.uint8)
    return pairs[rng.integers(0, len(pairs), shape)]


PLAIN = {
    "values": UniformValues,
    "lengths": UniformLengths,
    "growing": GrowingLengths,
    "exact": ExactLength,
    "shifted": Shifted,
    "short-multipliers": ShortMultipliers,
    "nocarry": NoCarry,
    "many-nines": ManyNines,
    "mixture": Mixture,
}
