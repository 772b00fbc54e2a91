"""A model that trains in a second, and problems by hand."""

from dataclasses import replace

import torch

from digitwise.coordinates import Coordinates
from digitwise.data import ExactLength, UniformLengths
from digitwise.encodings import Relative
from digitwise.models import Architecture
from digitwise.numbers import digits as dg
from digitwise.rng import generator
from digitwise.runs.experiment import Experiment, Testing, Training
from digitwise.tasks import Addition, Kind, Problems, Task

SMALL = Experiment(
    name="small",
    task=Addition(canvas=6),
    data=UniformLengths(3),
    encoding=Relative(),
    architecture=Architecture(layers=2, width=16, heads=2, feedforward=32, dropout=0.1),
    training=Training(steps=20, batch=16, rate=3e-3, warmup=5, checkpoints=2),
    testing=Testing(lengths=(1, 3, 5), problems=40, validation_lengths=(5,), validation_problems=20),
)


def posed(task: Task, kind: Kind, *numbers: int) -> Problems:
    """One problem of a task from Python's integers."""
    return task.pose(kind, [dg.parse([str(number)]) for number in numbers])


def located(task: Task, length: int = 2) -> Coordinates:
    """Where the tokens of a problem stand, as tensors."""
    return task.write(task.draw(ExactLength(length), generator(0, "located"), 1))[1].map(torch.as_tensor)


def with_training(experiment: Experiment = SMALL, dropout: float | None = None, **changes) -> Experiment:
    if dropout is not None:
        experiment = replace(experiment, architecture=replace(experiment.architecture, dropout=dropout))
    return replace(experiment, training=replace(experiment.training, **changes))


#: A file with an encoding of one's own.
OWN = """
from dataclasses import dataclass
import digitwise as dw

@dataclass(frozen=True)
class Sides(dw.Pairwise):
    any_length = True

    def num_classes(self, extent):
        return 3

    def classes(self, coordinates, extent):
        return (coordinates.position[:, None] - coordinates.position[None, :]).sign() + 1
"""
