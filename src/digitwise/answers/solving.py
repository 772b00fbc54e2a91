"""Whoever answers problems, a network or the table extracted from it: problems in, solutions out, in batches."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Protocol

from digitwise.answers import Problem
from digitwise.data.distributions import MOST_DIGITS
from digitwise.machines.run import claim_of

BUNDLED = Path(str(files("digitwise"))) / "answers" / "weights"
"""Models that come with the package: a folder each with weights.safetensors, config.json, card.md, certificate.json."""
PROVEN = {
    "sum": "addition",
    "sums": "summands",
    "product": "product",
    "difference": "difference",
    "division": "division",
}
"""The bundled model that is proven right, for each claim."""
AT_ONCE = 1024
"""Problems in one batch."""
CELLS = 2**25
"""Cells in one batch: products of long numbers have many."""


@dataclass(frozen=True)
class Solution:
    problem: str
    answer: str
    confidence: list[float] | None
    """The probability that the network gives to each symbol of the answer, in the order of writing: a sign and digits,
    of a division the digits of the quotient and then the remainder. A table has none."""
    rounds: int | None
    """After how many rounds nothing changed any more, or how many cells worked one after the other."""
    model: str
    proven: bool = False
    """Whether the model is proven right for all problems of this kind, by a certificate of these very weights."""
    right: bool | None = None
    """Whether the answer is right, if that was to be checked."""


class Solves(Protocol):
    """Who answers."""

    name: str

    def admitted(self, problem: Problem) -> Problem:
        """Return the problem, if it is supported; a ValueError says what is."""

    def batch(self, problems: list[Problem], check: bool) -> list[Solution]:
        """Return the solutions of problems of one kind and like length, at once."""


def model_for(problem: Problem) -> str:
    """The name of the bundled model that is proven right for this kind of problem."""
    return PROVEN[claim_of(problem.kind)]


def refuse_long(problem: Problem, name: str, longest: int | None = None) -> None:
    longest = longest or MOST_DIGITS
    if problem.length > longest:
        raise ValueError(f"a number has {problem.length:,} digits; model {name} supports up to {longest:,} digits")


def solve(
    posed: list[tuple[Solves, Problem]], check: bool = False, progress: Callable[[int], None] = lambda done: None
) -> list[Solution]:
    """Return solutions in the order of the problems, worked out in batches of one model, one kind and like length.

    `progress` is told how many are done.
    """

    def together(index: int) -> tuple[str, str, int]:
        solver, problem = posed[index]
        return solver.name, str(problem.kind), problem.length

    order = sorted(range(len(posed)), key=together)
    solutions: dict[int, Solution] = {}
    while order:
        *same, length = together(order[0])
        longest = (*same, length + max(4, length // 4))
        kind = posed[order[0]][1].kind
        rows = 1 if kind.operator in "-?/" else kind.size
        most = max(1, min(AT_ONCE, CELLS // (rows * (length + kind.overflow))))
        group = [index for index in order[:most] if together(index) <= longest]
        order = order[len(group) :]
        found = posed[group[0]][0].batch([posed[index][1] for index in group], check)
        solutions |= dict(zip(group, found, strict=True))
        progress(len(solutions))
    return [solutions[index] for index in range(len(posed))]
