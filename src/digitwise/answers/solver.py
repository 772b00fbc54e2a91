"""Answers from trained models: problems as text in, what the network reads out as text out, in batches of like length.

Nothing here computes with the digits of a problem. Text becomes tokens, the model answers, and its symbols become text
again. Only `check` compares with the true answer.
"""

import json
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from digitwise.answers import Problem
from digitwise.answers.solving import BUNDLED, PROVEN, Solution, model_for, refuse_long, solve
from digitwise.config import describe, did_you_mean
from digitwise.machines import certificate
from digitwise.models import Model
from digitwise.numbers import digits as dg
from digitwise.runs.engine import best_device
from digitwise.runs.evaluation import answer, load_model
from digitwise.runs.experiment import Experiment
from digitwise.runs.folder import Run
from digitwise.runs.limits import refuse_absurd
from digitwise.runs.written import FORMAT, read_experiment
from digitwise.tasks import Kind, Problems, Task

CARD = "card.md"


class Solver:
    """A trained model and its task, ready for problems."""

    def __init__(self, name: str, experiment: Experiment, model: Model, card: str = "", proven: bool = False):
        self.name, self.experiment, self.model, self.card = name, experiment, model.eval(), card
        self.task, self.proven = experiment.task.plain(), proven
        self.weights: Path | None = None  # the file that they are from

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
        """A proven model supports any number of summands and multipliers of any length, whatever it was trained on."""
        known = {known.operator for known in self.task.kinds} if self.proven and self.task.rows > 1 else set()
        return kind in self.task.kinds or kind.operator in known

    def admitted(self, problem: Problem) -> Problem:
        """Return the problem, if this model supports it."""
        if not self.supports(problem.kind):
            raise ValueError(f"model {self.name} supports {_several(self.task.kinds)}, not {problem.kind}")
        self.task.admit(problem.kind, problem.numbers)
        refuse_long(problem, self.name, self.task.longest)
        return problem

    def batch(self, problems: list[Problem], check: bool) -> list[Solution]:
        """Return the solutions of problems of one kind, at once.

        Shorter ones are padded to the longest. Without a canvas that adds places above, and each answer is read on the
        places that its problem has by itself, unless it is written from the top down.
        """
        task, posed = self.posed(problems)
        symbols, confidence, rounds = (part.numpy() for part in answer(self.model, task.encode(posed, False)))
        truth = task.spell(task.targets(posed)) if check else [None] * len(problems)
        solutions = []
        for row, (problem, exact) in enumerate(zip(problems, truth, strict=True)):
            slots = task.slots(problem.length, symbols.shape[1])
            text = task.spell(symbols[row : row + 1, :slots])[0]
            by_digit = confidence[row, task.read_at(text, symbols[row, :slots])].astype(float).round(4).tolist()
            right = None if exact is None else text == exact
            solutions.append(Solution(problem.text, text, by_digit, int(rounds[row]), self.name, self.proven, right))
        return solutions

    def posed(self, problems: list[Problem]) -> tuple[Task, Problems]:
        """Return problems of one kind as arrays, and the task that writes them with room for all of them."""
        task = self.task.fitting([str(problem) for problem in problems]) if self.proven else self.task
        columns = zip(*(problem.numbers for problem in problems), strict=True)
        return task, task.pose(problems[0].kind, [dg.parse(column) for column in columns])

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
        weights = folder / "weights.safetensors"
        if not weights.is_file():
            run = Run.open(folder)
            step = run.intact(run.select("last")[0])
            found = cls(
                str(folder), run.experiment, load_model(run, step), "", _is_certified(folder, run.weights(step))
            )
            found.weights = run.weights(step)
            return found
        try:
            experiment = read_experiment(folder / "config.json")
            name = json.loads((folder / "config.json").read_text())["name"]
            refuse_absurd(experiment)
            model = experiment.build()
            model.load_state_dict(load_file(weights))
        except (OSError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
            raise ValueError(f"{folder} does not hold a readable model: {str(error).splitlines()[0]}") from error
        cards = [path.read_text() for path in (folder / CARD, folder / "README.md") if path.exists()]
        found = cls(
            name, experiment, model.to(best_device()), cards[0] if cards else "", _is_certified(folder, weights)
        )
        found.weights = weights
        return found


def _is_certified(folder: Path, weights: Path) -> bool:
    """Whether there is a certificate beside a model, and of these very weights."""
    papers = folder / certificate.FILE
    return papers.is_file() and certificate.read(papers).weights == certificate.fingerprint(weights)


def bundled() -> list[str]:
    """Names of the models that come with the package, those that `solve` chooses from first."""
    there = [path.parent.name for path in BUNDLED.glob("*/weights.safetensors")]
    order = [*PROVEN.values()]
    return sorted(there, key=lambda name: (order.index(name) if name in order else len(order), name))


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


def choose(problem: Problem) -> Solver:
    """Return the bundled model that is proven right for this kind of problem."""
    return load(model_for(problem))


def _several(kinds: Iterable[Kind]) -> str:
    return ", ".join(map(str, kinds))
