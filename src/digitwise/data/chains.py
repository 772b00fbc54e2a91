"""Suites about the carries of sums: cascades, carries in a row, runs of nines entered with and without a carry."""

from collections.abc import Sequence

import numpy as np

from digitwise.counts import Chains, Numbered
from digitwise.data.carries import Cascade, ConsecutiveCarries, NinesRun
from digitwise.data.distributions import ExactLength, NoCarry
from digitwise.data.suites import Right, Stratum, Suite, drawn, need_sums
from digitwise.numbers import complexity
from digitwise.tasks import Distribution, Problems, Task


def classes(longest: int) -> list[int]:
    """Every class up to 12, then fewer and fewer: all the classes of long numbers would take too long to test."""
    return [c for c in [*range(13), 15, 20, 30, 40, 50, 75, 100, 150, 200, 300, 500, 750, 1000] if c <= longest]


def nocarry(task: Task, lengths: Sequence[int]) -> list[Stratum]:
    """Sums of exactly L digits without any carry."""
    need_sums(task, "nocarry")
    return [drawn(task, n, "", NoCarry(n, exactly=True)) for n in lengths]


def cascade(task: Task, lengths: Sequence[int]) -> list[Stratum]:
    """Sums of exactly L digits by the length of their longest cascade."""
    need_sums(task, "cascade")
    return [
        drawn(task, n, str(Numbered("cascade", c)), Cascade(c, n, exactly=True)) for n in lengths for c in classes(n)
    ]


def consecutive(task: Task, lengths: Sequence[int]) -> list[Stratum]:
    """Sums of exactly L digits with that many carries in a row, none of which cascades."""
    need_sums(task, "consecutive")
    return [
        drawn(task, n, str(Numbered("carries", c)), ConsecutiveCarries(c, n, exactly=True))
        for n in lengths
        for c in classes(n)
    ]


def nines(task: Task, lengths: Sequence[int]) -> list[Stratum]:
    """Sums of exactly L digits with a run of columns that sum to 9: entered with a carry, and entered without one."""
    need_sums(task, "nines")
    return [
        drawn(task, n, str(Numbered("run", run, f"{way} carry")), NinesRun(run, n, way == "with", exactly=True))
        for n in lengths
        for way, longest in (("with", n - 1), ("without", n))
        for run in classes(longest)[1:]
    ]


def runs(task: Task, lengths: Sequence[int]) -> list[Stratum]:
    """Runs of L nines, in sums of numbers of exactly L + 5 digits: entered with a carry, and entered without one."""
    need_sums(task, "runs")
    return [
        drawn(task, n, f"{way} carry", NinesRun(n, n + 5, way == "with", exactly=True))
        for n in lengths
        for way in ("with", "without")
    ]


def strata(task: Task, lengths: Sequence[int]) -> list[Stratum]:
    """What prediction measures: sums of exactly L digits by longest cascade and longest untriggered run."""
    if task.longest is None:
        raise ValueError("the strata suite is about models on a canvas: try cascade or nines")
    need_sums(task, "strata")
    return [drawn(task, n, name, distribution) for n in lengths for name, distribution in _chains(n).items()]


def _chains(length: int) -> dict[str, Distribution]:
    """Common problems, and enough of the rare ones: classes beyond 10 columns hardly weigh at any length."""
    return {
        "any": ExactLength(length),
        **{str(Numbered("cascade", c)): Cascade(c, length, exactly=True) for c in range(min(length, 10) + 1)},
        **{
            str(Numbered("run", run)): NinesRun(run, length, False, exactly=True)
            for run in range(1, min(length, 10) + 1)
        },
    }


def by_chains(stratum: Stratum, problems: Problems, right: Right) -> dict[str, Right]:
    """Longest cascade and longest untriggered run together."""
    first, second = problems.numbers[:, 0], problems.numbers[:, 1]
    found = np.stack([complexity.cascade(first, second), complexity.untriggered(first, second)], axis=1)
    exact = np.asarray(right.all(1))
    return {str(Chains(int(c), int(u))): exact[(found == (c, u)).all(1)] for c, u in np.unique(found, axis=0)}


SUITES = [
    Suite("cascade", 1, cascade),
    Suite("consecutive", 1, consecutive),
    Suite("nines", 1, nines),
    Suite("runs", 1, runs),
    Suite("strata", 1, strata, by_chains),
    Suite("nocarry", 1, nocarry),
]
