"""The same work on a GPU, where there is one, and on the CPU in bfloat16: train, test, look at maps, solve."""

from contextlib import nullcontext
from dataclasses import replace

import pytest
import torch
from small import SMALL, with_training

from digitwise.answers.solver import Solver, load
from digitwise.data import Practice
from digitwise.encodings import ByColumn
from digitwise.models import Columns
from digitwise.paper import maps
from digitwise.runs.engine import best_device, seeded
from digitwise.runs.evaluation import evaluate, load_model
from digitwise.runs.folder import Run
from digitwise.runs.training import train
from digitwise.tasks import Arithmetic

CASES = {
    "canvas": SMALL,
    "columns": replace(
        SMALL,
        task=Arithmetic("+-*"),
        data=Practice(3),
        encoding=ByColumn(),
        architecture=Columns(width=16, heads=2, feedforward=32),
    ),
}


@pytest.fixture(params=[pytest.param("cuda", marks=pytest.mark.cuda), "bf16"])
def where(request):
    """Where to work, and in which precision to train."""
    if request.param == "cuda":
        if not torch.cuda.is_available():
            pytest.skip("there is no GPU here: torch.cuda.is_available() is false")
        return nullcontext, "no"
    return lambda: torch.autocast("cpu", torch.bfloat16), "bf16"


@pytest.mark.parametrize("name", CASES)
def test_train_test_and_solve(where, name, tmp_path):
    context, precision = where
    run = Run.create(tmp_path / "run", with_training(CASES[name], precision=precision))
    train(run)
    losses = [row["loss"] for row in run.metrics() if "loss" in row]
    assert losses[-1] < 3
    with context():
        assert all(count.tried == 40 for count in evaluate(run, lengths=[3, 5]))
        assert next(load_model(run, 20).parameters()).device.type == best_device()
        solution = Solver.from_folder(run.folder).solve("123 + 45", check=True)
    assert solution.right is (solution.answer == "168") and len(solution.confidence) == len(solution.answer)


def test_maps_of_a_model_that_was_moved(where, tmp_path):
    context, _ = where
    run = Run.create(tmp_path / "run", SMALL)
    train(run)
    with context():
        evaluate(run, lengths=[3])
        rows = maps.measure_maps(run)
    assert len(rows) == SMALL.architecture.layers


def test_bundled_models_answer_there(where):
    context, _ = where
    with context():
        solver = load("addition")
        assert next(solver.model.parameters()).device.type == best_device()
        assert len(solver.solve("9999 + 1").answer) >= 1


def test_random_numbers_are_forked_on_one_device_only(monkeypatch):
    """Without a list of devices `fork_rng` would save the state of every visible GPU at every step."""
    seen = []
    original = torch.random.fork_rng
    monkeypatch.setattr(
        torch.random, "fork_rng", lambda devices=None, **k: (seen.append(devices), original([], **k))[1]
    )
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    with seeded(0, "step"):
        pass
    assert seen == [[0]]
