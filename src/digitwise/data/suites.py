"""Named, versioned sets of test problems. A version changes when its problems do; results of two versions never mix."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from digitwise.config import did_you_mean
from digitwise.data import Distribution, ExactLength, NoCarry, Shifted, UniformValues
from digitwise.data import edges as edge_cases
from digitwise.data.carries import Cascade, ConsecutiveCarries, NinesRun
from digitwise.data.distributions import fits
from digitwise.numbers import complexity
from digitwise.numbers import digits as dg
from digitwise.numbers.digits import Digits
from digitwise.rng import generator
from digitwise.tasks import Addition, Arithmetic, Kind, Operands, Task
from digitwise.tasks.text import InText

Right = NDArray[np.bool_]
TWO = Kind("+", 2)
MORE = (1, 2, 5)
"""How many more than in training."""


@dataclass(frozen=True)
class Stratum:
    """Problems that are drawn together: of one length, and of one kind where a suite has several."""

    length: int
    name: str
    draw: Callable[[np.random.Generator, int], Operands]
    places: int = 0
    """Places that an answer can have."""
    task: Task | None = None
    """Writes the problems, if not the run's own task does."""


def whole_answers(stratum: Stratum, operands: Operands, right: Right) -> dict[str, Right]:
    return {}


@dataclass(frozen=True)
class Suite:
    name: str
    version: int
    strata: Callable[[Task, Sequence[int]], list[Stratum]]
    tally: Callable[[Stratum, Operands, Right], dict[str, Right]] = whole_answers
    """What is counted besides whole answers, from which symbols are right, `[count, slots]`: groups by name."""

    def draw(self, stratum: Stratum, count: int, seed: int) -> Operands:
        """The problems of a stratum: a pure function of the suite, the stratum and the seed."""
        return stratum.draw(generator(seed, "test", self.name, self.version, stratum.length, stratum.name), count)


def kinds(task: Task) -> list[tuple[str, Kind]]:
    """The kinds of problems of a task, with the names of their strata: a task of one kind needs no name."""
    if isinstance(task, Arithmetic):
        return [(str(kind) if len(task.kinds) > 1 else "", kind) for kind in task.kinds]
    return [("", Kind("+") if isinstance(task, Addition) else Kind("*", task.multiplier))]  # type: ignore[attr-defined]


def _draw(task: Task, distribution: Distribution, rng: np.random.Generator, count: int, kind: Kind) -> Operands:
    if isinstance(task, Arithmetic):
        return task.draw(distribution, rng, count, kind)
    return task.draw(distribution, rng, count)


def drawn(task: Task, length: int, name: str, distribution: Distribution, kind: Kind = TWO) -> Stratum:
    """A stratum from a distribution, refused at once if it does not fit the canvas."""
    distribution.width(task.canvas)
    places = length + task.num_slots - task.canvas
    return Stratum(length, name, lambda rng, count: _draw(task, distribution, rng, count, kind), places)


def _additions_only(task: Task, suite: str) -> None:
    if TWO not in [kind for _, kind in kinds(task)]:
        raise ValueError(f"the {suite} suite is about carries of sums: it needs an addition task")


def classes(longest: int) -> list[int]:
    """Every class up to 12, then fewer and fewer: long numbers have more classes than anybody wants to wait for."""
    return [c for c in [*range(13), 15, 20, 30, 40, 50, 75, 100, 150, 200, 300, 500, 750, 1000] if c <= longest]


def uniform(task: Task, lengths: Sequence[int]) -> list[Stratum]:
    """Operands of exactly L digits; where a model knows several kinds of problems, each kind by itself."""
    return [drawn(task, length, name, ExactLength(length), kind) for length in lengths for name, kind in kinds(task)]


def upto(task: Task, lengths: Sequence[int]) -> list[Stratum]:
    """The paper's: values below 10^L."""
    return [drawn(task, length, name, UniformValues(length), kind) for length in lengths for name, kind in kinds(task)]


def more(task: Task, lengths: Sequence[int]) -> list[Stratum]:
    """More summands, or digits of the multiplier, than training had; operands of exactly L digits."""
    if not isinstance(task, Arithmetic) or task.steps < 2:
        raise ValueError("the more suite needs a model without a canvas that knows several rows, as of beyond-product3")
    wider = {}
    for extra in MORE:
        if task.alone:
            wider[Kind("*", task.multiplier + extra)] = replace(task, multiplier=task.multiplier + extra)
        if task.summands > 2 and "+" in task.operators:
            wider[Kind("+", task.summands + extra)] = replace(task, summands=task.summands + extra)
    return [
        replace(drawn(larger, length, str(kind), ExactLength(length), kind), task=larger)
        for length in lengths
        for kind, larger in wider.items()
    ]


def nocarry(task: Task, lengths: Sequence[int]) -> list[Stratum]:
    """Sums of exactly L digits without any carry."""
    _additions_only(task, "nocarry")
    return [drawn(task, length, "", NoCarry(length, exactly=True)) for length in lengths]


def shifted(task: Task, lengths: Sequence[int]) -> list[Stratum]:
    """Values below 10^L with zeros appended, every shift that fits the canvas."""
    if isinstance(task, Arithmetic):
        raise ValueError("the shifted suite moves numbers on a canvas, and this task has none: try uniform")
    return [drawn(task, length, "", Shifted(UniformValues(length))) for length in lengths]


def cascade(task: Task, lengths: Sequence[int]) -> list[Stratum]:
    """Sums of exactly L digits by the length of their longest cascade."""
    _additions_only(task, "cascade")
    return [
        drawn(task, length, f"cascade {c}", Cascade(c, length, exactly=True))
        for length in lengths
        for c in classes(length)
    ]


def consecutive(task: Task, lengths: Sequence[int]) -> list[Stratum]:
    """Sums of exactly L digits with that many carries in a row, none of which cascades."""
    _additions_only(task, "consecutive")
    return [
        drawn(task, length, f"carries {c}", ConsecutiveCarries(c, length, exactly=True))
        for length in lengths
        for c in classes(length)
    ]


def nines(task: Task, lengths: Sequence[int]) -> list[Stratum]:
    """Sums of exactly L digits with a run of columns that sum to 9: entered with a carry, and entered without one."""
    _additions_only(task, "nines")
    return [
        drawn(task, length, f"run {run} {way} carry", NinesRun(run, length, way == "with", exactly=True))
        for length in lengths
        for way, longest in (("with", length - 1), ("without", length))
        for run in classes(longest)[1:]
    ]


def runs(task: Task, lengths: Sequence[int]) -> list[Stratum]:
    """Runs of L nines, in sums of numbers of exactly L + 5 digits: entered with a carry, and entered without one."""
    _additions_only(task, "runs")
    return [
        drawn(task, length, f"{way} carry", NinesRun(length, length + 5, way == "with", exactly=True))
        for length in lengths
        for way in ("with", "without")
    ]


def strata(task: Task, lengths: Sequence[int]) -> list[Stratum]:
    """What prediction measures: sums of exactly L digits by longest cascade and longest untriggered run."""
    if isinstance(task, Arithmetic):
        raise ValueError("the strata suite is about models on a canvas: try cascade or nines")
    _additions_only(task, "strata")
    return [drawn(task, length, name, d) for length in lengths for name, d in _chains(length).items()]


def _chains(length: int) -> dict[str, Distribution]:
    """Common problems, and enough of the rare ones: classes beyond 10 columns hardly weigh at any length."""
    return {
        "any": ExactLength(length),
        **{f"cascade {c}": Cascade(c, length, exactly=True) for c in range(min(length, 10) + 1)},
        **{f"run {run}": NinesRun(run, length, False, exactly=True) for run in range(1, min(length, 10) + 1)},
    }


def text(task: Task, lengths: Sequence[int]) -> list[Stratum]:
    """Operands of exactly L digits among 0, 20 and 40 words at each of the three sides, and in English sentences."""
    if not isinstance(task, InText):
        raise ValueError(
            "the text suite is about numbers in a text: it needs a text-addition or text-multiplication task"
        )
    others: dict[str, Any] = {
        f"words {number}": replace(task, least=number, most=number, sentences=False) for number in (0, 20, 40)
    }
    others["sentences"] = replace(task, sentences=True)
    return [
        replace(drawn(other, length, name, ExactLength(length)), task=other)
        for length in lengths
        for name, other in others.items()
    ]


def edges(task: Task, lengths: Sequence[int]) -> list[Stratum]:
    """What random problems miss: zeros, ones, equal operands, all nines, very unequal lengths, the full canvas."""
    out = []
    for length in lengths:
        fits(length, task.canvas)
        for label, kind in kinds(task):
            name = f"{label}: " if label else ""
            out += [Stratum(length, name + case, _listed(task, kind, pairs)) for case, pairs in _edges(length, kind)]
            out.append(Stratum(length, f"{name}much shorter", _much_shorter(task, kind, length)))
    full = [] if isinstance(task, Arithmetic) else [drawn(task, task.canvas, "full canvas", ExactLength(task.canvas))]
    return out + full


def _edges(length: int, kind: Kind) -> list[tuple[str, list[tuple[str, str]]]]:
    lists = {"+": edge_cases.sums, "-": edge_cases.differences, "*": lambda n: edge_cases.products(n, kind.size)}
    return list(lists[kind.operator](length).items())


def posed(task: Task, kind: Kind, numbers: list[Digits]) -> Operands:
    """Numbers as the problem of a task."""
    return task.pose(kind, numbers) if isinstance(task, Arithmetic) else tuple(numbers)


def _listed(task: Task, kind: Kind, pairs: list[tuple[str, str]]) -> Callable[[np.random.Generator, int], Operands]:
    numbers = [dg.parse(side) for side in zip(*pairs, strict=True)]
    return lambda rng, count: posed(task, kind, numbers)


def _much_shorter(task: Task, kind: Kind, length: int) -> Callable[[np.random.Generator, int], Operands]:
    """An operand of L digits and one of a single digit, in sums on either side; for products a single digit."""

    def draw(rng: np.random.Generator, count: int) -> Operands:
        if kind.operator == "*":
            return _draw(task, ExactLength(1), rng, count, kind)
        long, _ = ExactLength(length).draw(rng, count, 2, task.canvas).swapaxes(0, 1)
        few, _ = dg.widen(ExactLength(1).draw(rng, count, 2, task.canvas), length).swapaxes(0, 1)
        swap = rng.integers(0, 2, count).astype(bool)[:, None]
        if kind.operator == "-":
            swap[:] = dg.compare(long, few)[:, None] >= 0
        return posed(task, kind, [np.where(swap, long, few), np.where(swap, few, long)])

    return draw


def by_place(stratum: Stratum, operands: Operands, right: Right) -> dict[str, Right]:
    """Each place that an answer to operands of this length can have."""
    return {f"place {place}": right[:, place] for place in range(stratum.places)}


def by_chains(stratum: Stratum, operands: Operands, right: Right) -> dict[str, Right]:
    """Longest cascade and longest untriggered run together."""
    first, second = operands
    found = np.stack([complexity.cascade(first, second), complexity.untriggered(first, second)], axis=1)
    exact = np.asarray(right.all(1))
    return {f"{c}/{u}": exact[(found == (c, u)).all(1)] for c, u in np.unique(found, axis=0)}


def problem_complexity(task: Task, operands: Operands) -> Digits | NDArray[np.int64]:
    """The one number that says how hard a problem is: cascade length of a sum, rounds of a product."""
    measure = complexity.cascade if isinstance(task, Addition) else complexity.product_rounds
    first, second = dg.aligned(*operands) if isinstance(task, Addition) else operands
    return measure(first, second)


SUITES = {
    suite.name: suite
    for suite in [
        Suite("uniform", 1, uniform),
        Suite("upto", 1, upto),
        Suite("more", 1, more),
        Suite("cascade", 1, cascade),
        Suite("consecutive", 1, consecutive),
        Suite("nines", 1, nines),
        Suite("runs", 1, runs),
        Suite("edges", 1, edges),
        Suite("shifted", 1, shifted),
        Suite("places", 1, uniform, by_place),
        Suite("strata", 1, strata, by_chains),
        Suite("nocarry", 1, nocarry),
        Suite("text", 1, text),
    ]
}


def find(name: str) -> Suite:
    if name not in SUITES:
        raise ValueError(f"no suite '{name}'{did_you_mean(name, SUITES)}")
    return SUITES[name]


def check_problems(count: int) -> int:
    if count < 1:
        raise ValueError(f"--problems must be at least 1, not {count}")
    return count
