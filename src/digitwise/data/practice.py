"""What models without a canvas learn from: whatever can happen in a column, with every way a carry can come and go."""

from dataclasses import dataclass

import numpy as np

from digitwise.data.carries import NinesRun
from digitwise.data.distributions import ExactLength, Mixture, UniformLengths, fits
from digitwise.numbers import digits as dg
from digitwise.numbers.digits import Digits
from digitwise.tasks.base import Distribution


@dataclass(frozen=True)
class Practice(Distribution):
    """Equal parts of full length, of uniform lengths, and of long chains: runs of nines with and without a carry in.

    The columns of a run are split at random among more than two summands. With `borrows` half of the runs are made
    of equal digits instead, through which a borrow passes. A multiplicand alone repeats its digits.
    """

    max_length: int = 5
    borrows: bool = False

    def width(self, canvas: int) -> int:
        return fits(self.max_length, canvas)

    def draw(self, rng: np.random.Generator, count: int, operands: int, canvas: int) -> Digits:
        width = self.width(canvas)
        out = np.zeros((count, operands, width), dtype=np.uint8)
        part = rng.integers(0, 3, count)
        plain: list[Distribution] = [ExactLength(width), UniformLengths(width)]
        for number, distribution in enumerate(plain):
            mine = np.flatnonzero(part == number)
            out[mine] = distribution.draw(rng, len(mine), operands, canvas)
        mine = np.flatnonzero(part == 2)
        out[mine] = self._chains(rng, len(mine), operands, canvas)
        return out

    def _chains(self, rng: np.random.Generator, count: int, operands: int, canvas: int) -> Digits:
        return self._repeated(rng, count)[:, None] if operands == 1 else self._runs(rng, count, operands, canvas)

    def _runs(self, rng: np.random.Generator, count: int, operands: int, canvas: int) -> Digits:
        width = self.max_length
        runs = [(1.0, NinesRun(run, width, True)) for run in range(1, width)]
        runs += [(1.0, NinesRun(run, width, False)) for run in range(1, width + 1)]
        out = np.zeros((count, operands, width), dtype=np.uint8)
        out[:, :2] = Mixture(tuple(runs)).draw(rng, count, 2, canvas)
        if self.borrows:
            equal = rng.integers(0, 2, count).astype(bool)
            out[equal, 1] = 9 - out[equal, 1]
        for row in range(2, operands):  # each further summand takes a part of a column from an earlier one
            giver = rng.integers(0, row, count)
            given = rng.integers(0, out[np.arange(count), giver] + 1, dtype=np.uint8)
            out[np.arange(count), giver] -= given
            out[:, row] = given
        return out

    def _repeated(self, rng: np.random.Generator, count: int) -> Digits:
        out = dg.sample(rng, self.max_length, rng.integers(1, self.max_length + 1, count))
        lengths = dg.lengths(out)
        for place in range(self.max_length - 2, -1, -1):
            same = (rng.random(count) < 0.7) & (place < lengths - 1)
            out[same, place] = out[same, place + 1]
        return out
