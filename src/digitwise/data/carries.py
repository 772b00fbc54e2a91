"""Additions of a given complexity, drawn directly: rare problems cost as much as common ones.

No draw is ever thrown away (`machines` says how). Within a class, problems are uniform unless stated otherwise.
`exactly` asks for two numbers of exactly `length` digits; without it they are uniform over the values below 10^length.
"""

from dataclasses import dataclass

import numpy as np

from digitwise.data import machines
from digitwise.data.distributions import ExactLength, Mixture, UniformLengths, UniformValues, fits
from digitwise.data.machines import HIGH, LOW, NINE, chances_of, draw_digits, draw_sorts
from digitwise.numbers import digits as dg
from digitwise.numbers.digits import Digits
from digitwise.tasks.base import Distribution


@dataclass(frozen=True)
class Cascade(Distribution):
    """Sums whose longest cascade has exactly this length."""

    cascade: int = 2
    length: int = 5
    exactly: bool = False

    def width(self, longest: int | None) -> int:
        width = fits(self.length, longest)
        if not 0 <= self.cascade <= width:
            raise ValueError(f"a cascade in {width} digits has a length from 0 to {width}, not {self.cascade}")
        return width

    def draw(self, rng: np.random.Generator, count: int, numbers: int, longest: int | None) -> Digits:
        width = _two(self, numbers, longest)
        leading = _leading(self.exactly, width)
        sorts = draw_sorts(rng, chances_of(machines.cascades, self.cascade, width, leading), count, width)
        return draw_digits(rng, sorts, leading)


@dataclass(frozen=True)
class UniformComplexity(Distribution):
    """Every cascade length from 0 to max_length equally often, over values below 10^max_length. With max_length 5 one
    sum in six has a cascade of 5, which is the paper's count: 16,000 of 100,000 (claim C3)."""

    max_length: int = 5

    def width(self, longest: int | None) -> int:
        return fits(self.max_length, longest)

    def draw(self, rng: np.random.Generator, count: int, numbers: int, longest: int | None) -> Digits:
        classes = range(_two(self, numbers, longest) + 1)
        mixture = Mixture(tuple((1.0, Cascade(cascade, self.max_length)) for cascade in classes))
        return mixture.draw(rng, count, numbers, longest)


@dataclass(frozen=True)
class MixedComplexity(Distribution):
    """The paper's hybrid: each sum is uniform over values or uniform over complexity, with equal chances."""

    max_length: int = 5

    def width(self, longest: int | None) -> int:
        return fits(self.max_length, longest)

    def draw(self, rng: np.random.Generator, count: int, numbers: int, longest: int | None) -> Digits:
        _two(self, numbers, longest)
        values, complexity = UniformValues(self.max_length), UniformComplexity(self.max_length)
        return Mixture(((0.5, values), (0.5, complexity))).draw(rng, count, numbers, longest)


@dataclass(frozen=True)
class NinesRun(Distribution):
    """A run of exactly `run` columns that sum to 9, entered with a carry or without one.

    Not uniform: every place where the run fits is equally likely. A run with a carry stands above a column that makes
    one, so from place 1 up; a run without a carry stands above a column below 9, or at place 0. The column above the
    run is not a nine. Given the place, all other columns are uniform, provided that no run with the same `carry_in`
    is longer. So the longest cascade has `run` + 1 columns, or the longest untriggered run has `run`.
    """

    run: int = 2
    length: int = 5
    carry_in: bool = True
    exactly: bool = False

    def width(self, longest: int | None) -> int:
        width = fits(self.length, longest)
        columns = width - self.carry_in
        if not 1 <= self.run <= columns:
            way = "with" if self.carry_in else "without"
            most = f"from 1 to {columns} columns" if columns else "no columns at all"
            raise ValueError(f"a run of nines {way} a carry has {most} in {width} digits, not {self.run}")
        return width

    def draw(self, rng: np.random.Generator, count: int, numbers: int, longest: int | None) -> Digits:
        width = _two(self, numbers, longest)
        leading = _leading(self.exactly, width)
        lowest = rng.integers(int(self.carry_in), width - self.run + 1, count)  # the run's lowest place
        build = machines.triggered_at_most if self.carry_in else machines.untriggered_at_most
        # Of the columns drawn here only those above the run can include the topmost one.
        below = draw_sorts(rng, chances_of(build, self.run, width, False), count, width, lowest - 1)
        upper = chances_of(build, self.run, width, leading)
        above = draw_sorts(rng, upper, count, width, width - lowest - self.run, start=upper.after_run)

        height = np.arange(width) - (lowest + self.run)[:, None]  # 0 right above the run, -1 at its highest place
        lifted = np.take_along_axis(above, np.maximum(height, 0), axis=1)
        sorts = np.where(height >= 0, lifted, np.where(height >= -self.run, np.uint8(NINE), below))
        sorts[height == -self.run - 1] = HIGH if self.carry_in else LOW
        return draw_digits(rng, sorts, leading)


@dataclass(frozen=True)
class ConsecutiveCarries(Distribution):
    """Sums with exactly `carries` carries in a row and nowhere more, each made by its own column: no column that
    receives a carry sums to 9, so no cascade is longer than 1 (claim C1)."""

    carries: int = 2
    length: int = 5
    exactly: bool = False

    def width(self, longest: int | None) -> int:
        width = fits(self.length, longest)
        if not 0 <= self.carries <= width:
            raise ValueError(f"{width} digits have from 0 to {width} carries in a row, not {self.carries}")
        return width

    def draw(self, rng: np.random.Generator, count: int, numbers: int, longest: int | None) -> Digits:
        width = _two(self, numbers, longest)
        leading = _leading(self.exactly, width)
        sorts = draw_sorts(rng, chances_of(machines.consecutive, self.carries, width, leading), count, width)
        return draw_digits(rng, sorts, leading)


@dataclass(frozen=True)
class Practice(Distribution):
    """What models without a canvas train on: equal parts of full length, of uniform lengths, and of long chains.

    The chains of sums are runs of nines of every length, with and without a carry in. More than two summands share
    the digits of a run at random. With `borrows`, half of the runs are equal digits instead, through which a borrow
    passes. The chain of a multiplicand is a repeated digit.
    """

    max_length: int = 5
    borrows: bool = False

    def width(self, longest: int | None) -> int:
        return fits(self.max_length, longest)

    def draw(self, rng: np.random.Generator, count: int, numbers: int, longest: int | None) -> Digits:
        width = self.width(longest)
        out = np.zeros((count, numbers, width), dtype=np.uint8)
        part = rng.integers(0, 3, count)
        for number, draw in enumerate((ExactLength(width).draw, UniformLengths(width).draw, self._chains)):
            mine = np.flatnonzero(part == number)
            out[mine] = draw(rng, len(mine), numbers, longest)
        return out

    def _chains(self, rng: np.random.Generator, count: int, numbers: int, longest: int | None) -> Digits:
        if numbers == 1:
            return _repeated_digits(rng, count, self.max_length)[:, None]
        runs = [(1.0, NinesRun(run, self.max_length, True)) for run in range(1, self.max_length)]
        runs += [(1.0, NinesRun(run, self.max_length, False)) for run in range(1, self.max_length + 1)]
        out = np.zeros((count, numbers, self.max_length), dtype=np.uint8)
        out[:, :2] = Mixture(tuple(runs)).draw(rng, count, 2, longest)
        if self.borrows:
            equal = rng.integers(0, 2, count).astype(bool)
            out[equal, 1] = 9 - out[equal, 1]  # digits that sum to 9 become equal
        problem = np.arange(count)
        for taker in range(2, numbers):  # takes a part of each digit of an earlier summand, so the columns stay
            giver = rng.integers(0, taker, count)
            given = rng.integers(0, out[problem, giver] + 1, dtype=np.uint8)
            out[problem, giver] -= given
            out[:, taker] = given
        return out


CONDITIONAL = {
    "cascade": Cascade,
    "complexity": UniformComplexity,
    "mixed": MixedComplexity,
    "nines": NinesRun,
    "consecutive": ConsecutiveCarries,
}


def _leading(exactly: bool, width: int) -> bool:
    """Whether leading digits must not be zero; zero is a number of one digit."""
    return exactly and width > 1


def _two(distribution: Distribution, numbers: int, longest: int | None) -> int:
    """The width, if the problem has two numbers."""
    if numbers != 2:
        name = type(distribution).__name__
        raise ValueError(f"{name} draws sums of two numbers: use it with addition, not for {numbers}")
    return distribution.width(longest)


def _repeated_digits(rng: np.random.Generator, count: int, max_length: int) -> Digits:
    """Numbers of uniform lengths in which each digit repeats the one above it with a chance of 0.7."""
    out = dg.sample(rng, max_length, rng.integers(1, max_length + 1, count))
    lengths = dg.lengths(out)
    for place in range(max_length - 2, -1, -1):
        same = (rng.random(count) < 0.7) & (place < lengths - 1)
        out[same, place] = out[same, place + 1]
    return out
