"""The models on the local page: those that come with the package, two that are there to fail, and runs."""

import threading
from collections.abc import Sequence
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from digitwise.answers.compiled import Compiled
from digitwise.answers.machine import Machine, learned
from digitwise.answers.solver import BUNDLED, Solver, bundled, load
from digitwise.data import ExactLength
from digitwise.machines.certificate import THEOREMS, Certificate
from digitwise.models.looking import attention
from digitwise.rng import generator
from digitwise.runs.certify import certify
from digitwise.runs.written import in_words
from digitwise.tasks import Batch

MODELS = Path(str(files("digitwise"))) / "pages" / "models"
"""Small models on a canvas, which fail beyond the lengths that they were trained on: for this page alone."""


class Shown:
    """One model, and what the page says about it."""

    def __init__(self, name: str, solver: Solver, folder: Path):
        self.name, self.solver, self.folder = name, solver, folder
        self.lock = threading.Lock()  # a network remembers what it has worked out, and threads share it

    @cached_property
    def machine(self) -> Machine | None:
        """The finite machine that cells are which tell each other bits, proven or not; None for all other models."""
        if self.solver.proven:
            return learned(Compiled(self.folder))
        try:
            report = certify(self.solver.experiment, self.solver.model)
        except ValueError:  # there is no end of cases
            return None
        table = Certificate(report.claim, "", report.bits, {}, report.table).machine()
        meanings: dict[str, dict[int, set[str]]] = {}
        for message, codes_of in report.meanings.items():
            for meaning, codes in codes_of.items():
                for code in codes:
                    meanings.setdefault(message, {}).setdefault(code, set()).add(meaning)
        return Machine(self.name, report.claim, table, report.table, meanings)

    @cached_property
    def heads(self) -> tuple[int, int]:
        """Layers and heads that look at the whole canvas; none for models of cells."""
        with self.lock:
            found = attention(self.solver.model, self.drawn(1, 1))
        return len(found), found[0].shape[1] if found else 0

    def drawn(self, digits: int, count: int) -> Batch:
        """Problems of exactly so many digits, always the same."""
        task, kind = self.solver.task, self.solver.task.kinds[0]
        return task.encode(task.draw(ExactLength(digits), generator(0, "page", digits), count, kind))

    def described(self) -> dict[str, Any]:
        experiment, (layers, heads) = self.solver.experiment, self.heads
        return {
            "name": self.name, "title": in_words(experiment), "proven": self.solver.proven,
            "theorem": THEOREMS[experiment.task.claim] if self.solver.proven else "",
            "operators": sorted({kind.operator for kind in self.solver.task.kinds}),
            "canvas": self.solver.task.longest, "trained": experiment.trained_length,
            "layers": layers, "heads": heads,
            "parameters": sum(int(np.prod(weight.shape)) for weight in self.solver.model.parameters()),
        }  # fmt: skip


def shelf(runs: Sequence[Path]) -> dict[str, Shown]:
    """All models by name, the bundled ones first. Runs of equal names are told apart by their folders."""
    found = {name: Shown(name, load(name), BUNDLED / name) for name in bundled()}
    for folder in sorted(MODELS.glob("*/weights.safetensors")):
        name = folder.parent.name
        found[name] = Shown(name, Solver.from_folder(folder.parent), folder.parent)
    for folder in runs:
        name = folder.resolve().name
        name = name if name not in found else str(folder)
        found[name] = Shown(name, Solver.from_folder(folder), folder)
    return found
