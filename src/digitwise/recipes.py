"""Named experiments. A recipe is a function from a profile to its arms: models that are meant to be compared.

Profiles: `paper` has the paper's sizes (for a GPU), `cpu` the same science within minutes on two cores, `smoke` a few
seconds, to see that everything runs.
"""

from collections.abc import Callable
from dataclasses import replace

from digitwise.config import did_you_mean
from digitwise.encodings import Absolute, Encoding, Relative
from digitwise.experiment import Experiment, Testing, Training
from digitwise.model import Architecture
from digitwise.tasks import Addition, UniformLengths, UniformValues

Arms = dict[str, Experiment]
PROFILES = ("paper", "cpu", "smoke")
RECIPES: dict[str, Callable[[str], Arms]] = {}

#: The paper's addition models: appendix "Experiment Details". Steps, warm-up, clipping and FFN width are not stated.
PAPER = Architecture(layers=6, width=768, heads=8, norm="post", dropout=0.1)
PAPER_TRAINING = Training(
    steps=156_000, batch=64, rate=1e-4, schedule="constant", warmup=0, decay=1e-4, clip=0, pool=100_000, checkpoints=10
)

#: Our small models. A high constant rate, decay, tables that start from zero and averaged weights each carry to longer
#: numbers than the paper's settings do at this size (LOG.md).
SMALL = Architecture(layers=3, width=96, heads=4)
SMALL_TRAINING = Training(batch=64, rate=3e-3, schedule="constant", decay=0.1, average=0.995)


def recipe(function: Callable[[str], Arms]) -> Callable[[str], Arms]:
    RECIPES[function.__name__.replace("_", "-")] = function
    return function


def arms(name: str, profile: str = "cpu") -> Arms:
    """The experiments of a recipe, each named after its recipe and arm."""
    if name not in RECIPES:
        raise ValueError(f"no recipe '{name}'{did_you_mean(name, RECIPES)}")
    if profile not in PROFILES:
        raise ValueError(f"no profile '{profile}'{did_you_mean(profile, PROFILES)}")
    return {arm: replace(experiment, name=name) for arm, experiment in RECIPES[name](profile).items()}


def smoke(experiment: Experiment) -> Experiment:
    """The same experiment, cut down to seconds: it shows that everything runs and nothing else."""
    return replace(
        experiment,
        architecture=replace(experiment.architecture, layers=1, width=16, heads=2, feedforward=32),
        training=replace(
            experiment.training, steps=20, batch=16, pool=min(experiment.training.pool, 64), checkpoints=2
        ),
        testing=replace(experiment.testing, problems=20, validation_problems=10),
    )


def _absolute_and_relative(experiment: Experiment, profile: str) -> Arms:
    relative = Relative() if profile == "paper" else Relative(deviation=0.0)
    encodings: dict[str, Encoding] = {"absolute": Absolute(), "relative": relative}
    pair = {arm: replace(experiment, encoding=encoding) for arm, encoding in encodings.items()}
    return {arm: smoke(experiment) for arm, experiment in pair.items()} if profile == "smoke" else pair


@recipe
def quickstart(profile: str) -> Arms:
    """Why relative beats absolute, within minutes: trained on sums of at most 4 digits, tested on up to 10."""
    experiment = Experiment(
        task=Addition(canvas=10),
        data=UniformLengths(4),
        architecture=SMALL,
        training=replace(SMALL_TRAINING, steps=1000, checkpoints=4),
        testing=Testing(tuple(range(1, 11)), problems=1000, validation_lengths=(8,)),
    )
    if profile == "paper":
        experiment = replace(experiment, architecture=PAPER, training=PAPER_TRAINING, data=UniformValues(4))
    return _absolute_and_relative(experiment, profile)


@recipe
def canvas20(profile: str) -> Arms:
    """Addition on a canvas of 20, trained on at most 5 digits: the absolute model fails at 6, the relative one carries
    to three times the length and falls on the full canvas."""
    experiment = Experiment(
        task=Addition(canvas=20),
        data=UniformLengths(5),
        architecture=SMALL,
        training=replace(SMALL_TRAINING, steps=3000, checkpoints=10),
        testing=Testing(tuple(range(1, 21)), problems=1000, validation_lengths=(10, 15)),
    )
    if profile == "paper":
        experiment = replace(experiment, architecture=PAPER, training=PAPER_TRAINING, data=UniformValues(5))
    return _absolute_and_relative(experiment, profile)
