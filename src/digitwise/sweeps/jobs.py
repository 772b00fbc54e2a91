"""Jobs: an experiment to train and what to test it on, named by the hash of its configuration; and grids of them."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

from digitwise.config import describe, restore
from digitwise.runs.experiment import Experiment
from digitwise.runs.written import changed, classes
from digitwise.sweeps import code

MOST = 100_000
"""Runs of a grid."""
LETTERS = 16
"""Of a hash in a name: two of a million runs share them with a chance below 1e-7."""


class Exam(NamedTuple):
    """What a trained model is tested on: as `evaluate` takes it."""

    suite: str = "uniform"
    lengths: Sequence[int] | None = None
    problems: int | None = None
    checkpoints: str = "last,best"


@dataclass(frozen=True)
class Job:
    name: str
    """Where the run lives below the place of the results."""
    experiment: Experiment
    tests: tuple[Exam, ...] = (Exam(),)

    def plain(self) -> dict[str, Any]:
        """The job as JSON, with the code of one's own that it needs."""
        tests = [test._asdict() for test in self.tests]
        own = code.travelling(self.experiment)
        return {"name": self.name, "experiment": describe(self.experiment), "tests": tests, "code": own}

    @classmethod
    def from_plain(cls, data: dict[str, Any]) -> "Job":
        code.install(data["code"])
        return cls(data["name"], restore(data["experiment"], classes()), tuple(Exam(**test) for test in data["tests"]))


def fingerprint(experiment: Experiment) -> str:
    """A hash of all that decides about a run: every field, and the content of files with code of one's own."""
    text = json.dumps(code.by_content(describe(experiment), experiment), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:LETTERS]


class Cell(NamedTuple):
    """A job of a grid, with what tells it from the others."""

    job: Job
    arm: str
    changes: dict[str, str]

    def row(self) -> dict[str, Any]:
        labels = {"run": self.job.name, "arm": self.arm, **self.changes}
        return labels | {"seed": self.job.experiment.seed, "steps": self.job.experiment.steps}


def grid(arms: Mapping[str, Experiment], fields: Mapping[str, str], seeds: Sequence[int]) -> list[Cell]:
    """Every arm with every combination of values, for every seed: `{"encoding": "relative,uniform", "width": "64,96"}`.

    Values stand between commas, or between semicolons where a value has commas itself. Experiments that come out equal
    are one run.
    """
    values = {name: text.split(";" if ";" in text else ",") for name, text in fields.items()}
    number = len(arms) * len(seeds)
    for name, several in values.items():
        if not all(several):
            raise ValueError(f"--{name} has an empty value: write --{name} a,b,c")
        number *= len(several)
    if number > MOST:
        raise ValueError(f"the grid has {number:,} runs, beyond {MOST:,}, the most")
    cells: dict[str, Cell] = {}
    for arm, experiment in arms.items():
        for chosen in product(*values.values()):
            changes = dict(zip(values, chosen, strict=True))
            planned = changed(experiment, changes)
            planned.rehearse()
            for seed in seeds:
                seeded = replace(planned, seed=seed)
                name = f"{seeded.name}/{fingerprint(seeded)}"
                cells.setdefault(name, Cell(Job(name, seeded), arm, changes))
    return list(cells.values())


def digest(tests: Sequence[Exam]) -> str:
    """What a finished job was tested on, in short."""
    text = json.dumps([list(test) for test in tests])
    return hashlib.sha256(text.encode()).hexdigest()[:LETTERS]
