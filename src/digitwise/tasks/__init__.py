"""Tasks say what is computed and where each token stands. The seam: a class with the methods of `Task`, a line here."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from digitwise.coordinates import Coordinates
from digitwise.data.distributions import Distribution
from digitwise.numbers.digits import Digits
from digitwise.tasks.canvas import Addition, Batch, Multiplication, Operands
from digitwise.tasks.columns import Arithmetic, Kind
from digitwise.tasks.symbols import Tokens
from digitwise.tasks.text import TextAddition, TextMultiplication


class Task(Protocol):
    @property
    def canvas(self) -> int: ...

    @property
    def num_tokens(self) -> int: ...

    @property
    def num_slots(self) -> int: ...

    @property
    def symbols(self) -> Sequence[str]:
        """How each token is written."""
        ...

    def coordinates(self, tokens: Tokens | None = None) -> Coordinates:
        """Of these tokens: `[count, n]` where they differ from row to row, `[n]` where all share them. Without tokens,
        those of the longest problem."""
        ...

    def draw(self, distribution: Distribution, rng: np.random.Generator, count: int) -> Operands: ...

    def solve(self, operands: Operands) -> Digits: ...

    def encode(self, operands: Operands) -> Batch: ...

    def render(self, operands: Operands) -> list[str]: ...


CANVAS_TASKS = {
    "addition": Addition,
    "multiplication": Multiplication,
    "text-addition": TextAddition,
    "text-multiplication": TextMultiplication,
}
TASKS = CANVAS_TASKS | {"arithmetic": Arithmetic}

__all__ = [
    "CANVAS_TASKS",
    "TASKS",
    "Addition",
    "Arithmetic",
    "Batch",
    "Kind",
    "Multiplication",
    "Operands",
    "Task",
    "TextAddition",
    "TextMultiplication",
]
