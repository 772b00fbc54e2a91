"""A model that trains in a second."""

from dataclasses import replace

from digitwise.data import UniformLengths
from digitwise.encodings import Relative
from digitwise.models.encoder import Architecture
from digitwise.runs.experiment import Experiment, Testing, Training
from digitwise.tasks import Addition

SMALL = Experiment(
    name="small",
    task=Addition(canvas=6),
    data=UniformLengths(3),
    encoding=Relative(),
    architecture=Architecture(layers=2, width=16, heads=2, feedforward=32, dropout=0.1),
    training=Training(steps=20, batch=16, rate=3e-3, warmup=5, checkpoints=2),
    testing=Testing(lengths=(1, 3, 5), problems=40, validation_lengths=(5,), validation_problems=20),
)


def with_training(experiment: Experiment = SMALL, dropout: float | None = None, **changes) -> Experiment:
    if dropout is not None:
        experiment = replace(experiment, architecture=replace(experiment.architecture, dropout=dropout))
    return replace(experiment, training=replace(experiment.training, **changes))
