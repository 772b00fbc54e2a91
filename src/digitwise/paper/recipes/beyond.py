"""Beyond the paper: no canvas, any length, any cascade, trained on at most 5 digits."""

from dataclasses import replace

from digitwise.data import Practice
from digitwise.encodings import ByColumn
from digitwise.models import Columns
from digitwise.paper.recipes.base import Arms, Check, Recipe
from digitwise.runs.experiment import Experiment, Testing, Training
from digitwise.tasks import Arithmetic

ADDER = Columns(layers=1, width=96, heads=4)
MULTIPLIER = Columns(layers=2, width=128, heads=8)
TRAINING = Training(steps=3000, batch=128, rate=2e-3, average=0.99, checkpoints=6)
#: Problems for each length. Long ones cost more, and have more columns to fail in.
SHORT, LONG, LONGEST = 1000, 300, 50


def experiment(
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


def addition(profile: str) -> Arms:
    return experiment("beyond-addition", "+", ADDER, TRAINING)


def summands(profile: str) -> Arms:
    training = replace(TRAINING, steps=4000, batch=64)
    return experiment("beyond-summands", "+", replace(ADDER, layers=2), training, summands=5)


def product1(profile: str) -> Arms:
    return experiment(
        "beyond-product1", "*", replace(MULTIPLIER, layers=1), replace(TRAINING, steps=2000), multiplier=1
    )


def product3(profile: str) -> Arms:
    return experiment("beyond-product3", "*", MULTIPLIER, replace(TRAINING, steps=5000))


def everything(profile: str) -> Arms:
    return experiment("beyond-all", "+-*", MULTIPLIER, replace(TRAINING, steps=5000))


UNIFORM = Check("uniform", (5, 10, 20, 50, 100, 200), SHORT)
RECIPES = [
    Recipe("beyond-addition", "Sums without a canvas: 5 digits in training, thousands in the test.", addition, checks=(
        UNIFORM, Check("uniform", (1000,), LONG), Check("uniform", (10_000,), LONGEST),
        Check("runs", (5, 10, 40, 200), SHORT), Check("runs", (1000,), LONGEST),
        Check("edges", (1, 2, 3, 4, 5, 10, 20, 50, 100, 200, 500, 1000), 20),
    ), seeds=5, checkpoints="last"),
    Recipe("beyond-product1", "1-digit multipliers without a canvas.", product1, checks=(
        UNIFORM, Check("uniform", (1000,), LONG), Check("edges", (1, 2, 5, 20, 100, 1000), 20)),
           seeds=3, checkpoints="last"),
    Recipe("beyond-product3", "1- to 3-digit multipliers without a canvas.", product3, checks=(
        Check("uniform", (5, 8, 20, 50, 100), SHORT), Check("more", (5, 20), SHORT),
        Check("edges", (1, 2, 5, 20, 100), 20)), seeds=3, checkpoints="last"),
    Recipe("beyond-summands", "Sums of 2 to 5 numbers with one model.", summands, checks=(
        Check("uniform", (5, 20, 50), SHORT), Check("more", (10,), SHORT)), seeds=3, checkpoints="last"),
    Recipe("beyond-all", "One model adds, subtracts and multiplies, told by the operator.", everything, checks=(
        Check("uniform", (5, 8, 20, 50), SHORT),), seeds=3, checkpoints="last"),
]  # fmt: skip
