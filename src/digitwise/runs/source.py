"""The problems that training shows, as functions of the experiment and the step."""

import numpy as np

from digitwise.rng import generator
from digitwise.runs.experiment import Experiment
from digitwise.runs.proving import Prover
from digitwise.tasks import Batch


class Source:
    """The training batches: pure functions of the experiment, the step and what a prover practises."""

    def __init__(self, experiment: Experiment, prover: Prover | None = None):
        self.experiment, self.prover = experiment, prover
        pool = experiment.training.pool
        self.pool = self._encode(generator(experiment.seed, "pool"), pool) if pool else None

    def batch(self, step: int) -> Batch:
        (only,) = self.draws(step)
        return only

    def draws(self, step: int) -> list[Batch]:
        rng = generator(self.experiment.seed, "train", self.experiment.steps_before + step)
        training = self.experiment.training
        if self.pool is not None:
            return [self.pool.part(rng.integers(0, len(self.pool.tokens), training.batch))]
        return [self._encode(rng, training.batch // training.draws) for _ in range(training.draws)]

    def _encode(self, rng: np.random.Generator, count: int) -> Batch:
        tasks = self.experiment.tasks
        task = tasks[rng.integers(len(tasks))] if len(tasks) > 1 else tasks[0]
        problems = task.draw(self.experiment.data, rng, count)
        return task.encode(self.prover.mix(problems, rng) if self.prover else problems)
