"""Numbers in a text: heads designated for them, absolute positions for the text. The cpu profile has a canvas of 12."""

from dataclasses import replace

from digitwise.data import ShortMultipliers
from digitwise.encodings import Absolute, ByPlace, Encoding, HeadGroups, Nothing, Sum, UniformByPlace
from digitwise.paper.recipes.base import SMALL, SMALL_TRAINING, Arms, Check, Recipe, in_profile
from digitwise.paper.recipes.paper import short
from digitwise.runs.experiment import Experiment, Testing
from digitwise.tasks import Task, TextAddition, TextMultiplication

WORDS = 20  # most words at each side of the numbers in training
LONGER = 40  # words in the test of longer texts
ROOM = 3 * (LONGER - WORDS)


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


def add(profile: str) -> Arms:
    """Three heads of four add, one reads: with two of four, sums take much longer to learn (LOG.md)."""
    paper = profile == "paper"
    groups = ((3, by_place(profile)), (1, Nothing()))
    return {"text": in_text("text-add", TextAddition(50 if paper else 12, WORDS), groups, 2500, profile)}


def multiply(profile: str) -> Arms:
    """As in the paper's sketch, with heads that add, heads that multiply, and heads that read."""
    paper = profile == "paper"
    groups = ((1, by_place(profile)), (2, by_place(profile, UniformByPlace)), (1, Nothing()))
    task = TextMultiplication(3, 20, most=WORDS) if paper else TextMultiplication(1, 12, zero=False, most=WORDS)
    experiment = in_text("text-mult", task, groups, 3000, profile)
    return {"text": experiment if paper else replace(experiment, data=ShortMultipliers(short(profile)))}


CHECKS = (Check("uniform"), Check("text", (5, 8, 10)))

RECIPES = [
    Recipe("text-add", "Sums anywhere in a text of up to 20 random words at each side: as far as without text.", add,
           "sum_text", CHECKS),
    Recipe("text-mult", "Products anywhere in a text: as far as without text.", multiply, "mult_text", CHECKS),
]  # fmt: skip
