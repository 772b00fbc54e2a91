"""Tasks: what is computed, how it is written as tokens, and where each token stands.

The seam is `base.Task`; a task needs one line here.
"""

from digitwise.tasks.base import Batch, Distribution, Kind, Problems, Task
from digitwise.tasks.canvas import Addition, Multiplication
from digitwise.tasks.columns import Arithmetic
from digitwise.tasks.downward import Difference, Division
from digitwise.tasks.growing import Growing
from digitwise.tasks.text import TextAddition, TextMultiplication

TASKS = {
    "addition": Addition,
    "multiplication": Multiplication,
    "text-addition": TextAddition,
    "text-multiplication": TextMultiplication,
    "arithmetic": Arithmetic,
    "difference": Difference,
    "division": Division,
    "growing": Growing,
}

__all__ = [
    "TASKS",
    "Addition",
    "Arithmetic",
    "Batch",
    "Difference",
    "Distribution",
    "Division",
    "Growing",
    "Kind",
    "Multiplication",
    "Problems",
    "Task",
    "TextAddition",
    "TextMultiplication",
]
