"""The paper's two tasks in the paper's format: numbers padded from the left onto a canvas of fixed width.

    123 + 4095, canvas 5      tokens  _ _ 1 2 3 + _ 4 0 9 5      (eq. format_sum)
                              answer            _ _ 4 2 1 8      read at the operator and the second number

    56 * 4297, canvas 5       tokens  5 6 * _ 4 2 9 7            (eq. format_mult)
                              answer    _ 2 4 0 6 3 2            read at all but the first token

The answer is one place wider than the canvas for a sum, so the operator doubles as the slot of the overflow digit. For
a k-digit multiplier the answer is k places wider, so k - 1 of the multiplier's own digits double as slots. Pads inside
the answer are supervised and counted like digits.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from digitwise.coordinates import Coordinates, Extent, extent
from digitwise.tasks.base import Distribution, Kind, Problems, Task
from digitwise.tasks.symbols import PLUS, TIMES, Tokens, pad


@dataclass(frozen=True)
class Addition(Task):
    """Two summands of up to `canvas` digits."""

    canvas: int = 20

    def __post_init__(self) -> None:
        at_least_one(canvas=self.canvas)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return (Kind("+", 2),)

    @property
    def longest(self) -> int:
        return self.canvas

    @property
    def extent(self) -> Extent:
        return extent(locate(self.canvas, self.canvas, self.canvas + 1))

    def write(self, problems: Problems) -> tuple[Tokens, Coordinates]:
        first, second = (pad(problems.numbers[:, number], self.canvas) for number in range(2))
        return in_line(first, PLUS, second), locate(self.canvas, self.canvas, self.canvas + 1)


@dataclass(frozen=True)
class Multiplication(Task):
    """A multiplier of exactly `multiplier` digits, unpadded, times a multiplicand of up to `canvas` digits.

    Training may draw shorter multipliers too (`ShortMultipliers`); these are padded from the left.
    """

    multiplier: int = 1
    canvas: int = 20
    zero: bool = True
    """Whether a multiplier of one digit may be 0. The paper draws it from 1 to 9. If a tenth of all products is 0, a
    model that has learned only that is right on a tenth at every length. `ShortMultipliers` has 0 in any case."""

    def __post_init__(self) -> None:
        at_least_one(multiplier=self.multiplier, canvas=self.canvas)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return (Kind("*", self.multiplier),)

    @property
    def longest(self) -> int:
        return self.canvas

    @property
    def extent(self) -> Extent:
        return extent(self._located)

    @property
    def label(self) -> str:
        return f"{type(self).__name__.lower()}{self.multiplier}-canvas{self.canvas}"

    @property
    def _located(self) -> Coordinates:
        return locate(self.multiplier, self.canvas, self.multiplier + self.canvas)

    def draw(
        self, distribution: Distribution, rng: np.random.Generator, count: int, kind: Kind | None = None
    ) -> Problems:
        multipliers, numbers = distribution.products(rng, count, self.multiplier, self.zero, self.canvas)
        return Problems.alike(self.kinds, numbers, multipliers)

    def write(self, problems: Problems) -> tuple[Tokens, Coordinates]:
        multiplier = pad(problems.multipliers, self.multiplier)
        return in_line(multiplier, TIMES, pad(problems.numbers[:, 0], self.canvas)), self._located


def in_line(first: Tokens, operator: int, second: Tokens) -> Tokens:
    """Most significant digits first, the operator between the numbers."""
    width = first.shape[1]
    tokens = np.empty((len(first), width + 1 + second.shape[1]), dtype=np.uint8)
    tokens[:, :width] = first[:, ::-1]
    tokens[:, width] = operator
    tokens[:, width + 1 :] = second[:, ::-1]
    return tokens


@cache  # all problems share one object, so that models prepare their class maps once
def locate(first: int, second: int, slots: int) -> Coordinates:
    """Return the coordinates of `first` digits, an operator and `second` digits; the answer ends at the last token."""
    position = np.arange(first + 1 + second)
    from_right = position[::-1]
    operand = np.select([position < first, position > first], [0, 1], -1)
    place = np.select([operand == 0, operand == 1], [first - 1 - position, from_right], -1)
    return Coordinates(position, operand, place, np.where(from_right < slots, from_right, -1))


def at_least_one(**sizes: int) -> None:
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"{name} must be at least 1, not {size}")
