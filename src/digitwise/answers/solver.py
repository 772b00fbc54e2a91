"""Answers at once: problems as text in, what the network says out, in batches of equal length.

Nothing here computes with the digits of a problem. Text becomes tokens, the network repeats until its columns are at
rest, and the symbols it reads out become text again. Only `check` knows the true answer.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from digitwise.config import describe, did_you_mean, restore
from digitwise.models.ripple import Ripple
from digitwise.numbers import digits as dg
from digitwise.runs.evaluation import batch_size, load_model
from digitwise.runs.experiment import Experiment, kinds
from digitwise.runs.folder import FORMAT, Run
from digitwise.tasks import Arithmetic, Kind, Operands
from digitwise.tasks.symbols import Tokens, read_answers

MODELS = Path(str(files("digitwise"))) / "answers" / "weights"
"""Models that come with the package: a folder each with weights.safetensors, config.json and card.md."""
ORDER = ("addition", "summands", "product1", "product3", "all")
"""Who is asked first, of those who know a kind of problem."""
MOST_AT_ONCE = 256
CARD = "card.md"
EXAMPLES = "a problem is two or more whole numbers with + between them, or two with - or *, such as 56 * 4297"


@dataclass(frozen=True)
class Solution:
    problem: str
    answer: str
    confidence: list[float]
    """What the network gives each digit of the answer, most significant first."""
    rounds: int
    """After how many rounds nothing changed any more."""
    model: str
    right: bool | None = None
    """Only where it was asked for."""


@dataclass(frozen=True)
class Problem:
    text: str
    operator: str
    numbers: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> "Problem":
        text = text.strip()
        shown = text if len(text) <= 40 else f"{text[:37]}..."
        if re.search(r"(^|[-+*])\s*-\s*\d", text):
            raise ValueError(f"'{shown}' has a negative number, and only numbers from 0 up are known")
        found = re.fullmatch(r"\s*\d+(\s*([-+*])\s*\d+)(\s*\2\s*\d+)*\s*", text, re.ASCII)
        numbers = tuple(number.lstrip("0") or "0" for number in re.findall(r"\d+", text))
        if found is None or (found[2] != "+" and len(numbers) > 2):
            raise ValueError(f"'{shown}' is no problem: {EXAMPLES}")
        return cls(text, found[2], numbers).ordered()

    def ordered(self) -> "Problem":
        """The shorter factor is the multiplier; a difference must have its larger number first."""
        first, *others = self.numbers
        if self.operator == "*" and len(others[0]) < len(first):
            return Problem(self.text, "*", (others[0], first))
        if self.operator == "-" and (len(first), first) < (len(others[0]), others[0]):
            raise ValueError("a difference below zero is not known: put the larger number first")
        return self

    @property
    def kind(self) -> Kind:
        return Kind(self.operator, len(self.numbers[0]) if self.operator == "*" else len(self.numbers))

    @property
    def length(self) -> int:
        """Digits of the longest number of any length."""
        return max(map(len, self.numbers[self.operator == "*" :]))


class Solver:
    """A trained model and its task, ready for problems."""

    def __init__(self, name: str, experiment: Experiment, model: Ripple, card: str = ""):
        self.name, self.experiment, self.model, self.card = name, experiment, model.eval(), card
        self.task: Arithmetic = experiment.task  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Solver({self.name}: {_several(self.task.kinds)})"

    def solve(self, problem: str, check: bool = False) -> Solution:
        return next(self.solve_many([problem], check))

    def solve_many(self, problems: Iterable[str], check: bool = False) -> Iterator[Solution]:
        """Solutions in the order of the problems, which are refused, if need be, before the first is solved."""
        if isinstance(problems, str):
            raise ValueError("solve_many takes a list of problems: solve takes one")
        return iter(solve([(self, self.admitted(Problem.parse(text))) for text in problems], check))

    def knows(self, kind: Kind) -> bool:
        return kind in self.task.kinds

    def admitted(self, problem: Problem) -> Problem:
        if not self.knows(problem.kind):
            raise ValueError(f"model {self.name} knows {_several(self.task.kinds)}, and not {problem.kind}")
        if problem.length > self.task.canvas:
            raise ValueError(f"numbers of more than {self.task.canvas:,} digits are too long")
        return problem

    def batch(self, problems: list[Problem], check: bool) -> list[Solution]:
        """Problems of one kind, at once."""
        columns = zip(*(problem.numbers for problem in problems), strict=True)
        operands = self.task.pose(problems[0].kind, [dg.parse(column) for column in columns])
        symbols, confidence, rounds = self._read(self.task.write(operands))
        truth = self._truth(operands) if check else [None] * len(problems)
        solutions = []
        for row, problem in enumerate(problems):
            answer = read_answers(symbols[row : row + 1])[0]
            answer = answer.lstrip("0") or "0" if problem.operator == "-" else answer
            by_digit = [round(float(share), 4) for share in confidence[row, : len(answer)][::-1]]
            right = None if check is False else answer == truth[row]
            solutions.append(Solution(problem.text, answer, by_digit, int(rounds[row]), self.name, right))
        return solutions

    def _read(self, tokens: Tokens) -> tuple[Tokens, np.ndarray, np.ndarray]:
        device = next(self.model.parameters()).device
        coordinates = self.task.coordinates(tokens).map(lambda x: torch.as_tensor(x.copy(), device=device))
        size = batch_size(self.model, tokens.shape[1])
        with torch.inference_mode():
            parts = [
                self.model.settle(torch.as_tensor(tokens[start : start + size], device=device), coordinates)
                for start in range(0, len(tokens), size)
            ]
        symbols, confidence, rounds = (torch.cat(part).cpu().numpy() for part in zip(*parts, strict=True))
        return symbols.astype(np.uint8), confidence, rounds

    def _truth(self, operands: Operands) -> list[str]:
        return [str(text) for text in dg.render(self.task.solve(operands))]

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
        """A bundled or saved model, or the last checkpoint of a run."""
        folder = Path(folder)
        if not (folder / "weights.safetensors").is_file():
            run = Run.open(folder)
            _without_a_canvas(run.experiment, folder)
            return cls(str(folder), run.experiment, load_model(run, run.select("last")[0]))  # type: ignore[arg-type]
        try:
            config = json.loads((folder / "config.json").read_text())
            experiment = restore(config["experiment"], kinds())
            _without_a_canvas(experiment, folder)
            model = experiment.build()
            model.load_state_dict(load_file(folder / "weights.safetensors"))
        except (OSError, KeyError, TypeError, RuntimeError, SafetensorError, json.JSONDecodeError) as error:
            raise ValueError(f"{folder} holds no model that can be read: {str(error).splitlines()[0]}") from error
        cards = [path.read_text() for path in (folder / CARD, folder / "README.md") if path.exists()]
        return cls(config["name"], experiment, model, cards[0] if cards else "")


def _without_a_canvas(experiment: Experiment, folder: Path) -> None:
    if not isinstance(experiment.task, Arithmetic):
        raise ValueError(f"{folder} is a model on a canvas: solve needs one without, such as those of beyond-addition")


def bundled() -> list[str]:
    there = [path.parent.name for path in MODELS.glob("*/weights.safetensors")]
    return sorted(there, key=lambda name: (name not in ORDER, ORDER.index(name) if name in ORDER else name))


def load(name: str) -> Solver:
    """A bundled model by its name, or any folder of a model or a run."""
    if name in bundled():
        return _bundled(name)
    if Path(name).is_dir():
        return Solver.from_folder(Path(name))
    raise ValueError(f"no model '{name}'{did_you_mean(name, bundled())}; a folder of a run or of a saved model will do")


@cache
def _bundled(name: str) -> Solver:
    return Solver.from_folder(MODELS / name)


def choose(problem: Problem) -> Solver:
    """The first bundled model that knows this kind of problem."""
    for name in bundled():
        if load(name).knows(problem.kind):
            return load(name)
    known = dict.fromkeys(kind for name in bundled() for kind in load(name).task.kinds)
    raise ValueError(f"no bundled model knows {problem.kind}, only {_several(known)}")


def solve(asked: list[tuple[Solver, Problem]], check: bool = False) -> list[Solution]:
    """Batches of one model, one kind and one length; solutions in the order of the problems."""

    def together(index: int) -> tuple[str, str, int]:
        solver, problem = asked[index]
        return solver.name, str(problem.kind), problem.length

    order = sorted(range(len(asked)), key=together)
    solutions: dict[int, Solution] = {}
    while order:
        group = [index for index in order[:MOST_AT_ONCE] if together(index) == together(order[0])]
        order = order[len(group) :]
        found = asked[group[0]][0].batch([asked[index][1] for index in group], check)
        solutions |= dict(zip(group, found, strict=True))
    return [solutions[index] for index in range(len(asked))]


def _several(known: Iterable[Kind]) -> str:
    return ", ".join(map(str, known))
