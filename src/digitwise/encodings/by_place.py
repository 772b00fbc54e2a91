"""Encodings for numbers that stand anywhere in a text: by place, among numbers only, for some of the heads.

The classes of pairs of digits do not depend on where the numbers stand. So the number tokens of every row are packed
into cells, one for each operand and place, on which all rows share one class map; what is added to their scores is
worked out there and put back. The cost grows with the places of the numbers, not with the square of the text.

Shapes: as in `base`, and M cells (M = places of all operands together).
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from digitwise.coordinates import Coordinates, Extent
from digitwise.encodings.base import Classes, Pairwise, PairwiseVectors, Shape, Vectors
from digitwise.encodings.symmetry import ByOperandAndPlace, NumbersOnly, SameForEveryQuery, Symmetry


@dataclass(frozen=True)
class ByPlace(Pairwise):
    """Relative positions among digits: one vector for each difference of places, whatever stands between them.

    Digits of equal places get the same vector, of the same number or of another one: that is how columns are added.
    Pairs with a token that belongs to no number get nothing; nothing is masked. `reach` clips the differences: then
    digits that are further apart than any in training get a vector that training has shown.
    """

    reach: int | None = None

    def __post_init__(self) -> None:
        if self.reach is not None and self.reach < 0:
            raise ValueError(f"reach must not be negative, and {self.reach} is")

    def _furthest(self, extent: Extent) -> int:
        furthest = max(extent.places, default=1) - 1
        return furthest if self.reach is None else min(furthest, self.reach)

    @property
    def symmetries(self) -> tuple[Symmetry, ...]:  # type: ignore[override]
        return (ByOperandAndPlace(), NumbersOnly())

    def num_classes(self, extent: Extent) -> int:
        return 2 * self._furthest(extent) + 1

    def classes(self, coordinates: Coordinates, extent: Extent) -> Tensor:
        """Of number tokens only."""
        furthest = self._furthest(extent)
        return (coordinates.place[:, None] - coordinates.place[None, :]).clamp(-furthest, furthest) + furthest

    def build(self, shape: Shape, extent: Extent) -> Vectors:
        return NumberVectors(self, shape, extent)


@dataclass(frozen=True)
class UniformByPlace(ByPlace):
    """Eq. upe in a text: all digits see one vector for a digit of `operand` (the multiplier); by place elsewhere."""

    operand: int = 0

    @property
    def symmetries(self) -> tuple[Symmetry, ...]:  # type: ignore[override]
        return (*super().symmetries, SameForEveryQuery(self.operand, numbers_only=True))

    def num_classes(self, extent: Extent) -> int:
        if not 0 <= self.operand < len(extent.places):
            raise ValueError(f"there is no number {self.operand}: operand must be below {len(extent.places)}")
        return super().num_classes(extent) + extent.places[self.operand]

    def classes(self, coordinates: Coordinates, extent: Extent) -> Tensor:
        uniform = super().num_classes(extent) + coordinates.place
        return torch.where(coordinates.operand == self.operand, uniform, super().classes(coordinates, extent))


class Packed(NamedTuple):
    """Where the digits of each row stand."""

    token_BM: Tensor  # index of the token in each cell, anything where there is none
    present_BM: Tensor


class NumberVectors(PairwiseVectors):
    """Packs the number tokens into cells, and puts what is added to their scores back to where they came from."""

    classes: Tensor

    def __init__(self, statement: Pairwise, shape: Shape, extent: Extent):
        super().__init__(statement, shape, extent)
        cells = [(number, place) for number, places in enumerate(extent.places) for place in range(places)]
        operand, place = torch.tensor(cells, dtype=torch.long).reshape(-1, 2).T
        none = torch.full_like(place, -1)
        classes = statement.classes(Coordinates(none, operand, place, none), extent)
        self.register_buffer("classes", classes, persistent=False)

    def prepare(self, coordinates: Coordinates) -> Packed:  # type: ignore[override]
        operand, place = (array.reshape(-1, array.shape[-1]) for array in (coordinates.operand, coordinates.place))
        places = self.extent.places
        _refuse(operand >= len(places), f"has more than the {len(places)} numbers that this encoding was built for")
        widths = torch.tensor([*places, 1], device=operand.device)  # the last is for what belongs to no number
        _refuse(place >= widths[operand], f"has a number of more places than the {places} of this encoding's numbers")
        starts = torch.cat([widths.new_zeros(1), widths.cumsum(0)])[:-1]
        cell = torch.where(operand < 0, starts[-1], starts[operand] + place)
        index = torch.arange(cell.shape[-1], device=cell.device).expand_as(cell)
        token = torch.full((len(cell), len(self.classes) + 1), -1, device=cell.device).scatter(1, cell, index)[:, :-1]
        return Packed(token.clamp(min=0), token >= 0)

    def scores(self, layer: int, q_BHND: Tensor, prepared: Packed) -> Tensor:  # type: ignore[override]
        batch, heads, count, _ = q_BHND.shape
        token_BM, present_BM = (part.expand(batch, -1) for part in prepared)
        cells = token_BM.shape[1]
        q_BHMD = torch.take_along_dim(q_BHND, token_BM[:, None, :, None], 2)
        added_BHMM = super().scores(layer, q_BHMD, Classes(self.classes, None))
        added_BHMM = added_BHMM * (present_BM[:, None, :, None] & present_BM[:, None, None, :])
        # First the keys go back to their tokens, then the queries; cells without a token carry zeros.
        keys, queries = token_BM[:, None, None, :], token_BM[:, None, :, None]
        empty = added_BHMM.new_zeros
        added_BHMN = empty(batch, heads, cells, count).scatter_add(3, keys.expand(-1, heads, cells, -1), added_BHMM)
        return empty(batch, heads, count, count).scatter_add(2, queries.expand(-1, heads, -1, count), added_BHMN)


def _refuse(wrong_BN: Tensor, why: str) -> None:
    rows = wrong_BN.any(-1)
    if rows.any():
        raise ValueError(f"row {int(rows.nonzero()[0])} {why}")
