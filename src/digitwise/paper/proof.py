"""Models that are proven right at every length, trained on numbers of at most 5 digits: the recipe, and its table.

Cells tell each other a few bits (`models.messages`). Training checks every case as soon as bits are hard, practises
what is wrong, and ends with a proof. Beside the proof the networks are tested on long numbers: a proof has assumptions,
and a test that fails would show that one of them is wrong.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from digitwise.data import Compared, Distribution, Practice, ShortFirst
from digitwise.encodings import ByColumn
from digitwise.models import Messages
from digitwise.numbers import digits as dg
from digitwise.numbers.digits import Digits
from digitwise.paper.recipes import LARGE_CELL, PROVEN_TRAINING, SMALL_CELL, Arms, Recipe
from digitwise.plots import BLUE, new_figure, save
from digitwise.rng import generator
from digitwise.runs.evaluation import answer, load_model
from digitwise.runs.experiment import Experiment, Testing
from digitwise.runs.folder import Run
from digitwise.tasks import Arithmetic, Difference, Division, Kind, Task
from digitwise.tasks.problems import Problems


def _experiment(
    task: Task, data: Distribution, encoding: ByColumn, cell: Messages, steps: int, most: int, **changes: Any
) -> Experiment:
    training = replace(PROVEN_TRAINING, steps=steps, until_proven=most, **changes)
    testing = Testing((5, 10, 20, 50), problems=200, validation_lengths=(5,), validation_problems=100)
    return Experiment("proof", task, data, encoding, cell, training, testing)


def experiments(profile: str) -> Arms:
    told_apart = 2.0  # deviation of the first vectors where numbers cannot be exchanged
    return {
        "sum": _experiment(
            Arithmetic("+"), Practice(5), ByColumn(("below",)), SMALL_CELL, steps=600, most=3000
        ),
        "sums": _experiment(
            Arithmetic("+", summands=5, pads=1), Practice(5), ByColumn(("below", "above")),
            replace(SMALL_CELL, across=5), steps=3000, most=12_000,
        ),
        "product": _experiment(
            Arithmetic("*", zeros=True, pads=1, nines=0.25), Practice(5), ByColumn(("below", "shifted")),
            replace(LARGE_CELL, across=5, hard=0.75, rest=0.4, push=0.03, settle=20.0),
            steps=3500, most=12_000, floor=0.02, batch=384, draws=8, wait=0.05,
        ),
        "difference": _experiment(
            Difference(), Compared(5), ByColumn(("below",), ("higher", "above"), told_apart),
            replace(LARGE_CELL, across=4), steps=3000, most=15_000, batch=384, draws=8,
        ),
        "division": _experiment(
            Division(), ShortFirst(5), ByColumn(("higher",), deviation=told_apart), replace(LARGE_CELL, hard=0.3),
            steps=3000, most=12_000, batch=384, draws=8,
        ),
    }  # fmt: skip


RECIPES = [
    Recipe("proof", "Networks that are proven right for all numbers of all lengths: every seed, with its time.",
           experiments, checks=(), seeds=range(10, 15),
           own_seeds={"difference": range(15, 20), "product": range(30, 35)}, analysis="proof"),
]  # fmt: skip


# Tests beside the proof: long numbers, and those that are hard

Draw = Callable[[np.random.Generator], tuple[Kind, list[Digits]]]


def _random(kind: Kind, count: int, digits: int) -> Draw:
    """Numbers of exactly so many digits; multipliers and divisors as the kind says."""

    def draw(rng: np.random.Generator) -> tuple[Kind, list[Digits]]:
        numbers = [dg.sample(rng, digits, np.full(count, digits)) for _ in range(kind.drawn)]
        if kind.factor:
            factor = rng.integers(1, 10, (count, kind.factor), dtype=np.uint8)
            numbers.insert(0 if kind.operator == "*" else 1, factor)
        return kind, numbers

    return draw


def _nines(digits: int, carry: bool) -> Draw:
    """99...9 + 1, through which a carry runs, or 99...9 + 0, through which none does."""
    numbers = [np.full((1, digits), 9, dtype=np.uint8), np.full((1, 1), int(carry), dtype=np.uint8)]
    return lambda rng: (Kind("+"), numbers)


def _alike(operator: str, count: int, digits: int) -> Draw:
    """Two numbers that are equal down to some place, a few of them to the last; either can be the larger."""

    def draw(rng: np.random.Generator) -> tuple[Kind, list[Digits]]:
        first, second = (dg.sample(rng, digits, np.full(count, digits)) for _ in range(2))
        same = np.arange(digits) >= rng.integers(0, digits, (count, 1)) * (rng.random((count, 1)) < 0.8)
        return Kind(operator), [first, np.where(same, first, second)]

    return draw


MILLION = 1_000_000
BESIDE: dict[str, dict[str, Draw]] = {
    "sum": {
        "1,000,000 digits": _random(Kind("+"), 5, MILLION),
        "a million nines, a carry": _nines(MILLION, True), "a million nines, no carry": _nines(MILLION, False),
    },
    "sums": {"100 numbers of 100 digits": _random(Kind("+", 100), 300, 100)},
    "product": {
        "20 x 20 digits": _random(Kind("*", 20), 1000, 20), "100 x 100 digits": _random(Kind("*", 100), 100, 100),
        "3 x 10,000 digits": _random(Kind("*", 3), 20, 10_000),
    },
    "difference": {
        "10,000 digits": _random(Kind("-"), 20, 10_000), "10,000 digits, alike at the top": _alike("-", 40, 10_000),
        "comparisons of 10,000 digits": _random(Kind("?"), 20, 10_000),
        "comparisons, alike at the top": _alike("?", 40, 10_000),
    },
    "division": {"10,000 digits": _random(Kind("/", 1), 20, 10_000)},
}  # fmt: skip


def beside(run: Run) -> dict[str, list[int]]:
    """How many long problems the network gets right, of how many, for each test of its claim."""
    task, model = run.experiment.task, load_model(run, run.select("last")[0])
    found = {}
    for name, draw in BESIDE[task.claim].items():
        kind, numbers = draw(generator(0, "beside", name))
        right = [
            _is_right(model, task, kind, [part[row : row + 1] for part in numbers]) for row in range(len(numbers[0]))
        ]
        found[name] = [sum(right), len(right)]
    return found


def _is_right(model: Any, task: Task, kind: Kind, numbers: Sequence[Digits]) -> bool:
    text = f" {kind.operator} ".join(dg.render(number)[0] for number in numbers)
    fitting = task.fitting([text])
    posed: Problems = fitting.pose(kind, numbers)
    batch = fitting.encode(posed)
    return bool((answer(model, batch).symbols_BS.numpy() == batch.targets).all())


def measure(run: Run) -> list[dict[str, Any]]:
    """A row for the seed of a claim, proven or not."""
    found = run.proof()
    row = {"claim": run.experiment.task.claim, "seed": run.experiment.seed} | {
        name: found.get(name)
        for name in ("verdict", "step", "seconds", "situations", "wrong", "logit", "bit", "difference")
    }
    shown = found.get("shown") or [""]
    return [row | {"counterexample": shown[0]} | (beside(run) if found.get("verdict") == "proven" else {})]


def draw(rows: list[dict[str, Any]], folder: Path) -> list[Path]:
    """How long each seed took to be proven."""
    claims = list(dict.fromkeys(row["claim"] for row in rows))
    figure, axes = new_figure()
    for row in rows:
        mark = "o" if row["verdict"] == "proven" else "x"
        axes.plot(row["seconds"] / 60, claims.index(row["claim"]), mark, color=BLUE, fillstyle="none")
    axes.set_yticks(range(len(claims)), claims)
    axes.set_xlabel("minutes of training on one core until the proof (o), or without one (x)")
    axes.set_title("Proven right at every length, trained on at most 5 digits: one mark per seed", fontsize=10)
    return [save(figure, folder / "proof")]
