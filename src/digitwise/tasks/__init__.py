"""Tasks say what is computed and where each token stands. The seam: a class with the methods of `Task`, a line here."""

from typing import Protocol

import numpy as np

from digitwise.coordinates import Coordinates
from digitwise.digits import Digits
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


DISTRIBUTIONS = PLAIN | CONDITIONAL
TASKS = {"addition": Addition, "multiplication": Multiplication}

__all__ = [
    "DISTRIBUTIONS",
    "TASKS",
    "Addition",
    "Batch",
    "Cascade",
    "ConsecutiveCarries",
    "Distribution",
    "ExactLength",
    "MixedComplexity",
    "Mixture",
    "Multiplication",
    "NinesRun",
    "NoCarry",
    "Operands",
    "Shifted",
    "ShortMultipliers",
    "Task",
    "UniformComplexity",
    "UniformLengths",
    "UniformValues",
]
