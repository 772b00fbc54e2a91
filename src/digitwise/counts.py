"""Results as integers: how many problems were tried and how many answered right. Means come last, and counts merge."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any


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
        if not all(isinstance(number, int) for number in numbers) or not 0 <= self.correct <= self.tried:
            raise ValueError(f"{self.correct} of {self.tried} is not a count")

    @property
    def key(self) -> tuple[str, int, int, str, str, int, int]:
        return (self.suite, self.version, self.length, self.stratum, self.group, self.seed, self.checkpoint)

    @property
    def accuracy(self) -> float:
        return self.correct / self.tried if self.tried else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        return wilson(self.correct, self.tried)


def wilson(correct: int, tried: int, z: float = 1.959964) -> tuple[float, float]:
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
