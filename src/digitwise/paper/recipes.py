"""What a recipe is, and the settings that recipes share.

Profiles: `paper` has the paper's sizes (for a GPU), `cpu` the same science within minutes on two cores, `smoke` a few
seconds, to see that everything runs.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from digitwise.data import Practice, UniformLengths, UniformValues
from digitwise.encodings import Absolute, ByColumn, ByPlace, Encoding, HeadGroups, Relative, Sum, Uniform
from digitwise.models import Architecture, Columns, Messages
from digitwise.runs.experiment import Experiment, Testing, Training
from digitwise.runs.places import below
from digitwise.tasks import Arithmetic, Distribution, Task

Arms = dict[str, Experiment]

#: The paper's models and training, appendix "Experiment Details". Not stated there, and so our assumption: steps (about
#: 100 passes over the pool), constant rate without warm-up, no clipping, the decay chosen from its grid, inner width
#: 4 x 768, seeds.
PAPER = Architecture(layers=6, width=768, heads=8, norm="post", dropout=0.1)
PAPER_TRAINING = Training(
    steps=156_000, batch=64, rate=1e-4, schedule="constant", warmup=0, decay=1e-4, clip=0, pool=100_000, checkpoints=10
)

#: Our small models. A high constant rate, decay, tables that start from zero and averaged weights each carry to longer
#: numbers than the paper's settings do at this size (LOG.md).
SMALL = Architecture(layers=3, width=96, heads=4)
SMALL_TRAINING = Training(batch=64, rate=3e-3, schedule="constant", decay=0.1, average=0.995, checkpoints=10)

#: Models without a canvas.
ADDER = Columns(layers=1, width=96, heads=4)
MULTIPLIER = Columns(layers=2, width=128, heads=8)
COLUMN_TRAINING = Training(steps=3000, batch=128, rate=2e-3, average=0.99, checkpoints=6)
#: Models whose cells tell each other bits, which end with a proof.
SMALL_CELL = Messages(layers=1, width=96, heads=4, along=4)
LARGE_CELL = Messages(layers=2, width=128, heads=8, along=5)
PROVEN_TRAINING = Training(
    batch=128, rate=6e-3, optimizer="muon", decay=0.1, warmup=50, floor=0.1, checkpoints=1, save_seconds=30
)
#: Problems per length. Long ones cost more, and have more columns to fail in.
SHORT, LONG, LONGEST = 1000, 300, 50

WORDS = 20  # most words at each side of the numbers in training
LONGER = 40  # words in the test of longer texts
ROOM = 3 * (LONGER - WORDS)


class Check(NamedTuple):
    """A suite, and lengths and numbers of problems other than the experiment's own; other lengths again in the paper's
    profile."""

    suite: str
    lengths: Sequence[int] | None = None
    problems: int | None = None
    paper: Sequence[int] | None = None
    trained: bool = False
    """Whether an untrained network would take minutes: cells that never rest, on long numbers."""


#: What models in a text, and models without a canvas, are tested on.
TEXT_CHECKS = (Check("uniform"), Check("text", (5, 8, 10)))
FURTHER = Check("uniform", (5, 10, 20, 50, 100, 200), SHORT)


@dataclass(frozen=True)
class Recipe:
    """A named comparison: its arms are experiments for each profile. An experiment's own name says where its run lives,
    so recipes that share an experiment share its run."""

    name: str
    what: str
    experiments: Callable[[str], Arms]
    paper: str = ""
    """Label of the paper's figure or table."""
    checks: tuple[Check, ...] = (Check("uniform"),)
    """What its models are tested on."""
    seeds: Sequence[int] = (0,)
    """The seeds that the cpu profile trains and reports."""
    own_seeds: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Arms with seeds of their own: those of the recipe that they share their runs with."""
    curves: str = "arms"
    """What the figure has a curve for: `arms`, `checkpoints` or `strata`."""
    checkpoints: str = "last,best"
    """Which checkpoints are tested besides those that the figure shows."""
    analysis: str = ""
    """What is measured instead of right answers, a name from `reproduction.ANALYSES`."""

    def __post_init__(self) -> None:
        below(Path(), self.name)  # where its figures go

    @property
    def title(self) -> str:
        """What a figure shows: the description up to its first colon or full stop."""
        return re.split(r"[:.](?: |$)", self.what)[0]

    def checks_in(self, profile: str) -> list[Check]:
        """The checks with a profile's lengths; in the smoke profile with as few problems as the experiment says, and
        without those that are only for trained networks."""
        return [
            c._replace(
                lengths=(profile == "paper" and c.paper) or c.lengths,
                problems=c.problems if profile != "smoke" else None,
            )
            for c in self.checks
            if not (profile == "smoke" and c.trained)
        ]

    def seeds_in(self, profile: str, arm: str = "") -> Sequence[int]:
        """The seeds of an arm, or of a recipe without arms. Profiles other than cpu train seed 0 alone."""
        return self.own_seeds.get(arm, self.seeds) if profile == "cpu" else (0,)

    def arms(self, profile: str) -> Arms:
        found = self.experiments(profile)
        return {arm: smoke(e) for arm, e in found.items()} if profile == "smoke" else found


def smoke(experiment: Experiment) -> Experiment:
    """The same experiment, cut down to seconds: it shows that everything runs and nothing else."""
    training = experiment.training
    return replace(
        experiment,
        architecture=experiment.architecture.smallest(),
        training=replace(
            training,
            steps=min(training.steps, 20),
            until_proven=min(training.until_proven, 20),
            batch=16,
            pool=min(training.pool, 64),
            checkpoints=2,
        ),
        testing=replace(experiment.testing, problems=20, validation_problems=10),
        after=experiment.after and smoke(experiment.after),
    )


def in_profile(experiment: Experiment, profile: str) -> Experiment:
    """The cpu experiment as it is, or with the paper's sizes and training."""
    if profile != "paper":
        return experiment
    return replace(experiment, architecture=PAPER, training=PAPER_TRAINING)


def encoding(name: str, profile: str) -> Encoding:
    """The paper's encodings; at our size pairwise vectors start from zero."""
    deviation = 0.02 if profile == "paper" else 0.0
    choices = {"absolute": Absolute(), "relative": Relative(deviation), "uniform": Uniform(deviation)}
    return choices[name]


def short(profile: str) -> Distribution:
    """At most 5 digits: the paper draws values, we draw lengths, which learns several times faster."""
    return UniformValues(5) if profile == "paper" else UniformLengths(5)


def by_place(profile: str, kind: type[ByPlace] = ByPlace) -> ByPlace:
    """At our size the differences are clipped, so that long numbers ask for no vector that training has not shown."""
    return kind() if profile == "paper" else kind(deviation=0.0, reach=3)


def in_text(name: str, task: Task, groups: tuple[tuple[int, Encoding], ...], steps: int, profile: str) -> Experiment:
    experiment = Experiment(
        name=name,
        task=task,
        data=short(profile),
        encoding=Sum((Absolute(ROOM, text_only=True), HeadGroups(groups))),
        architecture=SMALL,
        training=replace(SMALL_TRAINING, steps=steps),
        testing=Testing(tuple(range(1, (task.longest or 0) + 1)), problems=1000, validation_lengths=(8, 10)),
    )
    return in_profile(experiment, profile)


def in_columns(
    name: str, operators: str, architecture: Columns, training: Training, summands: int = 2, multiplier: int = 3
) -> Arms:
    """A model without a canvas for these kinds of problems."""
    task = Arithmetic(operators, summands, multiplier)
    return {
        name.removeprefix("beyond-"): Experiment(
            name=name,
            task=task,
            data=Practice(5, borrows="-" in operators),
            encoding=ByColumn(),
            architecture=architecture,
            training=training,
            testing=Testing((5, 10, 20, 50), problems=SHORT, validation_lengths=(5,)),
        )
    }
