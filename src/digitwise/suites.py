"""Named, versioned sets of test problems. A version changes when its problems do; results of two versions never mix."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from digitwise import complexity
from digitwise import digits as dg
from digitwise.config import did_you_mean
from digitwise.digits import Digits
from digitwise.rng import generator
from digitwise.tasks import Addition, Distribution, ExactLength, NoCarry, Operands, Shifted, Task, UniformValues
from digitwise.tasks.conditional import Cascade, ConsecutiveCarries, NinesRun
from digitwise.tasks.distributions import fits
from digitwise.tasks.text import InText

Right = NDArray[np.bool_]


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


def drawn(task: Task, length: int, name: str, distribution: Distribution) -> Stratum:
    """A stratum from a distribution, refused at once if it does not fit the canvas."""
    distribution.width(task.canvas)
    places = length + task.num_slots - task.canvas
    return Stratum(length, name, lambda rng, count: task.draw(distribution, rng, count), places)


def _additions_only(task: Task, suite: str) -> None:
    if not isinstance(task, Addition):
        raise ValueError(f"the {suite} suite is about carries of sums: it needs an addition task")


def classes(longest: int) -> list[int]:
    """Every class up to 12, then fewer and fewer: long numbers have more classes than anybody wants to wait for."""
    return [c for c in [*range(13), 15, 20, 30, 40, 50, 75, 100, 150, 200, 300, 500, 750, 1000] if c <= longest]


def uniform(task: Task, lengths: Sequence[int]) -> list[Stratum]:
    """Operands of exactly L digits."""
    return [drawn(task, length, "", ExactLength(length)) for length in lengths]


def upto(task: Task, lengths: Sequence[int]) -> list[Stratum]:
    """The paper's: values below 10^L."""
    return [drawn(task, length, "", UniformValues(length)) for length in lengths]


def nocarry(task: Task, lengths: Sequence[int]) -> list[Stratum]:
    """Sums of exactly L digits without any carry."""
    _additions_only(task, "nocarry")
    return [drawn(task, length, "", NoCarry(length, exactly=True)) for length in lengths]


def shifted(task: Task, lengths: Sequence[int]) -> list[Stratum]:
    """Values below 10^L with zeros appended, every shift that fits the canvas."""
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


def strata(task: Task, lengths: Sequence[int]) -> list[Stratum]:
    """What prediction measures: sums of exactly L digits by longest cascade and longest untriggered run."""
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
        cases = _sum_edges(length) if isinstance(task, Addition) else _product_edges(length, task)
        out += [Stratum(length, name, _listed(pairs)) for name, pairs in cases.items()]
        out.append(Stratum(length, "much shorter", _much_shorter(task, length)))
    return [*out, drawn(task, task.canvas, "full canvas", ExactLength(task.canvas))]


def _listed(pairs: list[tuple[str, str]]) -> Callable[[np.random.Generator, int], Operands]:
    first, second = zip(*pairs, strict=True)
    return lambda rng, count: (dg.parse(first), dg.parse(second))


def _much_shorter(task: Task, length: int) -> Callable[[np.random.Generator, int], Operands]:
    """One operand of L digits and one of a single digit, the long one on either side; for products a single digit."""

    def draw(rng: np.random.Generator, count: int) -> Operands:
        long, short = task.draw(ExactLength(length), rng, count), task.draw(ExactLength(1), rng, count)
        if not isinstance(task, Addition):
            return short
        swap = rng.integers(0, 2, count).astype(bool)[:, None]
        few = dg.widen(short[1], length)
        return np.where(swap, long[0], few), np.where(swap, few, long[0])

    return draw


def _sum_edges(length: int) -> dict[str, list[tuple[str, str]]]:
    nines, power = "9" * length, "1" + "0" * (length - 1)
    return {
        "zero": [("0", "0"), ("0", nines), (nines, "0"), (power, "0"), ("0", power)],
        "nines + 1": [(nines, "1")],
        "1 + nines": [("1", nines)],
        "all nines": [(nines, nines)],
        "equal": [(str(digit) * length,) * 2 for digit in range(1, 10)] + [(power, power)],
    }


def _product_edges(length: int, task: Any) -> dict[str, list[tuple[str, str]]]:
    """Multipliers have exactly k digits, so 0 and 1 exist for k = 1 only, and the smallest is 10^(k-1)."""
    k = task.multiplier
    others = [str(digit) * length for digit in range(1, 10)] + ["1" + "0" * (length - 1)]
    largest, smallest = "9" * k, "1" + "0" * (k - 1)
    return {
        "smallest multiplier": [(smallest, other) for other in others],
        "largest multiplier": [(largest, other) for other in others],
        "multiplicand 0": [(largest, "0"), (smallest, "0")],
        "multiplicand 1": [(largest, "1"), (smallest, "1")],
        **({"multiplier 0": [("0", other) for other in [*others, "0"]]} if k == 1 else {}),
    }


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
        Suite("cascade", 1, cascade),
        Suite("consecutive", 1, consecutive),
        Suite("nines", 1, nines),
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
