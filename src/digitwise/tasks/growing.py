"""Sums and products as sequences that grow with their numbers, least significant digits first, without a canvas.

    123 + 4095, at most 4 digits in the batch      tokens  3 2 1 _ + 5 9 0 4 _
                                                   answer            8 1 2 4 _      read at the second number

    5 * 4297                                       tokens  5 * 7 9 2 4 _
                                                   answer      5 8 4 1 2            read at the multiplicand

All problems of a batch are as wide as its longest number, so a sequence of longer numbers has more tokens. That is
another notion of length than that of a canvas, where longer numbers fill up places that were there before. Most papers
about length generalisation have this one, and reversed digits. The field of the second number is wider by as many
places as the answer can overflow, so slot = place.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from digitwise.coordinates import Coordinates, Extent, extent
from digitwise.tasks.base import Distribution, Kind, Problems, Task
from digitwise.tasks.canvas import at_least_one
from digitwise.tasks.symbols import PLUS, TIMES, Tokens, pad


@dataclass(frozen=True)
class Growing(Task):
    """Two summands, or with `multiplier` digits of one a product, in a sequence as long as the numbers ask for."""

    multiplier: int = 0
    """Digits of the multiplier; 0 for sums."""
    canvas: int = 20
    """The most digits of a number: the room of learned vectors, not the width of anything that is written."""
    zero: bool = True
    """Whether a multiplier of one digit may be 0, as in `canvas.Multiplication`."""

    def __post_init__(self) -> None:
        at_least_one(canvas=self.canvas)
        if self.multiplier < 0:
            raise ValueError(f"multiplier must not be negative, and {self.multiplier} is")

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return (Kind("*", self.multiplier) if self.multiplier else Kind("+", 2),)

    @property
    def longest(self) -> int:
        return self.canvas

    @property
    def extent(self) -> Extent:
        return extent(self._located(self.canvas))

    @property
    def label(self) -> str:
        return f"{type(self).__name__.lower()}{self.multiplier}-longest{self.canvas}"

    def draw(
        self, distribution: Distribution, rng: np.random.Generator, count: int, kind: Kind | None = None
    ) -> Problems:
        if not self.multiplier:
            return super().draw(distribution, rng, count, kind)
        multipliers, numbers = distribution.products(rng, count, self.multiplier, self.zero, self.canvas)
        return Problems.alike(self.kinds, numbers, multipliers)

    def write(self, problems: Problems) -> tuple[Tokens, Coordinates]:
        width = problems.width
        if self.multiplier:
            first, operator = pad(problems.multipliers, self.multiplier), TIMES
        else:
            first, operator = pad(problems.numbers[:, 0], width), PLUS
        second = pad(problems.numbers[:, -1], width + self.overflow)
        sign = np.full((len(problems), 1), operator, dtype=np.uint8)
        return np.concatenate([first, sign, second], axis=1), self._located(width)

    def targets(self, problems: Problems) -> Tokens:
        return pad(self.solve(problems), problems.width + self.overflow)

    def slots(self, length: int, places: int) -> int:
        return places

    def _located(self, width: int) -> Coordinates:
        return _locate(self.multiplier or width, width + self.overflow)


@cache  # all problems of a width share one object, so that models prepare their class maps once
def _locate(first: int, second: int) -> Coordinates:
    """Return the coordinates of `first` digits, an operator and `second` digits, at which the answer is read."""
    position = np.arange(first + 1 + second)
    operand = np.select([position < first, position > first], [0, 1], -1)
    place = np.select([operand == 0, operand == 1], [position, position - first - 1], -1)
    return Coordinates(position, operand, place, np.where(operand == 1, place, -1))
