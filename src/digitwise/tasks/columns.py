"""Arithmetic on columns, without a canvas: numbers of any length, one below the other.

    123 + 4095      summands   _ _ 1 2 3         56 * 4297      multiplier        5 6
                               _ 4 0 9 5                        multiplicand  _ _ 4 2 9 7
                    answer     + + + + +                        first row     * * * * * *    for the 5
                               _ 4 2 1 8                        answer        * * * * * *    for the 6
                                                                              2 4 0 6 3 2    is read there

Rows are padded to the longest answer and can be padded further. Below the numbers stand rows of cells, made of the
operator, one for each number that is taken in: as many as there can be summands (but one for two, which it takes in at
once), or digits of a multiplier. The answer is read in the last one, so slot = place; problems that need fewer
rows use the last ones. Cells have no operand, and the rows before the answer's have -2, -3 and so on for one.

A difference is written with as many digits as its larger number has: whether a zero leads is known at the top only, and
nothing flows down from there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from digitwise.coordinates import Coordinates
from digitwise.data.distributions import Distribution
from digitwise.numbers import digits as dg
from digitwise.numbers.digits import Digits
from digitwise.tasks.canvas import Batch, Operands, at_least_one
from digitwise.tasks.symbols import MINUS, PAD, PLUS, SPELLING, TIMES, Tokens, pad

LONGEST = 1_000_000
"""Digits of an operand: no canvas, only a bound for memory."""
SYMBOL = {"+": PLUS, "-": MINUS, "*": TIMES}


class Kind(NamedTuple):
    """An operator, and how many summands or digits of the multiplier it has."""

    operator: str
    size: int = 2

    def __str__(self) -> str:
        words = {"+": f"{self.size} summands", "-": "difference", "*": f"{self.size}-digit multiplier"}
        return words[self.operator]

    @property
    def rows(self) -> int:
        """Operands of any length."""
        return 1 if self.operator == "*" else self.size


@dataclass(frozen=True)
class Arithmetic:
    """Sums of 2 to `summands` numbers, differences (larger minus smaller), products with 1- to k-digit multipliers."""

    operators: str = "+"
    """Any of + - *: one model learns all of them, each problem as likely to be of one kind as of another."""
    summands: int = 2
    multiplier: int = 3
    """Most digits of a multiplier."""
    pads: int = 3
    """Problems are drawn with 0 to this many places more than they need."""

    symbols: ClassVar[Sequence[str]] = SPELLING

    def __post_init__(self) -> None:
        if not self.operators or set(self.operators) - set(SYMBOL) or len(set(self.operators)) < len(self.operators):
            raise ValueError(f"operators must be some of + - *, each once, not '{self.operators}'")
        at_least_one(multiplier=self.multiplier)
        if not 2 <= self.summands <= 10 or self.pads < 0:
            raise ValueError("summands must be from 2 to 10, and pads not negative")

    # Sizes

    @property
    def kinds(self) -> list[Kind]:
        sizes = {"+": range(2, self.summands + 1), "-": [2], "*": range(1, self.multiplier + 1)}
        return [Kind(operator, size) for operator in self.operators for size in sizes[operator]]

    @property
    def rows(self) -> int:
        return max(kind.rows for kind in self.kinds)

    @property
    def alone(self) -> int:
        """Tokens of the multiplier."""
        return self.multiplier if "*" in self.operators else 0

    @property
    def overflow(self) -> int:
        """Places that an answer can have beyond the longest operand: ten summands make one."""
        return max(self.alone, 1 if "+" in self.operators else 0)

    @property
    def canvas(self) -> int:
        return LONGEST

    @property
    def num_slots(self) -> int:
        return LONGEST + self.overflow

    @property
    def summed(self) -> int:
        """Rows of summands."""
        return max((kind.size for kind in self.kinds if kind.operator != "*"), default=0)

    @property
    def steps(self) -> int:
        """Rows of cells: two summands need only one."""
        return max(1 if self.summed == 2 else self.summed, self.alone)

    @property
    def _lines(self) -> int:
        """Rows of any length: the multiplicand, the summands, the cells."""
        return bool(self.alone) + self.summed + self.steps

    @property
    def num_tokens(self) -> int:
        return self.alone + self._lines * self.num_slots

    def coordinates(self, tokens: Tokens | None = None) -> Coordinates:
        """Of as many tokens as a batch has; by default of the shortest problems."""
        places = self.overflow + 1 if tokens is None else (tokens.shape[1] - self.alone) // self._lines
        line = np.concatenate([np.arange(self._lines - self.steps) + bool(self.alone), np.arange(-self.steps, 0)])
        operand = np.concatenate([np.zeros(self.alone, dtype=int), np.repeat(line, places)])
        place = np.concatenate([np.arange(self.alone), np.tile(np.arange(places), self._lines)])
        return Coordinates(np.arange(len(place)), operand, place, np.where(operand == -1, place, -1))

    # Problems: the number of the kind [count, 1], the multiplier if there is any, then the rows [count, width]

    def draw(
        self, distribution: Distribution, rng: np.random.Generator, count: int, kind: Kind | None = None
    ) -> Operands:
        """Problems of all kinds, or of one; a kind that is asked for has no multiplier 0, which would be too easy.
        Where all kinds are drawn, a quarter of the multipliers repeats one digit: 999 makes carries that others do not.
        """
        kinds = self.kinds
        chosen = rng.integers(0, len(kinds), count) if kind is None else np.full(count, kinds.index(kind))
        width = distribution.width(LONGEST) + int(rng.integers(0, self.pads + 1))
        numbers = np.zeros((count, self.rows, width), dtype=np.uint8)
        multipliers = np.zeros((count, self.alone), dtype=np.uint8)
        for number in np.unique(chosen):
            mine, (operator, size) = np.flatnonzero(chosen == number), kinds[number]
            drawn = distribution.draw(rng, len(mine), kinds[number].rows, LONGEST)
            if operator == "-":
                wrong = dg.compare(drawn[:, 0], drawn[:, 1]) < 0
                drawn[wrong] = drawn[wrong, ::-1]
            numbers[mine, : drawn.shape[1], : drawn.shape[2]] = drawn
            if operator == "*":
                multiplier = dg.sample(rng, self.alone, np.full(len(mine), size))
                repeated = (rng.random(len(mine)) < 0.25) & (kind is None)
                multiplier[repeated, :size] = multiplier[repeated, size - 1 : size]
                zero = ~multiplier.any(-1) & (kind is not None)
                multiplier[zero, 0] = rng.integers(1, 10, zero.sum(), dtype=np.uint8)
                multipliers[mine] = multiplier
        return self._operands(chosen, multipliers, numbers)

    def pose(self, kind: Kind, numbers: list[Digits]) -> Operands:
        """Problems of one kind from their numbers, for products the multiplier first."""
        count = len(numbers[0])
        multipliers = np.zeros((count, self.alone), dtype=np.uint8)
        if kind.operator == "*":
            multipliers[:, : numbers[0].shape[1]] = numbers[0]
            numbers = numbers[1:]
        rows = np.zeros((count, self.rows, max(number.shape[1] for number in numbers)), dtype=np.uint8)
        for row, number in enumerate(numbers):
            rows[:, row, : number.shape[1]] = number
        return self._operands(np.full(count, self.kinds.index(kind)), multipliers, rows)

    def _operands(self, chosen: NDArray[np.int64], multipliers: Digits, rows: Digits) -> Operands:
        numbers = [rows[:, row] for row in range(self.rows)]
        return (chosen.astype(np.uint8)[:, None], *([multipliers] if self.alone else []), *numbers)

    def _parts(self, operands: Operands) -> tuple[NDArray[np.uint8], Digits, Digits]:
        kind, *numbers = operands
        multipliers = numbers.pop(0) if self.alone else np.zeros((len(kind), 0), dtype=np.uint8)
        return kind[:, 0], multipliers, np.stack(numbers, axis=1)

    def solve(self, operands: Operands) -> Digits:
        chosen, multipliers, rows = self._parts(operands)
        out = np.zeros((len(chosen), rows.shape[2] + self.overflow), dtype=np.uint8)
        for number in np.unique(chosen):
            mine, operator = chosen == number, self.kinds[number].operator
            if operator == "+":
                answer = dg.add_many(rows[mine])
            elif operator == "-":
                answer = dg.subtract(rows[mine, 0], rows[mine, 1])
            else:
                answer = dg.multiply(multipliers[mine], rows[mine, 0])
            width = min(answer.shape[1], out.shape[1])
            out[mine, :width] = answer[:, :width]
        return out

    def encode(self, operands: Operands) -> Batch:
        chosen, _, rows = self._parts(operands)
        answer = self.solve(operands)
        targets = pad(answer, answer.shape[1])
        minus = np.array([kind.operator == "-" for kind in self.kinds])[chosen]
        written = np.arange(answer.shape[1]) < dg.lengths(rows[minus, 0])[:, None]
        targets[minus] = np.where(written, answer[minus], np.uint8(PAD))
        return Batch(self.write(operands), targets)

    def write(self, operands: Operands) -> Tokens:
        """The tokens of problems, which say nothing about their answers."""
        chosen, multipliers, rows = self._parts(operands)
        count, _, width = rows.shape
        places, first = width + self.overflow, bool(self.alone)
        lines = np.full((count, self._lines, places), PAD, dtype=np.uint8)
        alone = np.full((count, self.alone), PAD, dtype=np.uint8)
        for number in np.unique(chosen):
            mine, (operator, size) = np.flatnonzero(chosen == number), self.kinds[number]
            cells = lines[mine, -self.steps :]
            cells[:, -size:] = SYMBOL["+" if operator == "-" else operator]
            cells[:, -1] = SYMBOL[operator]
            lines[mine, -self.steps :] = cells
            if operator == "*":
                alone[mine] = pad(multipliers[mine], self.alone)
                lines[mine, 0] = pad(rows[mine, 0], places)
            for row in range(size) if operator != "*" else ():
                lines[mine, first + self.summed - size + row] = pad(rows[mine, row], places)
        return np.concatenate([alone, lines.reshape(count, -1)], axis=1)

    def render(self, operands: Operands) -> list[str]:
        chosen, multipliers, rows = self._parts(operands)
        numbers = [dg.render(rows[:, row]) for row in range(self.rows)]
        texts = []
        for index, number in enumerate(chosen):
            kind = self.kinds[number]
            written = [str(column[index]) for column in numbers[: kind.rows]]
            if kind.operator == "*":
                written = [str(dg.render(multipliers[index : index + 1])[0]), *written]
            texts.append(f" {SPELLING[SYMBOL[kind.operator]]} ".join(written))
        return texts
