"""Results as integers: how many problems were tried and how many answered right. Means come last, and counts merge."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from digitwise.rng import generator

Interval = tuple[float, float]

#: From so many seeds on their spread can be drawn from; fewer are taken one by one.
MANY_SEEDS = 10
DRAWS = 2000


@dataclass(frozen=True)
class Count:
    """One cell. Everything but the two numbers is its key: cells with equal keys are the same measurement."""

    suite: str
    version: int
    length: int
    stratum: str  # what was drawn, where a suite draws several kinds of problems: "cascade 3"
    group: str  # a part of the stratum that is counted by itself: "place 0"; "" for all of it
    seed: int  # of the problems, not of the training
    checkpoint: int
    tried: int
    correct: int

    def __post_init__(self) -> None:
        numbers = (self.version, self.length, self.seed, self.checkpoint, self.tried, self.correct)
        named = all(isinstance(name, str) for name in (self.suite, self.stratum, self.group))
        if not named or not all(type(n) is int for n in numbers) or not 0 <= self.correct <= self.tried:
            raise ValueError(f"{self.correct!r} of {self.tried!r} is not a count of whole numbers under a name")

    @property
    def key(self) -> tuple[str, int, int, str, str, int, int]:
        return (self.suite, self.version, self.length, self.stratum, self.group, self.seed, self.checkpoint)

    @property
    def accuracy(self) -> float:
        return self.correct / self.tried if self.tried else math.nan

    @property
    def interval(self) -> Interval:
        return wilson(self.correct, self.tried)


def wilson(correct: int, tried: int, z: float = 1.959964) -> Interval:
    """95 % interval of a proportion, sensible also for 0 and for all of few (Wilson 1927)."""
    if tried == 0:
        return 0.0, 1.0
    share, spread = correct / tried, z * z / tried
    centre = (share + spread / 2) / (1 + spread)
    half = z * math.sqrt(share * (1 - share) / tried + spread / (4 * tried)) / (1 + spread)
    # At the ends the bound is exactly 0 or 1; rounding must not move it past them.
    return (0.0 if correct == 0 else centre - half), (1.0 if correct == tried else centre + half)


def merge(counts: Iterable[Count], by: Callable[[Count], Any]) -> dict[Any, Count]:
    """Add up the cells that `by` maps to the same value, in order of appearance. Versions of a suite never mix."""
    merged: dict[Any, Count] = {}
    for count in counts:
        group = by(count)
        sofar = merged.get(group)
        if sofar is None:
            merged[group] = count
        elif (sofar.suite, sofar.version) != (count.suite, count.version):
            raise ValueError(
                f"results of {sofar.suite} v{sofar.version} and {count.suite} v{count.version} do not merge"
            )
        else:
            merged[group] = replace(sofar, tried=sofar.tried + count.tried, correct=sofar.correct + count.correct)
    return merged


def updated(old: Sequence[Count], new: Iterable[Count]) -> list[Count]:
    """`old` with the cells of `new` in place of those with the same keys, in a stable order."""
    cells = {count.key: count for count in [*old, *new]}
    return [cells[key] for key in sorted(cells)]


@dataclass(frozen=True, eq=False)
class OverSeeds:
    """One measurement of one method, once per training seed: a count, or a number that has no error of its own.

    Seeds are shown side by side and never added up. All answers of a network share its luck, so the problems of three
    networks are not three times as many independent problems.
    """

    method: str  # whose networks they are: measurements of one method are compared seed by seed
    by_seed: Mapping[int, Count | float]

    @property
    def values(self) -> list[float]:
        return [value_of(measured) for measured in self.by_seed.values()]

    @property
    def median(self) -> float:
        return median(self.values)

    @property
    def worst(self) -> float:
        return min(self.values)

    @property
    def interval(self) -> Interval:
        return WeightedSum({self: 1.0}).interval

    def __sub__(self, other: "OverSeeds") -> "WeightedSum":
        return WeightedSum({self: 1.0}) - WeightedSum({other: 1.0})


@dataclass(frozen=True)
class WeightedSum:
    """Measurements with weights: `a - b` for a difference, `(a - b) - (b - c)` for a difference of differences."""

    weights: Mapping[OverSeeds, float]

    def __sub__(self, other: "WeightedSum") -> "WeightedSum":
        terms = dict.fromkeys([*self.weights, *other.weights])
        return WeightedSum({term: self.weights.get(term, 0.0) - other.weights.get(term, 0.0) for term in terms})

    @property
    def interval(self) -> Interval:
        """95 % interval over seeds: a statement about the methods, which must survive the spread of their networks.

        Below ten seeds it reaches from the lowest to the highest bound of all the seeds' own intervals. One method has
        one such interval per seed, two methods have one per pair of seeds. So a bound is met only if every seed, or
        every pair, meets it by itself. From ten seeds per method on it is a bootstrap of the mean over seeds.
        """
        methods: dict[str, dict[OverSeeds, float]] = {}
        for term, weight in self.weights.items():
            methods.setdefault(term.method, {})[term] = weight
        seeds = [sorted(set.intersection(*(set(term.by_seed) for term in terms))) for terms in methods.values()]
        if min(map(len, seeds)) >= MANY_SEEDS:
            return _bootstrap(list(zip(methods.values(), seeds, strict=True)))
        own = [
            square_and_add(
                (weight, term.by_seed[seed])
                for terms, seed in zip(methods.values(), choice, strict=True)
                for term, weight in terms.items()
            )
            for choice in product(*seeds)
        ]
        return min((low for low, _ in own), default=-math.inf), max((high for _, high in own), default=math.inf)


def square_and_add(weighted: Iterable[tuple[float, Count | float]]) -> Interval:
    """95 % interval of a weighted sum of independent proportions, from their Wilson intervals.

    Newcombe (1998) for a difference, Zou and Donner (2008) for any weights. A plain number adds no width.
    """
    total = below = above = 0.0
    for weight, measured in weighted:
        value = weight * value_of(measured)
        bounds = [weight * bound for bound in (measured.interval if isinstance(measured, Count) else (measured,))]
        total += value
        below += (value - min(bounds)) ** 2
        above += (max(bounds) - value) ** 2
    return total - math.sqrt(below), total + math.sqrt(above)


def value_of(measured: Count | float) -> float:
    return measured.accuracy if isinstance(measured, Count) else measured


def _bootstrap(methods: Sequence[tuple[Mapping[OverSeeds, float], list[int]]]) -> Interval:
    """95 % of the means over seeds that other networks and other problems would give.

    Each draw takes seeds with replacement, and for each of them its right answers binomially. The interval is never
    narrower than that of one seed's problems at the mean accuracy, since all seeds answer the same problems.
    """
    rng = generator(0, "bootstrap over seeds")
    totals, at_the_mean = np.zeros(DRAWS), []
    for terms, seeds in methods:
        drawn = rng.integers(0, len(seeds), (DRAWS, len(seeds)))  # the same networks for all terms of a method
        for term, weight in terms.items():
            measured = [term.by_seed[seed] for seed in seeds]
            values = np.array([value_of(one) for one in measured])
            mean: Count | float = float(values.mean())
            answers = values[drawn]
            counts = [one for one in measured if isinstance(one, Count)]
            if counts:
                tried = np.array([count.tried for count in counts])
                answers = rng.binomial(tried[drawn], answers) / tried[drawn]
                mean = replace(counts[0], tried=int(tried.min()), correct=round(values.mean() * tried.min()))
            totals += weight * answers.mean(1)
            at_the_mean.append((weight, mean))
    low, high = np.quantile(totals, [0.025, 0.975])
    least, most = square_and_add(at_the_mean)
    return min(float(low), least), max(float(high), most)


class Numbered(NamedTuple):
    """A name with a number in it, of a stratum or of a group: "cascade 3", "run 8 with carry", "place 0"."""

    what: str
    number: int
    rest: str = ""

    def __str__(self) -> str:
        return f"{self.what} {self.number} {self.rest}".rstrip()

    @property
    def kind(self) -> str:
        return f"{self.what} {self.rest}".rstrip()

    @classmethod
    def parse(cls, name: str) -> "Numbered":
        found = re.fullmatch(r"(\S.*?) ([0-9]+)(?: (.*))?", name)
        if found is None:
            raise ValueError(f"'{name}' is not a name with a number in it, such as 'cascade 3'")
        return cls(found[1], int(found[2]), found[3] or "")


class Chains(NamedTuple):
    """The name of a group of the strata suite, longest cascade and longest untriggered run: "2/3"."""

    cascade: int
    untriggered: int

    def __str__(self) -> str:
        return f"{self.cascade}/{self.untriggered}"

    @classmethod
    def parse(cls, name: str) -> "Chains":
        cascade, untriggered = map(int, name.split("/"))
        return cls(cascade, untriggered)


class Case(NamedTuple):
    """The name of an edge case: "2 summands: zero", or "zero" for a task that has one kind of problems."""

    kind: str
    case: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.case}" if self.kind else self.case

    @classmethod
    def parse(cls, name: str) -> "Case":
        kind, _, case = name.rpartition(": ")
        return cls(kind, case)
