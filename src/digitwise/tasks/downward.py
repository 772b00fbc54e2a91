"""Problems whose answers are written from the top down: signs, leading zeros and quotients are known there first.

    17 - 400        first        _ _ 1 7           1000 / 7      divisor     7
                    second       _ 4 0 0                         dividend    _ 1 0 0 0 _
                    cells up     = = = =                         cells down  / / / / / r
                    cells down   - - - -                         answer      _ 0 1 4 2 6
                    answer       - 3 8 3

Rows of cells flow from low places to high ones (`columns`), and here the last one flows down. It begins at the top
place, which is always empty. A difference has its sign there, and no leading zeros. A comparison `17 ? 400` has the row
up only, and its answer at the top of it. A quotient is written with as many digits as its dividend, zeros leading; one
more cell, below the ones, writes the remainder.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from digitwise.coordinates import Coordinates, Extent, extent
from digitwise.numbers import digits as dg
from digitwise.tasks.base import Distribution, Task
from digitwise.tasks.problems import Kind, Problems
from digitwise.tasks.symbols import DIVIDE, EQUAL, MINUS, PAD, REST, SIGNS, Tokens, pad, read_answers

TOP = 1
"""Empty places above the longest number."""


@dataclass(frozen=True)
class Downward(Task):
    """What both tasks share."""

    symbols = SIGNS
    answer_symbols = len(SIGNS)
    pads: int = 2
    """Problems are drawn with 0 to this many places more than they need."""

    def __post_init__(self) -> None:
        if self.pads < 0:
            raise ValueError(f"pads must not be negative, and {self.pads} is")

    @property
    def longest(self) -> None:
        return None

    @property
    def overflow(self) -> int:
        return TOP

    def slots(self, length: int, places: int) -> int:
        return places  # the top is where the longest problem of a batch has it

    def draw(
        self, distribution: Distribution, rng: np.random.Generator, count: int, kind: Kind | None = None
    ) -> Problems:
        """Return problems of one kind, on as many places as the longest number that was drawn needs."""
        kind = self.kinds[rng.integers(0, len(self.kinds))] if kind is None else kind
        chosen = np.full(count, self.kinds.index(kind))
        drawn = distribution.draw(rng, count, self.kinds[0].drawn, None)
        pads = max(0, int(rng.integers(-self.pads, self.pads + 1)))  # none in half of the batches
        width = int(dg.lengths(drawn).max(initial=1)) + pads
        problems = Problems.empty(self.kinds, chosen, width)
        kept = min(width, drawn.shape[2])
        problems.numbers[..., :kept] = drawn[..., :kept]
        return problems


@dataclass(frozen=True)
class Difference(Downward):
    """Differences, also below zero, and comparisons."""

    @property
    def claim(self) -> str:
        return "difference"

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return Kind("-"), Kind("?")

    @property
    def extent(self) -> Extent:
        return extent(_rows(2, 2))

    def write(self, problems: Problems) -> tuple[Tokens, Coordinates]:
        count, places = len(problems), problems.width + TOP
        (kind, _), *others = problems.by_kind()
        if others:
            raise ValueError("differences and comparisons have different rows: write them one kind at a time")
        cells = [EQUAL, MINUS] if kind.operator == "-" else [EQUAL]
        lines = np.empty((count, 2 + len(cells), places), dtype=np.uint8)
        for number in (0, 1):
            lines[:, number] = pad(problems.numbers[:, number], places)
        lines[:, 2:] = np.array(cells)[:, None]
        return lines.reshape(count, -1), _rows(len(cells), places)

    def targets(self, problems: Problems) -> Tokens:
        sign = dg.compare(problems.numbers[:, 0], problems.numbers[:, 1])
        if problems.kinds[problems.kind[0]].operator == "?":
            return (EQUAL + sign)[:, None].astype(np.uint8)
        targets = pad(self.solve(problems), problems.width + TOP)
        targets[:, -1] = np.where(sign < 0, MINUS, PAD)
        return targets

    def spell(self, symbols: Tokens) -> list[str]:
        """A sign at the top, then pads, then digits; a comparison has one symbol."""
        if symbols.shape[1] == 1:
            return read_answers(symbols)
        signs, sizes = read_answers(symbols[:, -1:]), read_answers(symbols[:, :-1])
        return [sign.strip("_") + size for sign, size in zip(signs, sizes, strict=True)]

    def read_at(self, answer: str, symbols: Tokens) -> NDArray[np.int64]:
        """The sign stands at the top, however many places there are."""
        slots = super().read_at(answer, symbols)
        if len(symbols) > 1 and symbols[-1] != PAD:
            slots[0] = len(symbols) - 1
        return slots


@dataclass(frozen=True)
class Division(Downward):
    """Quotient and remainder of a number by one digit."""

    @property
    def claim(self) -> str:
        return "division"

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return (Kind("/", 1),)

    @property
    def extent(self) -> Extent:
        return extent(_division(2))

    def draw(
        self, distribution: Distribution, rng: np.random.Generator, count: int, kind: Kind | None = None
    ) -> Problems:
        problems = super().draw(distribution, rng, count, kind)
        problems.multipliers[:, 0] = rng.integers(1, 10, count)
        return problems

    def write(self, problems: Problems) -> tuple[Tokens, Coordinates]:
        count, places = len(problems), problems.width + TOP
        dividend = np.full((count, places + 1), PAD, dtype=np.uint8)
        dividend[:, 1:] = pad(problems.numbers[:, 0], places)
        cells = np.broadcast_to(np.array([REST] + [DIVIDE] * places, dtype=np.uint8), dividend.shape)
        return np.concatenate([problems.multipliers, dividend, cells], axis=1), _division(places)

    def targets(self, problems: Problems) -> Tokens:
        quotient, rest = dg.divide(problems.numbers[:, 0], problems.multipliers[:, 0])
        written = np.arange(problems.width) < dg.lengths(problems.numbers[:, 0])[:, None]
        empty = np.full((len(problems), TOP), PAD, dtype=np.uint8)
        return np.concatenate([rest[:, None], np.where(written, quotient, np.uint8(PAD)), empty], axis=1)

    def spell(self, symbols: Tokens) -> list[str]:
        quotients, rests = read_answers(symbols[:, 1:]), read_answers(symbols[:, :1])
        return [f"{q.lstrip('0') or '0'} remainder {rest}" for q, rest in zip(quotients, rests, strict=True)]

    def read_at(self, answer: str, symbols: Tokens) -> NDArray[np.int64]:
        """The remainder is at slot 0, and the quotient above it."""
        quotient, *_ = answer.split()
        return np.arange(len(quotient) + 1)[::-1]


@cache
def _rows(rows: int, places: int) -> Coordinates:
    """Both numbers are seen by all rows of cells, so they have no row. The row up has number 1, the row down 0."""
    operand, row = np.array([0, 1, -1, -1])[: 2 + rows], np.array([-1, -1, 1, 0])[: 2 + rows]
    operand, row, place = np.repeat(operand, places), np.repeat(row, places), np.tile(np.arange(places), 2 + rows)
    slot = np.where(row == 0, place, -1) if rows == 2 else np.where((row == 1) & (place == places - 1), 0, -1)
    return Coordinates(np.arange(len(place)), operand, place, slot, row)


@cache
def _division(places: int) -> Coordinates:
    """The remainder's cell has place 0, and the ones of the dividend place 1."""
    operand = np.concatenate([[0], np.repeat([1, -1], places + 1)])
    row = np.concatenate([[0], np.repeat([-1, 0], places + 1)])
    place = np.concatenate([[-1], np.tile(np.arange(places + 1), 2)])
    return Coordinates(np.arange(len(place)), operand, place, np.where(operand < 0, place, -1), row)
