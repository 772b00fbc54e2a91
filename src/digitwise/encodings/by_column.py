"""Classes by place: without a canvas there are no positions, only numbers and the places of their digits.

The work is done in rows of cells, a cell for each place, a row for each number that is taken in: a summand, or the
multiplicand for one digit of the multiplier, the highest first. The last row is the answer. A cell looks at few tokens,
so that the cost of a layer grows with the length and not with its square, and what they are to it is the class:

    itself
    below          the next lower place of its own row: where a carry comes from
    above          the same place of the row before: the sum so far
    shifted        the next lower place of the row before: ten times the sum so far, which products need
    summand        the digit of its place in the summand of its row
    first          the digit of its place in the first summand, if its row takes in two
    multiplier     the digit that belongs to its row: one vector for all places, as in eq. upe
    multiplicand   the digit of its place

The classes know neither lengths nor how many rows there are. Nothing flows down from high places to low ones.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from digitwise.coordinates import Coordinates, Extent
from digitwise.encodings.base import Encoding, Shape, Vectors
from digitwise.encodings.symmetry import PlaceTranslation, Symmetry

NOT_SEEN = -1e4
"""Added to the score of a pair that does not look at each other: its weight is zero."""
CLASSES = ("itself", "below", "above", "shifted", "summand", "first", "multiplier", "multiplicand")
BELOW, ABOVE, SHIFTED = range(1, 4)


class Neighbours(NamedTuple):
    """What each token looks at, itself first. Classes that nobody needs are left out."""

    tokens_NK: Tensor  # 0 where there is none
    classes_K: Tensor
    bias_NK: Tensor  # zero, or NOT_SEEN where there is none
    cells_RP: Tensor  # the token of each row and place of cells

    @property
    def other_cells(self) -> list[int]:
        """Classes of other cells that are needed; the rest, beside itself, are digits of the problem."""
        return [kind for kind in self.classes_K.tolist() if BELOW <= kind <= SHIFTED]

    @property
    def digits(self) -> list[int]:
        return [kind for kind in self.classes_K.tolist() if kind > SHIFTED]


@dataclass(frozen=True)
class ByColumn(Encoding):
    """A vector for each thing that a neighbour can be to a cell: no canvas, a cost linear in the length."""

    products: bool = False
    """Is the first number a multiplier, and the second one its multiplicand?"""

    any_length = True
    columns = True

    @property
    def symmetries(self) -> tuple[Symmetry, ...]:  # type: ignore[override]
        return (PlaceTranslation(standing=0 if self.products else None),)

    def build(self, shape: Shape, extent: Extent) -> Vectors:
        return PlaceVectors(self, shape, extent)


class PlaceVectors(Vectors):
    """One table of vectors a layer, shared by its heads, added to the keys; they start from zero."""

    def __init__(self, statement: ByColumn, shape: Shape, extent: Extent):
        super().__init__()
        self.statement = statement
        if statement.products and len(extent.places) < 2:
            raise ValueError("products need two numbers, a multiplier and its multiplicand")
        self.tables = nn.ParameterList(torch.zeros(len(CLASSES), shape.head_size) for _ in range(shape.layers))

    def prepare(self, coordinates: Coordinates) -> Neighbours:
        _, operand, place, _ = coordinates
        if operand.ndim == 2:  # a row for each problem
            if (operand != operand[:1]).any() or (place != place[:1]).any():
                raise ValueError("columns need rows that all stand alike: use by-place for numbers in a text")
            operand, place = operand[0], place[0]
        here = torch.arange(len(operand), device=operand.device)
        is_cell = (operand < 0) & (place >= 0)
        rows = int(-operand.where(is_cell, 0).min())
        token_at = torch.full((rows + int(operand.max()) + 1, int(place.max()) + 2), -1, device=operand.device)
        known = place >= 0
        token_at[operand[known] + rows, place[known]] = here[known]

        def at(number: Tensor | int, where: Tensor, seen: Tensor | bool = True) -> Tensor:
            index = number + rows + 0 * here
            there = is_cell & seen & (index >= 0) & (where >= 0) & (where < token_at.shape[1])
            return torch.where(there, token_at[index * there, where * there], -1)

        numbers, row = int(operand.max()) + 1, operand + rows
        start = 2 if self.statement.products else 0  # of the summands, which stand at the last rows
        summand = numbers - rows + row
        none = torch.full_like(here, -1)
        seen = [
            here,
            at(operand, place - 1),
            at(operand - 1, place, row > 0),
            at(operand - 1, place - 1, row > 0) if self.statement.products else none,
            at(summand, place, summand >= start),
            at(start, place, (row == 0) & (numbers - start > rows)),
            *((at(0, -1 - operand), at(1, place)) if self.statement.products else (none, none)),
        ]
        tokens_NK = torch.stack(seen, dim=1)
        classes_K = (tokens_NK >= 0).any(0).nonzero()[:, 0]
        tokens_NK = tokens_NK[:, classes_K]
        bias_NK = torch.where(tokens_NK < 0, NOT_SEEN, 0.0)
        return Neighbours(tokens_NK.clamp(min=0), classes_K, bias_NK, token_at[:rows, :-1])

    def scores(self, layer: int, q_BHND: Tensor, prepared: Neighbours) -> Tensor:
        """All pairs at once, for encoders that know no neighbours: quadratic in the length."""
        tokens_NK, classes_K, bias_NK, _ = prepared
        added_BHNK = q_BHND @ self.tables[layer][classes_K].T
        scores_BHNN = q_BHND.new_full((*q_BHND.shape[:3], q_BHND.shape[2]), NOT_SEEN)
        seen_BHNK = torch.where(bias_NK < 0, NOT_SEEN, added_BHNK)
        # An absent neighbour points at token 0: the largest of what is said about a pair holds.
        return scores_BHNN.scatter_reduce(-1, tokens_NK.expand_as(added_BHNK), seen_BHNK, "amax")
