"""Encoding by row and place: without a canvas there are no positions, only numbers and the places of their digits.

The work is done in rows of cells, one cell per place (`tasks.columns`). A cell looks at few tokens, so the cost of a
layer grows with the length and not with its square. What a token is to the cell is its class:

    itself
    below          the cell of the same row, one place lower: where a carry comes from
    above          the cell of the row before, at the same place: the result so far
    shifted        the cell of the row before, one place lower: ten times the result so far, where there is a multiplier
    summand        the digit at its place of the last number that its row takes in
    first          the digit at its place of another number that its row takes in
    multiplier     the digit that its row takes in, whatever the place: one vector for all places, as in eq. upe
    multiplicand   the digit at its place of the (last) number that all rows take in
    higher         the cell of the same row, one place higher, in rows that flow down

Each line is a comparison of row and place. The classes depend neither on lengths nor on how many rows there are. Which
other cells a cell looks at is part of the statement: a row flows up where its cells look below, and down where they
look higher.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from digitwise.coordinates import Coordinates, Extent
from digitwise.encodings.base import Encoding, Shape, Vectors
from digitwise.encodings.symmetry import PlaceTranslation

NOT_SEEN = -1e4
"""Added to the score of a pair that does not look at each other: its weight is zero."""
#: The order is part of every trained model: new classes go to the end.
CLASSES = ("itself", "below", "above", "shifted", "summand", "first", "multiplier", "multiplicand", "higher")
BELOW, ABOVE, SHIFTED, HIGHER = 1, 2, 3, 8
CELLS = {"below": BELOW, "above": ABOVE, "shifted": SHIFTED, "higher": HIGHER}
AGO = {BELOW: (1, 0), ABOVE: (1, 1), SHIFTED: (2, 1)}
"""Cells below, above and shifted were so many waves ago, and so many rows before."""


class Neighbours(NamedTuple):
    """What each token looks at, itself first. Classes that no cell needs are left out."""

    tokens_NK: Tensor  # 0 where there is none
    classes_K: Tensor
    bias_NK: Tensor  # zero, or NOT_SEEN where there is none
    cells_RP: Tensor  # the token of each row of cells, the answer's last, and place

    @property
    def other_cells(self) -> list[int]:
        """Classes of other cells that are needed. The rest, beside the cell itself, are digits of the problem."""
        return [number for number in self.classes_K.tolist() if number in CELLS.values()]

    @property
    def digits(self) -> list[int]:
        return [number for number in self.classes_K.tolist() if number and number not in CELLS.values()]


@dataclass(frozen=True)
class ByColumn(Encoding):
    """One vector per thing that a token can be to a cell: no canvas, a cost linear in the length."""

    cells: tuple[str, ...] = ("below", "above", "shifted")
    """Classes of other cells that cells look at; without `shifted` where there is no multiplier."""
    last: tuple[str, ...] = ()
    """The same for the answer's row, where it differs."""
    deviation: float = 0.0
    """Of the first vectors. Numbers that can be exchanged, as in sums, need not be told apart, and zeros are best; the
    two numbers of a difference must be, and from zeros training hardly finds out how (LOG.md)."""
    any_length = True
    columns = True
    symmetries = (PlaceTranslation(),)

    def __post_init__(self) -> None:
        for name in (*self.cells, *self.last):
            if name not in CELLS:
                raise ValueError(f"cells can look at {', '.join(CELLS)}, not at '{name}'")

    def build(self, shape: Shape, extent: Extent) -> Vectors:
        return PlaceVectors(shape, self)


class PlaceVectors(Vectors):
    """One table of vectors per layer, shared by its heads, added to the keys."""

    def __init__(self, shape: Shape, encoding: ByColumn):
        super().__init__()
        # Rows that flow down came later: models that have none keep tables of the size that they were trained with.
        rows = len(CLASSES) if "higher" in (*encoding.cells, *encoding.last) else HIGHER
        self.tables = nn.ParameterList(
            encoding.deviation * torch.randn(rows, shape.head_size)
            if encoding.deviation
            else torch.zeros(rows, shape.head_size)
            for _ in range(shape.layers)
        )
        self.looks = [[CELLS[name] for name in names] for names in (encoding.cells, encoding.last or encoding.cells)]

    def prepare(self, coordinates: Coordinates) -> Neighbours:
        _, operand, place, _, row = _alike(coordinates)
        is_cell, is_number = (operand < 0) & (row >= 0), operand >= 0
        find = _Finder(place, row, looking=is_cell)
        cells = find.tokens(is_cell)
        summands = is_number & (place >= 0) & (row >= 0)
        # Where a row takes in two numbers, the one with the higher operand is the last.
        last = find.tokens(summands)
        first = find.tokens(summands & ~torch.isin(torch.arange(len(row), device=row.device), last))
        multiplier = find.tokens(is_number & (place < 0))
        everywhere = is_number & (place >= 0) & (row < 0)
        multiplicand = find.tokens(everywhere)
        other = find.tokens(everywhere & ~torch.isin(torch.arange(len(row), device=row.device), multiplicand))
        nothing, all_rows = torch.full_like(row, -1), torch.full_like(row, -1)
        shifted = find(cells, row + 1, place - 1) if (multiplier >= 0).any() else nothing
        first_N = find(first, row, place)
        tokens_NK = torch.stack(
            [
                torch.arange(len(row), device=row.device),
                find(cells, row, place - 1),
                find(cells, row + 1, place),
                shifted,
                find(last, row, place),
                first_N.where(first_N >= 0, find(other, all_rows, place)),
                find(multiplier, row, nothing),
                find(multiplicand, all_rows, place),
                find(cells, row, place + 1),
            ],
            dim=1,
        )
        for rows, looks in zip((row > 0, row == 0), self.looks, strict=True):
            unseen = [number for number in CELLS.values() if number not in looks]
            tokens_NK[:, unseen] = torch.where(rows[:, None], -1, tokens_NK[:, unseen])
        classes_K = (tokens_NK >= 0).any(0).nonzero()[:, 0]
        tokens_NK = tokens_NK[:, classes_K]
        bias_NK = torch.where(tokens_NK < 0, NOT_SEEN, 0.0)
        rows, places = int(row[is_cell].max()) + 1, int(place.max()) + 1
        lowest = int(place[is_cell].min())
        cells_RP = cells[1 : rows + 1, lowest + 1 : places + 1].flip(0)
        cells_RP = cells_RP[(cells_RP >= 0).any(1)]
        return Neighbours(tokens_NK.clamp(min=0), classes_K, bias_NK, cells_RP)

    def scores(self, layer: int, q_BHND: Tensor, prepared: Neighbours) -> Tensor:
        """All pairs at once, for encoders without neighbours: quadratic in the length."""
        tokens_NK, classes_K, bias_NK, _ = prepared
        added_BHNK = q_BHND @ self.tables[layer][classes_K].T
        scores_BHNN = q_BHND.new_full((*q_BHND.shape[:3], q_BHND.shape[2]), NOT_SEEN)
        seen_BHNK = torch.where(bias_NK < 0, NOT_SEEN, added_BHNK)
        # An absent neighbour points at token 0: the largest of what is said about a pair holds.
        return scores_BHNN.scatter_reduce(-1, tokens_NK.expand_as(added_BHNK), seen_BHNK, "amax")


class Waves(NamedTuple):
    """Cells in the order of their dependence, wave by wave."""

    sizes: list[int]
    combination_A: Tensor
    others_AK: Tensor  # the cell of each class that it depends on; -1 for none
    answer_BP: Tensor  # the cells of the answer


def in_waves(combination_BRP: Tensor, classes: list[int], once: bool) -> Waves:
    """Cells of equal row + place make a wave. With `once`, equal cells that see equal cells are one; without, a wave
    has one cell of each row, and beyond the ends of a row one stands in that nobody sees."""
    combination = combination_BRP.cpu().numpy()  # by numpy: many operations on little
    problems, rows, places = combination.shape
    base = combination.size + 1
    assert (combination.max() + 1) * base ** len(classes) < 2**63
    none = np.zeros((problems, rows + 1), dtype=np.int64)  # cells count from 1, and a row of none stands in front
    before, sizes, found, answer = [none, none], list[int](), [], []
    for wave in range(rows + places - 1):
        there = np.arange(max(0, wave - places + 1), min(rows, wave + 1))
        row = there if once else np.arange(rows)
        seen = [before[-ago][:, row + 1 - up] for ago, up in (AGO[number] for number in classes)]
        keys = np.stack([combination[:, row, (wave - row).clip(0, places - 1)], *seen]).reshape(1 + len(classes), -1)
        if not once or (wave >= rows and sizes[-1] == problems * rows):  # different cells below make different cells
            first = which = np.arange(keys.shape[1])
        else:  # each column is read as a number, so that equal columns are equal numbers
            number = base ** np.arange(len(keys)) @ keys[::-1]
            _, first, which = np.unique(number, return_index=True, return_inverse=True)
        here = none.copy()
        here[:, row + 1] = 1 + sum(sizes) + which.reshape(problems, -1)
        if not once:
            here[:, 1:][:, ~np.isin(row, there)] = 0
        before = [before[-1], here]
        sizes.append(len(first))
        found.append(keys[:, first])
        answer.append(here[:, -1])
    keys_KA, answer_PB = np.concatenate(found, 1), np.stack(answer[rows - 1 :])
    keys_AK, answer_BP = (torch.as_tensor(array.T, device=combination_BRP.device) for array in (keys_KA, answer_PB))
    return Waves(sizes, keys_AK[:, 0], keys_AK[:, 1:] - 1, answer_BP - 1)


class _Finder:
    """Finds tokens by their row and place. Tables have one more row and place in front, for -1."""

    def __init__(self, place: Tensor, row: Tensor, looking: Tensor):
        self.place, self.row, self.looking = place, row, looking
        self.size = (int(row.max()) + 3, int(place.max()) + 3)

    def tokens(self, chosen: Tensor) -> Tensor:
        """The last of the chosen tokens at each row and place, -1 where there is none."""
        rows, places = self.size
        token = chosen.nonzero()[:, 0]
        where = (self.row[token] + 1) * places + self.place[token] + 1
        table = torch.full((rows * places,), -1, device=token.device)
        return table.scatter_reduce(0, where, token, "amax").view(rows, places)

    def __call__(self, table: Tensor, row: Tensor, place: Tensor) -> Tensor:
        """What each cell finds in the table at a row and place; -1 for tokens that do not look."""
        return torch.where(self.looking, table[row.clamp(min=-1) + 1, place.clamp(min=-1) + 1], -1)


def _alike(coordinates: Coordinates) -> Coordinates:
    """The coordinates of one problem, which all of a batch must share."""
    if coordinates.operand.ndim == 1:
        return coordinates
    if any((array != array[:1]).any() for array in (coordinates.operand, coordinates.place, coordinates.row)):
        raise ValueError("columns need problems that all stand alike: use by-place for numbers in a text")
    return coordinates.map(lambda array: array[0])
