"""Suites, named and versioned sets of test problems: what a suite is, and the suites of random problems by length.

A suite has strata, which are counted apart.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from digitwise.counts import Numbered
from digitwise.data.distributions import ExactLength, Shifted, UniformValues
from digitwise.rng import generator
from digitwise.tasks import Distribution, Kind, Problems, Task

Right = NDArray[np.bool_]
TWO = Kind("+", 2)


@dataclass(frozen=True)
class Stratum:
    """Problems that are drawn together: of one length, and of one kind where a suite has several."""

    length: int
    name: str
    draw: Callable[[np.random.Generator, int], Problems]
    task: Task
    """Writes the problems: the model's own task, or one like it."""
    places: int = 0
    """Places that an answer can have."""


def whole_answers(stratum: Stratum, problems: Problems, right: Right) -> dict[str, Right]:
    return {}


@dataclass(frozen=True)
class Suite:
    name: str
    version: int
    """Changes when the problems do: results of two versions never mix."""
    strata: Callable[[Task, Sequence[int]], list[Stratum]]
    """From a task and lengths to strata; its docstring says what the suite is for."""
    tally: Callable[[Stratum, Problems, Right], dict[str, Right]] = whole_answers
    """What is counted besides whole answers, from which symbols are right, `[count, slots]`: groups by name."""
    what: str = ""
    """A description, where the docstring of `strata` does not say it all."""

    @property
    def description(self) -> str:
        return self.what or " ".join((self.strata.__doc__ or "").split())

    def draw(self, stratum: Stratum, count: int, seed: int) -> Problems:
        """Return the problems of a stratum: a pure function of the suite, the stratum and the seed."""
        return stratum.draw(generator(seed, "test", self.name, self.version, stratum.length, stratum.name), count)


def drawn(task: Task, length: int, name: str, distribution: Distribution, kind: Kind = TWO) -> Stratum:
    """Return a stratum from a distribution; one that does not fit the canvas is refused at once."""
    distribution.width(task.longest)
    return Stratum(
        length, name, lambda rng, count: task.draw(distribution, rng, count, kind), task, length + task.overflow
    )


def named_kinds(task: Task) -> list[tuple[str, Kind]]:
    """Return the kinds of problems with the names of their strata; a task of one kind needs no name."""
    return [(str(kind) if len(task.kinds) > 1 else "", kind) for kind in task.kinds]


def need_sums(task: Task, suite: str) -> None:
    if TWO not in task.kinds:
        raise ValueError(f"the {suite} suite is about carries of sums: it needs an addition task")


def check_problems(count: int) -> int:
    if count < 1:
        raise ValueError(f"--problems must be at least 1, not {count}")
    return count


def uniform(task: Task, lengths: Sequence[int]) -> list[Stratum]:
    """Numbers of exactly L digits; where a model supports several kinds of problems, each kind by itself."""
    return [drawn(task, n, name, ExactLength(n), kind) for n in lengths for name, kind in named_kinds(task)]


def upto(task: Task, lengths: Sequence[int]) -> list[Stratum]:
    """The paper's: values below 10^L."""
    return [drawn(task, n, name, UniformValues(n), kind) for n in lengths for name, kind in named_kinds(task)]


def shifted(task: Task, lengths: Sequence[int]) -> list[Stratum]:
    """Values below 10^L with zeros appended, every shift that fits the canvas."""
    return [drawn(task, n, "", Shifted(UniformValues(n)), task.kinds[0]) for n in lengths]


def more(task: Task, lengths: Sequence[int]) -> list[Stratum]:
    """More summands, or digits of the multiplier, than training had; numbers of exactly L digits."""
    if not task.larger():
        raise ValueError("the more suite needs a model without a canvas that has several rows, as of beyond-product3")
    return [
        drawn(larger, n, str(kind), ExactLength(n), kind) for n in lengths for kind, larger in task.larger().items()
    ]


def text(task: Task, lengths: Sequence[int]) -> list[Stratum]:
    """Numbers of exactly L digits among 0, 20 and 40 words at each of the three sides, and in English sentences."""
    if not task.in_texts():
        raise ValueError(
            "the text suite is about numbers in a text: it needs a text-addition or text-multiplication task"
        )
    others = task.in_texts().items()
    return [drawn(other, n, name, ExactLength(n), other.kinds[0]) for n in lengths for name, other in others]


FIRST = 5
"""The paper's table counts so many places one by one, and all others as one."""
UPPER = str(Numbered("places above", FIRST))


def by_place(stratum: Stratum, problems: Problems, right: Right) -> dict[str, Right]:
    """Each place that an answer to numbers of this length can have, and all above the fifth together."""
    by_place = {str(Numbered("place", place)): right[:, place] for place in range(stratum.places)}
    upper = right[:, FIRST : stratum.places]
    return by_place | ({UPPER: np.asarray(upper.all(1))} if upper.size else {})


def by_factor(stratum: Stratum, problems: Problems, right: Right) -> dict[str, Right]:
    """Products that are more than a copy."""
    more = np.asarray(problems.multipliers @ 10 ** np.arange(problems.multipliers.shape[1]) > 1)
    return {"multiplier above 1": np.asarray(right.all(1))[more]}


SUITES = [
    Suite("uniform", 1, uniform),
    Suite("upto", 1, upto),
    Suite("more", 1, more),
    Suite("shifted", 1, shifted),
    Suite("places", 1, uniform, by_place, what="Numbers of exactly L digits; each place of the answer counted apart."),
    Suite("factors", 1, uniform, by_factor, what="Products of exactly L digits; multipliers above 1 counted apart."),
    Suite("text", 1, text),
]
