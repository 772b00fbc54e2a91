"""Tasks say what is computed and where each token stands. The seam: a class with the methods of `Task`, a line here."""

from typing import Protocol

import numpy as np

from digitwise.coordinates import Coordinates
from digitwise.digits import Digits
from digitwise.tasks.arithmetic import Arithmetic, Kind
from digitwise.tasks.canvas import Addition, Batch, Multiplication, Operands
from digitwise.tasks.conditional import (
    CONDITIONAL,
    Cascade,
    ConsecutiveCarries,
    MixedComplexity,
    NinesRun,
    UniformComplexity,
)
from digitwise.tasks.distributions import (
    PLAIN,
    Distribution,
    ExactLength,
    Mixture,
    NoCarry,
    Shifted,
    ShortMultipliers,
    UniformLengths,
    UniformValues,
)
from digitwise.tasks.practice import Practice


class Task(Protocol):
    @property
    def canvas(self) -> int: ...

    @property
    def num_tokens(self) -> int: ...

    @property
    def num_slots(self) -> int: ...

    def coordinates(self) -> Coordinates: ...

    def draw(self, distribution: Distribution, rng: np.random.Generator, count: int) -> Operands: ...

    def solve(self, operands: Operands) -> Digits: ...

    def encode(self, operands: Operands) -> Batch: ...

    def render(self, operands: Operands) -> list[str]: ...


def coordinates_of(task: Task, num_tokens: int) -> Coordinates:
    """Where the tokens of a batch stand: without a canvas, batches have widths of their own."""
    return task.coordinates(num_tokens) if isinstance(task, Arithmetic) else task.coordinates()


DISTRIBUTIONS = PLAIN | CONDITIONAL | {"practice": Practice}
CANVAS_TASKS = {"addition": Addition, "multiplication": Multiplication}
TASKS = CANVAS_TASKS | {"arithmetic": Arithmetic}

__all__ = [
    "CANVAS_TASKS",
    "DISTRIBUTIONS",
    "TASKS",
    "Addition",
    "Arithmetic",
    "Batch",
    "Cascade",
    "ConsecutiveCarries",
    "Distribution",
    "ExactLength",
    "Kind",
    "MixedComplexity",
    "Mixture",
    "Multiplication",
    "NinesRun",
    "NoCarry",
    "Operands",
    "Practice",
    "Shifted",
    "ShortMultipliers",
    "Task",
    "UniformComplexity",
    "UniformLengths",
    "UniformValues",
    "coordinates_of",
]
