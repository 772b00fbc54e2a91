"""Where a token stands: all that an encoding may know about it."""

from collections.abc import Callable
from typing import Any, NamedTuple


class _Fields(NamedTuple):
    position: Any
    operand: Any
    place: Any
    slot: Any
    row: Any


class Coordinates(_Fields):
    """Five integers per token, as arrays `[n]` shared by a batch or `[batch, n]`, numpy or torch alike.

    position: index in the sequence; -1 for a token that only fills its row up to the longest one of the batch
    operand:  which number the token belongs to; -1 for none
    place:    significance of the digit, 0 = ones; -1 for none. Pads of a number have its operand and place too
    slot:     place of the answer symbol that is read here; -1 for none
    row:      for models without a canvas, how many rows before the answer's row of cells the token takes part:
              0 = the answer's row; -1 for none, or for all of them. Left out, it is -1 everywhere
    """

    __slots__ = ()

    def __new__(cls, position: Any, operand: Any, place: Any, slot: Any, row: Any = None) -> "Coordinates":
        return super().__new__(cls, position, operand, place, slot, slot * 0 - 1 if row is None else row)

    def map(self, function: Callable[[Any], Any]) -> "Coordinates":
        return Coordinates(*(function(array) for array in self))

    def same(self, other: "Coordinates") -> bool:
        """Whether both hold the very same arrays, not only equal ones: cheap, and enough to use prepared work again."""
        return all(mine is theirs for mine, theirs in zip(self, other, strict=True))


class Extent(NamedTuple):
    """How far coordinates reach: the sizes that tables of learned vectors need."""

    positions: int
    places: tuple[int, ...]
    """Of each operand."""


def extent(coordinates: Coordinates) -> Extent:
    position, operand, place, *_ = coordinates
    places = tuple(int(place[operand == number].max()) + 1 for number in range(int(operand.max()) + 1))
    return Extent(int(position.max()) + 1, places)
