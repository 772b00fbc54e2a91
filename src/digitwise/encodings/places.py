"""Classes by place: without a canvas there are no positions, only operands and the places of their digits.

A token looks at few others, so that the cost of a layer grows with the length and not with its square: at itself and at
the lower places of its own row within `window`, at the same and the lower places of the other operands within `reach`,
and at every digit of the `uniform` operand. The class of such a pair is (which row looks at which, difference of
places), or for the uniform operand the place of its digit alone, as in eq. upe.

Only the answer's row has nobody who looks at it but itself: what is worked out flows from low places to high ones.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from digitwise.coordinates import Coordinates, Extent
from digitwise.encodings.base import Encoding, Shape, Vectors, within
from digitwise.encodings.symmetry import PlaceTranslation, SameForEveryQuery, Symmetry

NOT_SEEN = -1e4
"""Added to the score of a pair that does not look at each other: its weight is zero."""


class Neighbours(NamedTuple):
    """What each token looks at, K tokens at most, those of its own row first (itself, then the next lower places)."""

    tokens: Tensor  # [N, K], 0 where there is none
    classes: Tensor  # [N, K]
    bias: Tensor  # [N, K], zero, or NOT_SEEN where there is none


@dataclass(frozen=True)
class ByColumn(Encoding):
    """A vector for each (row, row, difference of places) within a window: no canvas, a cost linear in the length."""

    window: int = 1
    """Lower places of its own row that a token sees."""
    reach: int = 0
    """Lower places of the other operands that it sees, beside the same place."""
    uniform: int | None = None
    """The operand (a multiplier) whose digits every token sees, each with a vector of its own."""

    any_length = True
    ragged = False

    @property
    def symmetries(self) -> tuple[Symmetry, ...]:  # type: ignore[override]
        return (PlaceTranslation() if self.uniform is None else SameForEveryQuery(self.uniform),)

    def __post_init__(self) -> None:
        if self.window < 0 or self.reach < 0:
            raise ValueError("window and reach must not be negative")

    def build(self, shape: Shape, extent: Extent) -> Vectors:
        return PlaceVectors(self, shape, extent)


class PlaceVectors(Vectors):
    """One table of vectors a layer, shared by its heads, added to the keys; they start from zero."""

    def __init__(self, statement: ByColumn, shape: Shape, extent: Extent):
        super().__init__()
        self.statement = statement
        self.rows = len(extent.places) + 1  # every operand, and the tokens of none: the answer
        uniform = statement.uniform
        if uniform is not None and uniform >= len(extent.places):
            raise ValueError(f"there is no operand {uniform}: uniform must be below {len(extent.places)}, or none")
        self.multiplier = 0 if uniform is None else extent.places[uniform]
        self.own_row = statement.window + 1
        size = self.rows * self.own_row + self.rows**2 * (statement.reach + 1) + self.multiplier
        self.tables = nn.ParameterList(torch.zeros(size, shape.head_size) for _ in range(shape.layers))

    def prepare(self, coordinates: Coordinates) -> Neighbours:
        _, operand, place, _ = coordinates
        if operand.ndim == 2:  # a row for each problem
            if (operand != operand[:1]).any() or (place != place[:1]).any():
                raise ValueError("columns need rows that all stand alike: use by-place for numbers in a text")
            operand, place = operand[0], place[0]
        uniform, window, reach = self.statement.uniform, self.statement.window, self.statement.reach
        here = torch.arange(len(operand), device=operand.device)
        row = within(operand + 1, self.rows, "an operand")
        token_at = torch.full((self.rows, int(place.max()) + 2), -1, device=operand.device)
        token_at[row, place] = here  # tokens of no place stand in the last column, where nobody looks

        def looking(at_row: Tensor | int, at_place: Tensor | int, kind: Tensor | int) -> tuple[Tensor, Tensor]:
            at_row, at_place, kind = (part + 0 * here for part in (at_row, at_place, kind))
            there = (at_place >= 0) & (at_place < token_at.shape[1] - 1)
            return torch.where(there, token_at[at_row, at_place * there], -1), kind

        # Digits of the uniform operand look at one another only, with their uniform vectors, as in `Uniform`: everybody
        # sees them, so what they saw would be known everywhere.
        outside = row != (-1 if uniform is None else uniform + 1)
        seen = [(torch.where(outside, here, -1), row * self.own_row)]
        for down in range(1, window + 1):
            tokens, kind = looking(row, torch.where(place < 0, -1, place - down), row * self.own_row + down)
            seen.append((torch.where(outside, tokens, -1), kind))
        first = self.rows * self.own_row
        for other in range(1, self.rows):
            for down in range(reach + 1) if other - 1 != uniform else ():
                tokens, kind = looking(other, place - down, first + (row * self.rows + other) * (reach + 1) + down)
                seen.append((torch.where(outside & (row != other), tokens, -1), kind))
        first += self.rows**2 * (reach + 1)
        for digit in range(self.multiplier):
            seen.append(looking(int(uniform or 0) + 1, digit, first + digit))
        tokens_NK, classes_NK = (torch.stack(parts, dim=1) for parts in zip(*seen, strict=True))
        bias_NK = torch.where(tokens_NK < 0, NOT_SEEN, 0.0)
        return Neighbours(tokens_NK.clamp(min=0), classes_NK, bias_NK)

    def vectors(self, layer: int, classes: Tensor) -> Tensor:
        """p[i, j] = table[classes(i, j)], for the neighbours only: `[N, K, D]`."""
        return nn.functional.embedding(classes, self.tables[layer])

    def scores(self, layer: int, q_BHND: Tensor, prepared: Neighbours) -> Tensor:
        """All pairs at once, for encoders that know no neighbours: quadratic in the length."""
        tokens_NK, classes_NK, bias_NK = prepared
        added_BHNK = torch.einsum("bhnd,nkd->bhnk", q_BHND, self.vectors(layer, classes_NK))
        scores_BHNN = q_BHND.new_full((*q_BHND.shape[:3], q_BHND.shape[2]), NOT_SEEN)
        seen_BHNK = torch.where(bias_NK < 0, NOT_SEEN, added_BHNK)
        # An absent neighbour points at token 0: the largest of what is said about a pair holds.
        return scores_BHNN.scatter_reduce(-1, tokens_NK.expand_as(added_BHNK), seen_BHNK, "amax")
