"""Answers from trained models: problems as text in, what the network reads out as text out, in batches of like length.

Nothing here computes with the digits of a problem. Text becomes tokens, the model answers, and its symbols become text
again. Only `check` compares with the true answer.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from digitwise.answers import Problem
from digitwise.config import describe, did_you_mean
from digitwise.data.distributions import MOST_DIGITS
from digitwise.models import Model
from digitwise.numbers import digits as dg
from digitwise.runs.engine import best_device
from digitwise.runs.evaluation import answer, load_model
from digitwise.runs.experiment import FORMAT, Experiment, read_experiment
from digitwise.runs.folder import Run
from digitwise.tasks import Kind
from digitwise.tasks.symbols import read_answers

BUNDLED = Path(str(files("digitwise"))) / "answers" / "weights"
"""Models that come with the package: a folder each with weights.safetensors, config.json and card.md."""
ORDER = ("addition", "summands", "product1", "product3", "all")
"""Models in order of preference."""
AT_ONCE = 1024
"""Problems in one batch."""
CARD = "card.md"


@dataclass(frozen=True)
class Solution:
    problem: str
    answer: str
    confidence: list[float]
    """The probability that the network gives to each digit of the answer, most significant first."""
    rounds: int
    """After how many rounds nothing changed any more."""
    model: str
    right: bool | None = None
    """Whether the answer is right, if that was to be checked."""


class Solver:
    """A trained model and its task, ready for problems."""

    def __init__(self, name: str, experiment: Experiment, model: Model, card: str = ""):
        self.name, self.experiment, self.model, self.card = name, experiment, model.eval(), card
        self.task = experiment.task.plain()

    def __repr__(self) -> str:
        return f"Solver({self.name}: {_several(self.task.kinds)})"

    def solve(self, problem: str, check: bool = False) -> Solution:
        return next(self.solve_many([problem], check))

    def solve_many(self, problems: Iterable[str], check: bool = False) -> Iterator[Solution]:
        """Return solutions in the order of the problems. All problems are checked before the first is solved."""
        if isinstance(problems, str | bytes) or not isinstance(problems, Iterable):
            raise ValueError(f"solve_many takes a list of problems, not {type(problems).__name__}: solve takes one")
        return iter(solve([(self, self.admitted(Problem.parse(text))) for text in problems], check))

    def supports(self, kind: Kind) -> bool:
        return kind in self.task.kinds

    def admitted(self, problem: Problem) -> Problem:
        """Return the problem, if this model supports it."""
        if not self.supports(problem.kind):
            raise ValueError(f"model {self.name} supports {_several(self.task.kinds)}, not {problem.kind}")
        longest = self.task.longest or MOST_DIGITS
        if problem.length > longest:
            raise ValueError(
                f"a number has {problem.length:,} digits; model {self.name} supports up to {longest:,} digits"
            )
        return problem

    def batch(self, problems: list[Problem], check: bool) -> list[Solution]:
        """Return the solutions of problems of one kind, at once.

        Shorter ones are padded to the longest. Without a canvas that adds places above, and nothing flows down from
        there: each answer is read on the places that its problem has by itself.
        """
        columns = zip(*(problem.numbers for problem in problems), strict=True)
        posed = self.task.pose(problems[0].kind, [dg.parse(column) for column in columns])
        symbols, confidence, rounds = (part.numpy() for part in answer(self.model, self.task.encode(posed, False)))
        truth = dg.render(self.task.solve(posed)) if check else None
        solutions = []
        for row, problem in enumerate(problems):
            slots = (self.task.longest or problem.length) + self.task.overflow
            text = read_answers(symbols[row : row + 1, :slots])[0]
            text = text.lstrip("0") or "0" if problem.kind.operator == "-" else text
            by_digit = confidence[row, : len(text)][::-1].astype(float).round(4).tolist()
            right = None if truth is None else text == truth[row]
            solutions.append(Solution(problem.text, text, by_digit, int(rounds[row]), self.name, right))
        return solutions

    # Folders, as they are bundled and as they are shared

    def save_pretrained(self, folder: Path) -> Path:
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        weights = folder / "weights.safetensors"
        save_file({name: part.contiguous().cpu() for name, part in self.model.state_dict().items()}, weights)
        weights.chmod(0o644)  # others are to read it too
        config = {"format": FORMAT, "name": self.name, "experiment": describe(self.experiment)}
        (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
        (folder / CARD).write_text(self.card)
        return folder

    @classmethod
    def from_folder(cls, folder: Path) -> "Solver":
        """Return a bundled or saved model, or the last checkpoint of a run."""
        folder = Path(folder)
        if not (folder / "weights.safetensors").is_file():
            run = Run.open(folder)
            return cls(str(folder), run.experiment, load_model(run, run.select("last")[0]))
        try:
            experiment = read_experiment(folder / "config.json")
            name = json.loads((folder / "config.json").read_text())["name"]
            model = experiment.build()
            model.load_state_dict(load_file(folder / "weights.safetensors"))
        except (OSError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
            raise ValueError(f"{folder} does not hold a readable model: {str(error).splitlines()[0]}") from error
        cards = [path.read_text() for path in (folder / CARD, folder / "README.md") if path.exists()]
        return cls(name, experiment, model.to(best_device()), cards[0] if cards else "")


def bundled() -> list[str]:
    there = [path.parent.name for path in BUNDLED.glob("*/weights.safetensors")]
    return sorted(there, key=lambda name: (name not in ORDER, ORDER.index(name) if name in ORDER else name))


def load(name: str) -> Solver:
    """Return a bundled model by its name, or the model of any folder of a model or a run."""
    if name in bundled():
        return _bundled(name)
    if Path(name).is_dir():
        return Solver.from_folder(Path(name))
    raise ValueError(f"no model '{name}'{did_you_mean(name, bundled())}; a folder of a run or of a saved model will do")


@cache
def _bundled(name: str) -> Solver:
    return Solver.from_folder(BUNDLED / name)


@cache
def bundled_kinds() -> dict[Kind, str]:
    """Return the preferred bundled model for each kind of problem, without loading any weights."""
    models: dict[Kind, str] = {}
    for name in bundled():
        for kind in read_experiment(BUNDLED / name / "config.json").task.kinds:
            models.setdefault(kind, name)
    return models


def choose(problem: Problem) -> Solver:
    """Return the preferred bundled model that supports this kind of problem."""
    models = bundled_kinds()
    if problem.kind not in models:
        raise ValueError(f"no bundled model supports {problem.kind}, only {_several(models)}")
    return load(models[problem.kind])


def solve(
    posed: list[tuple[Solver, Problem]], check: bool = False, progress: Callable[[int], None] = lambda done: None
) -> list[Solution]:
    """Return solutions in the order of the problems, worked out in batches of one model, one kind and like length.

    `progress` is told how many are done.
    """

    def together(index: int) -> tuple[str, str, int]:
        solver, problem = posed[index]
        return solver.name, str(problem.kind), problem.length

    order = sorted(range(len(posed)), key=together)
    solutions: dict[int, Solution] = {}
    while order:
        *same, length = together(order[0])
        longest = (*same, length + max(4, length // 4))
        group = [index for index in order[:AT_ONCE] if together(index) <= longest]
        order = order[len(group) :]
        found = posed[group[0]][0].batch([posed[index][1] for index in group], check)
        solutions |= dict(zip(group, found, strict=True))
        progress(len(solutions))
    return [solutions[index] for index in range(len(posed))]


def _several(kinds: Iterable[Kind]) -> str:
    return ", ".join(map(str, kinds))
