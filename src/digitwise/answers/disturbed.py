"""How strong a proof is: the weights of a proven model are disturbed, and what the check says is tried out.

A certificate is about one file of weights, so it must be refused for every other one. A refutation must come with a
problem that the disturbed network gets wrong, and one that is proven again must get hard problems right.
"""

import copy
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from digitwise.answers.solver import load
from digitwise.machines import certificate
from digitwise.models import Model
from digitwise.rng import generator
from digitwise.runs.certify import certify, is_wrong
from digitwise.runs.engine import seeded
from digitwise.runs.files import save_weights
from digitwise.tasks import Task

LIGHT, HEAVY = 1e-3, 2.0
"""The least and the largest disturbance, as shares of the mean size of each matrix."""
HARD = 1000


def disturb(
    name: str, times: int, progress: Callable[[str, int, int, str], None] = lambda *_: None
) -> list[dict[str, Any]]:
    """Return a row for each disturbance of a bundled model, lightly to heavily."""
    solver, rows = load(name), []
    if solver.weights is None:
        raise ValueError("a certificate needs a file of weights")
    papers = certificate.read(solver.weights.parent / certificate.FILE)
    for number, scale in enumerate(np.geomspace(LIGHT, HEAVY, times)):
        model = _disturbed(solver.model, float(scale), number)
        report = certify(solver.experiment, model)
        row = {"scale": round(float(scale), 6), "verdict": report.verdict, "wrong": report.wrong}
        row["old certificate"] = "refused" if _fingerprint(model) != papers.weights else "accepted"
        if report.verdict == "refuted":
            row |= {"problem": report.problems[0], "replayed": is_wrong(model, solver.task, report.problems[0])}
        if report.verdict == "proven":
            row["hard problems wrong"] = _wrong(model, solver.task, list(hard(papers.claim)))
        rows.append(row)
        progress(f"disturb {name}", number + 1, times, report.verdict)
    return rows


def hard(claim: str) -> Iterator[str]:
    """Runs of nines that a carry enters or not, between other digits, and nothing but nines."""
    rng, operator = generator(0, "hard", claim), "*" if claim == "product" else "+"
    for number in range(HARD):
        length = int(rng.integers(1, 40))
        if number % 4 == 0:
            yield f"{'9' * length} {operator} {'9' * int(rng.integers(1, 40))}"
        else:
            low, high = (int(rng.integers(0, 10 ** int(rng.integers(1, 9)))) for _ in range(2))
            first, second = f"{high}{'9' * length}{low}", f"{10 ** len(str(low)) - low - int(rng.integers(0, 2))}"
            yield f"{first} {operator} {second}"


def _disturbed(model: Model, scale: float, seed: int) -> Any:
    found = copy.deepcopy(model).eval()
    with torch.no_grad(), seeded(seed, "disturbed"):
        for weight in found.parameters():
            weight.add_(scale * weight.abs().mean() * torch.randn_like(weight))
    return found


def _wrong(model: Any, task: Task, texts: list[str]) -> int:
    """How many problems the network itself gets wrong, cell by cell."""
    batch = task.encode(task.fitting(texts).read(texts))
    with torch.inference_mode():
        written = model(torch.as_tensor(batch.tokens), batch.coordinates).argmax(-1).numpy()
    return int((written != batch.targets).any(1).sum())


def _fingerprint(model: Model) -> str:
    with tempfile.TemporaryDirectory() as folder:
        save_weights(model.state_dict(), Path(folder) / "weights.safetensors")
        return certificate.fingerprint(Path(folder) / "weights.safetensors")
