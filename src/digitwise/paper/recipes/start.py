"""Where to begin: absolute against relative positions on additions."""

from dataclasses import replace

from digitwise.data import Practice, UniformLengths, UniformValues
from digitwise.encodings import ByColumn
from digitwise.models import Columns
from digitwise.paper.recipes.base import SMALL, SMALL_TRAINING, Arms, Recipe, encoding, in_profile
from digitwise.runs.experiment import Experiment, Testing, Training
from digitwise.tasks import Addition, Arithmetic


def additions(
    name: str, canvas: int, longest: int, steps: int, validation: tuple[int, ...], profile: str
) -> Experiment:
    """Sums of at most `longest` digits on a canvas, tested at every length that fits it."""
    experiment = Experiment(
        name=name,
        task=Addition(canvas),
        data=UniformValues(longest) if profile == "paper" else UniformLengths(longest),
        architecture=SMALL,
        training=replace(SMALL_TRAINING, steps=steps),
        testing=Testing(tuple(range(1, canvas + 1)), problems=1000, validation_lengths=validation),
    )
    return in_profile(experiment, profile)


def pair(experiment: Experiment, profile: str) -> Arms:
    return {name: replace(experiment, encoding=encoding(name, profile)) for name in ("absolute", "relative")}


def quickstart(profile: str) -> Arms:
    experiment = additions("quickstart", 10, 4, 1000, (8,), profile)
    both = pair(replace(experiment, training=replace(experiment.training, checkpoints=4)), profile)
    return both | {"columns": columns(experiment)}


def columns(experiment: Experiment) -> Experiment:
    """The same sums for a model without a canvas, which is tested on much longer ones too."""
    longest = experiment.trained_length
    return replace(
        experiment,
        task=Arithmetic("+"),
        data=Practice(longest),
        encoding=ByColumn(),
        architecture=Columns(layers=1, width=96, heads=4),
        training=Training(steps=1500, batch=128, rate=2e-3, average=0.99),
        testing=replace(experiment.testing, lengths=(*experiment.testing.lengths, 20, 30, 40, 50)),
    )


def canvas20(profile: str) -> Arms:
    return pair(additions("canvas20", 20, 5, 1500, (10, 15), profile), profile)


RECIPES = [
    Recipe(
        "quickstart",
        "Addition with absolute positions, relative positions and columns: why relative beats absolute, and columns "
        "beat both, within minutes; trained on sums of at most 4 digits, tested on up to 10, and without a canvas on "
        "up to 50.",
        quickstart,
    ),
    Recipe(
        "canvas20",
        "Addition on a canvas of 20, absolute and relative positions: trained on at most 5 digits, the absolute model "
        "fails at 6, the relative one carries to three times the length and falls on the full canvas.",
        canvas20,
    ),
]
