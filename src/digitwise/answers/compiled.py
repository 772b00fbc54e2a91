"""Answers from the table of a proven network: the same answers at the speed of a lookup, without torch."""

from functools import cache
from pathlib import Path

from digitwise.answers import Problem, arrays
from digitwise.answers.solving import BUNDLED, Solution, model_for, refuse_long
from digitwise.machines.certificate import FILE, THEOREMS, fingerprint, read
from digitwise.machines.run import claim_of, lay_out, read_out, written
from digitwise.tasks import Arithmetic, Difference, Division, Task
from digitwise.tasks.problems import spelled

TASKS: dict[str, Task] = {
    "sum": Arithmetic("+"),
    "sums": Arithmetic("+", summands=3),
    "product": Arithmetic("*", zeros=True),
    "difference": Difference(),
    "division": Division(),
}
"""How the answers of each claim are spelled."""


class Compiled:
    """A certificate at work. Without its network it is still proven: the table is what was proven."""

    def __init__(self, folder: Path):
        path = folder / FILE
        if not path.is_file():
            raise ValueError(f"{folder} has no {FILE}: only proven models can be compiled, digitwise certify {folder}")
        self.name, self.certificate = folder.name, read(path)
        weights = folder / "weights.safetensors"
        if weights.is_file() and fingerprint(weights) != self.certificate.weights:
            raise ValueError(f"{path} is about other weights than those beside it: digitwise certify {folder}")
        self.table = self.certificate.machine()

    def admitted(self, problem: Problem) -> Problem:
        claim = self.certificate.claim
        same = claim_of(problem.kind) == claim or (claim == "sums" and problem.kind.operator == "+")
        if not same:
            raise ValueError(f"model {self.name} does not support {problem.kind}: its claim is that {THEOREMS[claim]}")
        refuse_long(problem, self.name)
        return problem

    def batch(self, problems: list[Problem], check: bool) -> list[Solution]:
        kind = problems[0].kind
        multipliers, numbers = arrays(kind, problems)
        numbers_BP = written(self.table, lay_out(self.table, kind, numbers, multipliers))
        symbols = read_out(kind, self.table.symbol[numbers_BP]).astype("uint8")
        texts = TASKS[self.certificate.claim].spell(symbols)
        truth = spelled(kind, multipliers, numbers) if check else [None] * len(texts)
        return [
            Solution(problem.text, text, None, None, self.name, True, None if right is None else text == right)
            for problem, text, right in zip(problems, texts, truth, strict=True)
        ]


def choose(problem: Problem) -> Compiled:
    return load(model_for(problem))


@cache
def load(name: str) -> Compiled:
    """A bundled model by its name, or a folder with a certificate."""
    return Compiled(BUNDLED / name if (BUNDLED / name).is_dir() else Path(name))
