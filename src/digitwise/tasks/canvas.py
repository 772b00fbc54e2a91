"""The paper's two tasks in the paper's format: numbers padded from the left onto a canvas of fixed width.

    123 + 4095, canvas 5      tokens  _ _ 1 2 3 + _ 4 0 9 5      (eq. format_sum)
                              answer            _ _ 4 2 1 8      read at the operator and the second number

    56 * 4297, canvas 5       tokens  5 6 * _ 4 2 9 7            (eq. format_mult)
                              answer    _ 2 4 0 6 3 2            read at all but the first token

The answer is one place wider than the canvas for a sum, so the operator doubles as the slot of the overflow digit; for
a k-digit multiplier it is k places wider, so k - 1 of the multiplier's own digits double as slots. Pads inside the
answer are supervised and counted like digits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from digitwise.coordinates import Coordinates
from digitwise.data.distributions import Distribution, ShortMultipliers
from digitwise.numbers import digits as dg
from digitwise.numbers.digits import Digits
from digitwise.tasks.symbols import PLUS, SPELLING, TIMES, Tokens, pad

Operands = tuple[Digits, ...]


class Batch(NamedTuple):
    tokens: Tokens  # [count, n]
    targets: Tokens  # [count, slots], least significant first, pads beyond the answer's length


def encode(task: "Addition | Multiplication", first: Tokens, operator: int, second: Tokens, answer: Digits) -> Batch:
    """Most significant digits first, the operator between the numbers."""
    tokens = np.empty((len(first), task.num_tokens), dtype=np.uint8)
    width = first.shape[1]
    tokens[:, :width] = first[:, ::-1]
    tokens[:, width] = operator
    tokens[:, width + 1 :] = second[:, ::-1]
    return Batch(tokens, pad(answer, task.num_slots))


def locate(first: int, second: int, slots: int) -> Coordinates:
    """Coordinates of `first` digits, an operator, `second` digits; the answer stands on the last `slots` tokens."""
    position = np.arange(first + 1 + second)
    from_right = position[::-1]
    operand = np.select([position < first, position > first], [0, 1], -1)
    place = np.select([operand == 0, operand == 1], [first - 1 - position, from_right], -1)
    return Coordinates(position, operand, place, np.where(from_right < slots, from_right, -1))


def at_least_one(**sizes: int) -> None:
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"{name} must be at least 1, not {size}")


@dataclass(frozen=True)
class Addition:
    """Two summands of up to `canvas` digits."""

    canvas: int = 20

    symbols: ClassVar[Sequence[str]] = SPELLING

    def __post_init__(self) -> None:
        at_least_one(canvas=self.canvas)

    @property
    def num_tokens(self) -> int:
        return 2 * self.canvas + 1

    @property
    def num_slots(self) -> int:
        return self.canvas + 1

    def coordinates(self, tokens: Tokens | None = None) -> Coordinates:
        return locate(self.canvas, self.canvas, self.num_slots)

    def draw(self, distribution: Distribution, rng: np.random.Generator, count: int) -> Operands:
        drawn = distribution.draw(rng, count, 2, self.canvas)
        return drawn[:, 0], drawn[:, 1]

    def solve(self, operands: Operands) -> Digits:
        return dg.add(*operands)

    def encode(self, operands: Operands) -> Batch:
        first, second = (pad(operand, self.canvas) for operand in operands)
        return encode(self, first, PLUS, second, self.solve(operands))

    def render(self, operands: Operands) -> list[str]:
        return [f"{a} + {b}" for a, b in zip(*map(dg.render, operands), strict=True)]


@dataclass(frozen=True)
class Multiplication:
    """A multiplier of exactly `multiplier` digits, unpadded, times a multiplicand of up to `canvas` digits.

    Training may draw shorter multipliers too (`ShortMultipliers`); these are padded from the left.
    """

    multiplier: int = 1
    canvas: int = 20
    zero: bool = True
    """May a multiplier of one digit be 0? The paper draws it from 1 to 9. If a tenth of all products is 0, a model that
    knows no more than that is right on a tenth at every length. `ShortMultipliers` has 0 in any case."""

    symbols: ClassVar[Sequence[str]] = SPELLING

    def __post_init__(self) -> None:
        at_least_one(multiplier=self.multiplier, canvas=self.canvas)

    @property
    def num_tokens(self) -> int:
        return self.multiplier + 1 + self.canvas

    @property
    def num_slots(self) -> int:
        return self.multiplier + self.canvas

    def coordinates(self, tokens: Tokens | None = None) -> Coordinates:
        return locate(self.multiplier, self.canvas, self.num_slots)

    def draw(self, distribution: Distribution, rng: np.random.Generator, count: int) -> Operands:
        shorter = isinstance(distribution, ShortMultipliers)
        lengths = rng.integers(1 if shorter else self.multiplier, self.multiplier + 1, count)
        multiplier = dg.sample(rng, self.multiplier, lengths)
        if not self.zero and not shorter:
            zero = ~multiplier.any(-1)
            multiplier[zero, 0] = rng.integers(1, 10, zero.sum(), dtype=np.uint8)
        return multiplier, distribution.draw(rng, count, 1, self.canvas)[:, 0]

    def solve(self, operands: Operands) -> Digits:
        return dg.multiply(*operands)

    def encode(self, operands: Operands) -> Batch:
        multiplier, multiplicand = operands
        return encode(
            self, pad(multiplier, self.multiplier), TIMES, pad(multiplicand, self.canvas), self.solve(operands)
        )

    def render(self, operands: Operands) -> list[str]:
        return [f"{a} * {b}" for a, b in zip(*map(dg.render, operands), strict=True)]
