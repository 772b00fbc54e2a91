"""Arithmetic in columns, without a canvas: numbers of any length, one below the other.

    123 + 4095      summands   _ _ 1 2 3         56 * 4297      multiplier        5 6
                               _ 4 0 9 5                        multiplicand  _ _ 4 2 9 7
                    cells      + + + + +                        cells, row 1  * * * * * *    for the 5
                    answer     _ 4 2 1 8                        cells, row 0  * * * * * *    for the 6
                                                                answer        2 4 0 6 3 2

The multiplier is written first, then *lines* of equal width: the multiplicand, the summands, and rows of *cells*, which
are made of the operator. Lines are as wide as the longest answer, and can be wider. Each row of cells takes in one
summand or one digit of the multiplier, the highest first; a task of two summands has one row, which takes in both.
Rows count backwards from the answer's, row 0, so a digit of the multiplier has the number of its row for its place.
Problems that need fewer rows than the widest use the last ones.

The row of a summand is the one that takes it in. A digit of the multiplier has its row but no place, since it meets
every place of the multiplicand; the multiplicand has places but no row, since it meets every row.

A difference is written with as many digits as its larger number has. Whether a zero leads is known at the top only, and
nothing flows down from there.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from digitwise.coordinates import Coordinates, Extent, extent
from digitwise.numbers import digits as dg
from digitwise.numbers.digits import Digits
from digitwise.tasks.base import Distribution, Task, without_zero
from digitwise.tasks.canvas import at_least_one
from digitwise.tasks.problems import Kind, Problems, kind_of
from digitwise.tasks.symbols import MINUS, PAD, PLUS, TIMES, Tokens, pad

SYMBOL = {"+": PLUS, "-": MINUS, "*": TIMES}
REPEATED = 0.25
"""Share of the multipliers in training that repeat one digit: 999 makes carries that others hardly ever make."""
MORE = (1, 2, 5)
"""How many more numbers, or digits of the multiplier, `larger` asks for."""


@dataclass(frozen=True)
class Arithmetic(Task):
    """Sums of 2 to `summands` numbers, differences (larger minus smaller), products with 1- to k-digit multipliers."""

    operators: str = "+"
    """Any of + - *: one model learns all of them, and all kinds of problems are equally likely."""
    summands: int = 2
    multiplier: int = 3
    """Most digits of a multiplier."""
    pads: int = 3
    """Problems are drawn with 0 to this many places more than they need."""
    zeros: bool = False
    """Products are written with their leading zeros: whether a zero leads is not known where it is written."""
    nines: float = 0.0
    """Share of the products in training in which each digit of both numbers is a 9 with a chance of a half: a carry of
    9 needs 9 x 9 and at least 9 beside it, which six of a thousand cells have otherwise."""

    def __post_init__(self) -> None:
        if not self.operators or set(self.operators) - set(SYMBOL) or len(set(self.operators)) < len(self.operators):
            raise ValueError(f"operators must be some of + - *, each once, not '{self.operators}'")
        at_least_one(multiplier=self.multiplier)
        if not 2 <= self.summands <= 1000 or self.pads < 0:
            raise ValueError("summands must be from 2 to 1,000, and pads not negative")
        if not 0 <= self.nines <= 1:
            raise ValueError(f"nines must be a share from 0 to 1, not {self.nines}")

    @property
    def kinds(self) -> tuple[Kind, ...]:
        sizes = {"+": range(2, self.summands + 1), "-": [2], "*": range(1, self.multiplier + 1)}
        return tuple(Kind(operator, size) for operator in self.operators for size in sizes[operator])

    @property
    def longest(self) -> None:
        return None

    @property
    def extent(self) -> Extent:
        return extent(_locate(self, self.overflow + 1))

    @property
    def claim(self) -> str:
        if self.operators == "*":
            return "product" if self.zeros else ""
        return {2: "sum"}.get(self.summands, "sums") if self.operators == "+" else ""

    def fitting(self, texts: Sequence[str]) -> "Arithmetic":
        kinds = [kind_of(text) for text in texts]
        summands = max((kind.size for kind in kinds if kind.operator == "+"), default=2)
        multiplier = max((kind.size for kind in kinds if kind.operator == "*"), default=1)
        # A task of two summands takes both in at once, and cannot be widened.
        return replace(
            self,
            summands=max(self.summands, summands) if self.summands > 2 else self.summands,
            multiplier=max(self.multiplier, multiplier),
        )

    # The format

    @property
    def multiplier_digits(self) -> int:
        return self.multiplier if "*" in self.operators else 0

    @property
    def summand_lines(self) -> int:
        return max((kind.size for kind in self.kinds if kind.operator != "*"), default=0)

    @property
    def rows(self) -> int:
        """Rows of cells."""
        return max(1 if self.summand_lines == 2 else self.summand_lines, self.multiplier_digits)

    @property
    def lines(self) -> int:
        """Lines of any length: the multiplicand, the summands, the rows of cells."""
        return bool(self.multiplier_digits) + self.summand_lines + self.rows

    def write(self, problems: Problems) -> tuple[Tokens, Coordinates]:
        count, places = len(problems), problems.width + self.overflow
        multiplier = np.full((count, self.multiplier_digits), PAD, dtype=np.uint8)
        lines = np.full((count, self.lines, places), PAD, dtype=np.uint8)
        for kind, chosen in problems.by_kind():
            cells = np.full((self.rows, 1), PAD, dtype=np.uint8)
            cells[-kind.size :] = SYMBOL["+" if kind.operator == "-" else kind.operator]
            cells[-1] = SYMBOL[kind.operator]
            lines[chosen, self.lines - self.rows :] = cells
            if kind.operator == "*":
                multiplier[chosen] = pad(problems.multipliers[chosen], self.multiplier_digits)
                lines[chosen, 0] = pad(problems.numbers[chosen, 0], places)
                continue
            for number in range(kind.size):  # the last summand stands right above the cells
                line = self.lines - self.rows - kind.size + number
                lines[chosen, line] = pad(problems.numbers[chosen, number], places)
        tokens = np.concatenate([multiplier, lines.reshape(count, -1)], axis=1)
        return tokens, _locate(self, places)

    def targets(self, problems: Problems) -> Tokens:
        targets = super().targets(problems)
        for kind, chosen in problems.by_kind():
            if kind.operator == "-":
                answers = self.solve(problems[chosen])
                written = np.arange(answers.shape[1]) < dg.lengths(problems.numbers[chosen, 0])[:, None]
                targets[chosen] = np.where(written, answers, np.uint8(PAD))
            if kind.operator == "*" and self.zeros:
                targets[chosen] = self.solve(problems[chosen])
        return targets

    def admit(self, kind: Kind, numbers: Sequence[str]) -> None:
        first, *others = ((len(number), number) for number in numbers)
        if kind.operator == "-" and [first] < others:
            raise ValueError("this model knows no difference below zero: put the larger number first")

    def spell(self, symbols: Tokens) -> list[str]:
        """Leading zeros are written by products and differences, and say nothing."""
        return [text.lstrip("0") or "0" for text in super().spell(symbols)]

    # Problems

    def draw(
        self, distribution: Distribution, rng: np.random.Generator, count: int, kind: Kind | None = None
    ) -> Problems:
        """Return problems of all kinds, or of one. Where one kind is asked for, which is how tests draw, no multiplier
        is 0, which would be too easy."""
        chosen = rng.integers(0, len(self.kinds), count) if kind is None else np.full(count, self.kinds.index(kind))
        width = distribution.width(None) + int(rng.integers(0, self.pads + 1))
        problems = Problems.empty(self.kinds, chosen, width)
        for which, rows in problems.by_kind():
            drawn = distribution.draw(rng, len(chosen[rows]), which.drawn, None)
            if which.operator == "-":
                wrong = dg.compare(drawn[:, 0], drawn[:, 1]) < 0
                drawn[wrong] = drawn[wrong, ::-1]
            problems.numbers[rows, : drawn.shape[1], : drawn.shape[2]] = drawn
            if which.operator == "*":
                multipliers = self._multipliers(rng, len(drawn), which.size, training=kind is None)
                if self.nines and kind is None:
                    with_nines = rng.random((len(drawn), 1)) < self.nines
                    problems.numbers[rows, 0] = _with_nines(rng, problems.numbers[rows, 0], with_nines)
                    multipliers = _with_nines(rng, multipliers, with_nines)
                problems.multipliers[rows] = multipliers
        return problems

    def _multipliers(self, rng: np.random.Generator, count: int, size: int, training: bool) -> Digits:
        drawn = dg.sample(rng, self.multiplier_digits, np.full(count, size))
        repeated = (rng.random(count) < REPEATED) & training
        drawn[repeated, :size] = drawn[repeated, size - 1 : size]
        return drawn if training else without_zero(rng, drawn)

    def larger(self) -> dict[Kind, Task]:
        tasks: dict[Kind, Task] = {}
        for extra in MORE if self.rows > 1 else ():
            if self.multiplier_digits:
                size = self.multiplier + extra
                tasks[Kind("*", size)] = replace(self, multiplier=size)
            if self.summands > 2 and "+" in self.operators:
                size = self.summands + extra
                tasks[Kind("+", size)] = replace(self, summands=size)
        return tasks


def _with_nines(rng: np.random.Generator, numbers: Digits, chosen: NDArray[np.bool_]) -> Digits:
    """The same numbers; in those that are chosen each digit becomes a 9 with a chance of a half."""
    there = np.arange(numbers.shape[1]) < dg.lengths(numbers)[:, None]
    return np.where(chosen & there & (rng.random(numbers.shape) < 0.5), np.uint8(9), numbers)


@cache
def _locate(task: Arithmetic, places: int) -> Coordinates:
    """Return the coordinates of problems whose lines have so many places."""
    digits, first_summand = task.multiplier_digits, bool(task.multiplier_digits)
    summands, cells = np.arange(task.summand_lines), np.arange(task.rows)
    multiplicand = [1] if digits else []
    # For each line its operand (none for cells) and its row (none for the multiplicand).
    operand_of = np.concatenate([multiplicand, summands + 2 * first_summand, np.full(task.rows, -1)]).astype(int)
    taken_in = np.minimum(summands[::-1], task.rows - 1)
    row_of = np.concatenate([np.full(len(multiplicand), -1), taken_in, cells[::-1]]).astype(int)
    operand = np.concatenate([np.zeros(digits, dtype=int), np.repeat(operand_of, places)])
    place = np.concatenate([np.full(digits, -1), np.tile(np.arange(places), task.lines)])
    row = np.concatenate([np.arange(digits), np.repeat(row_of, places)])
    slot = np.where((operand < 0) & (row == 0), place, -1)
    return Coordinates(np.arange(len(place)), operand, place, slot, row)
