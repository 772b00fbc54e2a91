"""One run on several processes: the same losses as on one, counts added up, and one process that writes."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from small import SMALL, with_training

from digitwise.config import describe
from digitwise.data import Practice
from digitwise.encodings import Absolute, ByColumn, HeadGroups, Sum
from digitwise.models import Columns, Messages
from digitwise.runs.folder import Run
from digitwise.runs.training import train
from digitwise.tasks import Arithmetic, TextAddition

STEPS = 50
PLAIN = with_training(SMALL, dropout=0.0, steps=STEPS, batch=32, checkpoints=2)
COLUMNS = replace(PLAIN, task=Arithmetic("+-*", summands=3, multiplier=2), data=Practice(3, borrows=True))
EACH = {
    "canvas": PLAIN,
    "text": replace(PLAIN, task=TextAddition(6, most=4), encoding=Sum((Absolute(room=4), HeadGroups()))),
    "columns": replace(COLUMNS, encoding=ByColumn(), architecture=Columns(width=16, heads=2, feedforward=32)),
    "messages": replace(
        with_training(PLAIN, draws=2, until_proven=STEPS),
        task=Arithmetic("+"),
        data=Practice(3),
        encoding=ByColumn(("below",)),
        architecture=Messages(width=16, heads=2, feedforward=32, hard=0.6),
    ),
}
SCRIPT = """
import json, os, sys
from pathlib import Path
import torch
torch.set_num_threads(1)
from digitwise.runs.evaluation import evaluate
from digitwise.runs.folder import Run
from digitwise.runs.training import train
for folder in map(Path, sys.argv[1:]):
    losses = []
    train(Run.open(folder), lambda step, loss: losses.append(loss))
    found = evaluate(Run.open(folder), checkpoints="all")
    said = [losses, [(c.key, c.tried, c.correct) for c in found]]
    Path(f"{folder}-{os.environ.get('RANK', 0)}.json").write_text(json.dumps(said))
"""
TORCHRUN = ["-m", "torch.distributed.run", "--nproc-per-node", "2"]
ACCELERATE = ["-m", "accelerate.commands.launch", "--cpu", "--num_processes", "2"]


def python(*arguments: object) -> subprocess.CompletedProcess:
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})


@pytest.fixture(scope="module")
def both(tmp_path_factory) -> tuple[Path, dict, dict]:
    """Losses and counts of each kind of model, on one process and on two."""
    root, found = tmp_path_factory.mktemp("processes"), []
    (root / "script.py").write_text(SCRIPT)
    for launch, name in ([], "one"), (TORCHRUN, "two"):
        folders = [Run.create(root / name / kind, experiment).folder for kind, experiment in EACH.items()]
        result = python(*launch, root / "script.py", *folders)
        assert result.returncode == 0, result.stderr
        found.append({})
        for folder in folders:
            said = [json.loads(path.read_text()) for path in folder.parent.glob(f"{folder.name}-*.json")]
            assert len(said) == (2 if launch else 1) and said[0] == said[-1], "the processes do not agree"
            found[-1][folder.name] = said[0]
    return root, *found


@pytest.mark.parametrize("kind", EACH)
def test_two_processes_have_the_losses_of_one(both, kind):
    _, one, two = both
    ours, theirs = one[kind][0], two[kind][0]
    assert len(ours) == len(theirs) == STEPS
    assert max(abs(a - b) for a, b in zip(ours, theirs, strict=True)) < 1e-6


@pytest.mark.parametrize("kind", EACH)
def test_counts_are_added_up_and_written_once(both, kind):
    root, one, two = both
    assert one[kind][1] == two[kind][1]
    for name in ("one", "two"):
        run = Run.open(root / name / kind)
        assert [[list(c.key), c.tried, c.correct] for c in run.counts()] == sorted(one[kind][1])
        rows = run.metrics()
        assert len(rows) == len({json.dumps(row) for row in rows}), "a row was written twice"
        assert sum("loss" in row for row in rows) == STEPS // 10


@pytest.mark.parametrize("kind", EACH)
def test_parts_of_a_batch_have_the_losses_of_the_whole(both, kind, tmp_path):
    """Also for what is random in a forward pass: offsets in a text, noise on messages."""
    losses: list[float] = []
    parts = replace(EACH[kind], training=replace(EACH[kind].training, accumulate=4))
    train(Run.create(tmp_path / "run", parts), lambda step, loss: losses.append(loss))
    assert max(abs(a - b) for a, b in zip(both[1][kind][0], losses, strict=True)) < 1e-6


def test_accelerate_launches_the_same_command_line(tmp_path):
    settings = ["train", "m1-rpe", "--profile", "smoke", "--out"]
    for launch, name in ([], "one"), (ACCELERATE, "two"):
        result = python(*launch, "-m", "digitwise", *settings, tmp_path / name)
        assert result.returncode == 0, result.stderr
        assert result.stdout.count("validation") == 1  # the first process alone speaks
    runs = [Run.open(tmp_path / name / "m1-rpe" / "relative-seed0") for name in ("one", "two")]
    one, two = ([row["loss"] for row in run.metrics() if "loss" in row] for run in runs)
    assert one == pytest.approx(two, abs=2e-6)  # they are written with six decimals
    # That they share the batch shows when it cannot be shared.
    refused = python(*TORCHRUN, "-m", "digitwise", *settings, tmp_path / "odd", "--accumulate", "16")
    assert "accumulate x processes = 32" in refused.stderr


def test_a_description_of_each_is_what_was_trained(both):
    for name in ("one", "two"):
        assert all(describe(Run.open(both[0] / name / kind).experiment) == describe(EACH[kind]) for kind in EACH)
