"""Which problems are drawn.

A distribution draws the operands that vary in length (both summands, or the multiplicand alone) as digits
`[count, operands, width]`. It knows the canvas, so that what does not fit is refused before anything is computed.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from digitwise.numbers import digits as dg
from digitwise.numbers.digits import Digits


class Distribution(Protocol):
    def width(self, canvas: int) -> int:
        """Places that the drawn numbers need; a ValueError says which canvas would do."""
        ...

    def draw(self, rng: np.random.Generator, count: int, operands: int, canvas: int) -> Digits: ...


def fits(length: int, canvas: int, least: int = 1) -> int:
    if length < least:
        raise ValueError(f"a length must be at least {least}, not {length}")
    if length > canvas:
        raise ValueError(f"numbers of {length} digits need a canvas of at least {length}, and this one has {canvas}")
    return length


@dataclass(frozen=True)
class UniformValues:
    """The paper's: uniform over all values below 10^max_length, so nine in ten have max_length digits."""

    max_length: int = 5

    def width(self, canvas: int) -> int:
        return fits(self.max_length, canvas)

    def draw(self, rng: np.random.Generator, count: int, operands: int, canvas: int) -> Digits:
        return rng.integers(0, 10, (count, operands, self.width(canvas)), dtype=np.uint8)


@dataclass(frozen=True)
class UniformLengths:
    """Lengths uniform from min_length to max_length, then values uniform among the numbers of that many digits.

    Each operand has a length of its own, or with `equal` all operands of a problem share one.
    """

    max_length: int = 5
    min_length: int = 1
    equal: bool = False

    def width(self, canvas: int) -> int:
        fits(self.min_length, self.max_length)
        return fits(self.max_length, canvas)

    def draw(self, rng: np.random.Generator, count: int, operands: int, canvas: int) -> Digits:
        width = self.width(canvas)
        lengths = rng.integers(self.min_length, self.max_length + 1, (count, 1 if self.equal else operands))
        return dg.sample(rng, width, np.broadcast_to(lengths, (count, operands)))


@dataclass(frozen=True)
class ExactLength:
    """Every operand has exactly `length` digits: the meaning of "length L" in all headline numbers."""

    length: int = 5

    def width(self, canvas: int) -> int:
        return fits(self.length, canvas)

    def draw(self, rng: np.random.Generator, count: int, operands: int, canvas: int) -> Digits:
        drawn = rng.integers(0, 10, (count, operands, self.width(canvas)), dtype=np.uint8)
        if self.length > 1:
            drawn[..., -1] = rng.integers(1, 10, (count, operands), dtype=np.uint8)
        return drawn


@dataclass(frozen=True)
class Shifted:
    """Copies of another distribution's problems with the same number of zeros appended to every varying operand,
    each shift that fits the canvas equally likely (the paper's augmentation, findings A3 and M3)."""

    base: Distribution = UniformValues()

    def width(self, canvas: int) -> int:
        self.base.width(canvas)
        return canvas

    def draw(self, rng: np.random.Generator, count: int, operands: int, canvas: int) -> Digits:
        drawn = dg.widen(self.base.draw(rng, count, operands, canvas), canvas)
        room = canvas - dg.lengths(drawn).max(-1)
        by = rng.integers(0, room + 1)
        return dg.shift(drawn, np.repeat(by[:, None], operands, axis=1))


@dataclass(frozen=True)
class ShortMultipliers:
    """Another distribution's multiplicands, times multipliers of one digit up to the task's own number, each length
    equally likely, 0 among them: for training. Large multipliers are learned from small ones, and a multiplier of 0
    makes every digit depend on the multiplier, which carries to longer multiplicands (LOG.md)."""

    base: Distribution = UniformValues()

    def width(self, canvas: int) -> int:
        return self.base.width(canvas)

    def draw(self, rng: np.random.Generator, count: int, operands: int, canvas: int) -> Digits:
        if operands != 1:
            raise ValueError("sums have no multiplier: use this distribution with multiplication")
        return self.base.draw(rng, count, operands, canvas)


@dataclass(frozen=True)
class NoCarry:
    """Two summands of which no column exceeds 9, uniform over all such pairs below 10^length, or of exactly `length`
    digits each."""

    length: int = 5
    exactly: bool = False

    def width(self, canvas: int) -> int:
        return fits(self.length, canvas)

    def draw(self, rng: np.random.Generator, count: int, operands: int, canvas: int) -> Digits:
        if operands != 2:
            raise ValueError("additions without carries need two summands: use this distribution with addition")
        width = self.width(canvas)
        out = np.moveaxis(_columns_without_carry(rng, (count, width), least=0), -1, -2)
        if self.exactly:
            out[:, :, -1] = _columns_without_carry(rng, (count,), least=1 if width > 1 else 0)
        return out


@dataclass(frozen=True)
class Mixture:
    """Each problem comes from one of several distributions, chosen by weight: `Mixture(((0.5, a), (0.5, b)))`."""

    parts: tuple[tuple[float, Distribution], ...] = ((1.0, UniformValues()),)

    def width(self, canvas: int) -> int:
        if not self.parts or any(weight < 0 for weight, _ in self.parts) or not sum(w for w, _ in self.parts) > 0:
            raise ValueError("a mixture needs parts with weights that are not negative and not all zero")
        return max(part.width(canvas) for _, part in self.parts)

    def draw(self, rng: np.random.Generator, count: int, operands: int, canvas: int) -> Digits:
        width = self.width(canvas)
        weights = np.array([weight for weight, _ in self.parts])
        choice = rng.choice(len(self.parts), count, p=weights / weights.sum())
        out = np.zeros((count, operands, width), dtype=np.uint8)
        for index, (_, part) in enumerate(self.parts):
            chosen = np.flatnonzero(choice == index)
            out[chosen] = dg.widen(part.draw(rng, len(chosen), operands, canvas), width)
        return out


def longest(distribution: Distribution, canvas: int) -> int:
    """The most digits that a distribution draws, appended zeros aside."""
    if isinstance(distribution, Shifted | ShortMultipliers):
        return longest(distribution.base, canvas)
    if isinstance(distribution, Mixture):
        return max(longest(part, canvas) for _, part in distribution.parts)
    return distribution.width(canvas)


def _columns_without_carry(rng: np.random.Generator, shape: tuple[int, ...], least: int) -> Digits:
    """Uniform pairs of digits, each at least `least`, that sum to at most 9: `[*shape, 2]`."""
    pairs = np.array([(a, b) for a in range(least, 10) for b in range(least, 10 - a)], dtype=np.uint8)
    return pairs[rng.integers(0, len(pairs), shape)]


PLAIN = {
    "values": UniformValues,
    "lengths": UniformLengths,
    "exact": ExactLength,
    "shifted": Shifted,
    "short-multipliers": ShortMultipliers,
    "nocarry": NoCarry,
    "mixture": Mixture,
}
