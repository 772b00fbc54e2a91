"""Additions of a given complexity, drawn directly: rare problems cost what common ones cost.

No draw is ever thrown away (see `machines` for how), and a class without a word on it is exactly uniform over the
problems with its property. `exactly` asks for two numbers of exactly `length` digits instead of values below 10^length.
"""

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from digitwise.data import machines
from digitwise.data.distributions import Mixture, UniformValues, fits
from digitwise.data.machines import HIGH, LOW, NINE, table, walk, write
from digitwise.numbers.digits import Digits
from digitwise.rng import generator
from digitwise.tasks.base import Distribution


@dataclass(frozen=True)
class Cascade(Distribution):
    """Sums whose longest cascade has exactly this length."""

    cascade: int = 2
    length: int = 5
    exactly: bool = False

    def width(self, canvas: int) -> int:
        width = fits(self.length, canvas)
        if not 0 <= self.cascade <= width:
            raise ValueError(f"a cascade in {width} digits has a length from 0 to {width}, not {self.cascade}")
        return width

    def draw(self, rng: np.random.Generator, count: int, operands: int, canvas: int) -> Digits:
        width = _two(self, operands, canvas)
        leading = _leading(self.exactly, width)
        sorts = walk(rng, table(machines.cascades, self.cascade, width, leading), count, width)
        return write(rng, sorts, leading)


@dataclass(frozen=True)
class UniformComplexity(Distribution):
    """Every cascade length from 0 to max_length equally often, over values below 10^max_length: with 100,000 training
    sums of up to 5 digits a sixth has a cascade of 5, which is the paper's count (claim C3)."""

    max_length: int = 5

    def width(self, canvas: int) -> int:
        return fits(self.max_length, canvas)

    def draw(self, rng: np.random.Generator, count: int, operands: int, canvas: int) -> Digits:
        classes = range(_two(self, operands, canvas) + 1)
        mixture = Mixture(tuple((1.0, Cascade(cascade, self.max_length)) for cascade in classes))
        return mixture.draw(rng, count, operands, canvas)


@dataclass(frozen=True)
class MixedComplexity(Distribution):
    """The paper's hybrid: each sum is uniform over values or uniform over complexity, with equal chances."""

    max_length: int = 5

    def width(self, canvas: int) -> int:
        return fits(self.max_length, canvas)

    def draw(self, rng: np.random.Generator, count: int, operands: int, canvas: int) -> Digits:
        _two(self, operands, canvas)
        values, complexity = UniformValues(self.max_length), UniformComplexity(self.max_length)
        return Mixture(((0.5, values), (0.5, complexity))).draw(rng, count, operands, canvas)


@dataclass(frozen=True)
class NinesRun(Distribution):
    """A run of exactly `run` columns that sum to 9, entered with a carry or without one.

    The run stands at each place where it fits equally often: with a carry above a column that makes one (so from
    place 1 up), without a carry above a column below 9 or at place 0. The column above it is no nine. All other
    columns are uniform, given that no longer run of the same kind is among them; so the longest cascade is `run` + 1,
    or the longest untriggered run is `run`.
    """

    run: int = 2
    length: int = 5
    carry_in: bool = True
    exactly: bool = False

    def width(self, canvas: int) -> int:
        width = fits(self.length, canvas)
        longest = width - self.carry_in
        if not 1 <= self.run <= longest:
            way = "with" if self.carry_in else "without"
            most = f"from 1 to {longest} columns" if longest else "no columns at all"
            raise ValueError(f"a run of nines {way} a carry has {most} in {width} digits, not {self.run}")
        return width

    def draw(self, rng: np.random.Generator, count: int, operands: int, canvas: int) -> Digits:
        width = _two(self, operands, canvas)
        leading = _leading(self.exactly, width)
        place = rng.integers(int(self.carry_in), width - self.run + 1, count)
        limit = machines.triggered_limit if self.carry_in else machines.untriggered_limit
        # Below the run the columns end with any column, above it with the topmost one.
        below, above = table(limit, self.run, width, False), table(limit, self.run, width, leading)
        sorts = walk(rng, below, count, width, place - 1)
        sorts_above = walk(rng, above, count, width, width - place - self.run, start=above.exit)
        index = np.arange(width)
        source = index - (place + self.run)[:, None]
        moved = np.take_along_axis(sorts_above, np.maximum(source, 0), axis=1)
        sorts = np.where(source >= 0, moved, sorts)
        sorts[(index >= place[:, None]) & (source < 0)] = NINE
        sorts[index == place[:, None] - 1] = HIGH if self.carry_in else LOW
        return write(rng, sorts, leading)


@dataclass(frozen=True)
class ConsecutiveCarries(Distribution):
    """Exactly `carries` carries in a row and not more anywhere, each made by its own column: no column that gets a
    carry sums to 9, so no cascade is longer than 1 (claim C1)."""

    carries: int = 2
    length: int = 5
    exactly: bool = False

    def width(self, canvas: int) -> int:
        width = fits(self.length, canvas)
        if not 0 <= self.carries <= width:
            raise ValueError(f"{width} digits have from 0 to {width} carries in a row, not {self.carries}")
        return width

    def draw(self, rng: np.random.Generator, count: int, operands: int, canvas: int) -> Digits:
        width = _two(self, operands, canvas)
        leading = _leading(self.exactly, width)
        sorts = walk(rng, table(machines.consecutive, self.carries, width, leading), count, width)
        return write(rng, sorts, leading)


CONDITIONAL = {
    "cascade": Cascade,
    "complexity": UniformComplexity,
    "mixed": MixedComplexity,
    "nines": NinesRun,
    "consecutive": ConsecutiveCarries,
}


def sampler_rates(length: int = 50, count: int = 20_000) -> dict[str, float]:
    """Problems a second of each sampler on one core, once its tables are built."""
    samplers: dict[str, Distribution] = {
        "cascade 2": Cascade(2, length),
        f"cascade {length}": Cascade(length, length),
        "uniform over complexity": UniformComplexity(length),
        "mixed": MixedComplexity(length),
        f"nines {length // 2} with carry": NinesRun(length // 2, length, True),
        f"nines {length // 2} without carry": NinesRun(length // 2, length, False),
        f"consecutive {length // 2}": ConsecutiveCarries(length // 2, length),
    }
    rates = {}
    for name, sampler in samplers.items():
        rng = generator(0, "rates", name)
        sampler.draw(rng, 1, 2, length)
        start = perf_counter()
        sampler.draw(rng, count, 2, length)
        rates[name] = count / (perf_counter() - start)
    return rates


def _leading(exactly: bool, width: int) -> bool:
    """Whether leading digits must not be zero; zero is a number of one digit."""
    return exactly and width > 1


def _two(distribution: Distribution, operands: int, canvas: int) -> int:
    """The width, if the problem is an addition of two numbers."""
    if operands != 2:
        name = type(distribution).__name__
        raise ValueError(f"{name} draws sums of two numbers: use it with addition, not for {operands} operand(s)")
    return distribution.width(canvas)
