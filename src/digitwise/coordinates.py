"""Where a token stands: all that an encoding may know about it."""

from collections.abc import Callable
from typing import Any, NamedTuple


class Coordinates(NamedTuple):
    """Four integers for each token, as arrays `[n]` shared by a batch or `[batch, n]` (numpy or torch alike).

    position: index in the sequence, -1 for a token that only fills its row up to the longest one of the batch
    operand:  which number the token belongs to, below 0 for none (rows of cells before the answer's have -2, -3, ...)
    place:    significance of the digit, 0 = ones, -1 for none; pads of a number have its operand and place too
    slot:     place of the answer symbol that is read here, -1 for none
    """

    position: Any
    operand: Any
    place: Any
    slot: Any

    def map(self, function: Callable[[Any], Any]) -> "Coordinates":
        return Coordinates(*(function(array) for array in self))


class Extent(NamedTuple):
    """How far coordinates reach: the sizes that tables of learned vectors need."""

    positions: int
    places: tuple[int, ...]  # of each operand


def extent(coordinates: Coordinates) -> Extent:
    position, operand, place, _ = coordinates
    places = tuple(int(place[operand == number].max()) + 1 for number in range(int(operand.max()) + 1))
    return Extent(int(position.max()) + 1, places)
