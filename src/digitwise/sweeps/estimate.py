"""How long runs will take: from runs of the same cost that are finished, or else from a few steps that are timed."""

import hashlib
import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from digitwise.config import describe
from digitwise.runs.experiment import Experiment
from digitwise.runs.folder import Run
from digitwise.runs.training import train

TIMED = 8
"""Steps that are timed."""
SKIPPED = 3
"""Steps before these: the first ones are slow."""
FREE = ("steps", "until_proven", "rate", "schedule", "floor", "warmup", "decay", "checkpoints", "save_seconds")
"""Fields of a training that do not change what a step costs."""


class Estimate(NamedTuple):
    seconds: float
    """Of training, in one process on this machine."""
    measured: int
    """Runs whose step was measured by finished runs; the others were timed now."""


def cost(experiment: Experiment) -> str:
    """The same for experiments whose steps cost the same."""

    def kept(told: dict[str, Any] | None) -> Any:
        if told is None:
            return None
        parts = {name: told[name] for name in ("task", "data", "encoding", "architecture")}
        training = {name: value for name, value in told["training"].items() if name not in FREE}
        return parts, training, kept(told["after"])

    text = json.dumps(kept(describe(experiment)), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def estimate(experiments: Sequence[Experiment], records: Mapping[str, dict[str, Any]]) -> Estimate:
    """How long it takes to train them all, one after the other."""
    known: dict[str, list[float]] = {}
    for record in records.values():
        if record["state"] == "finished" and record.get("step") and "cost" in record:
            known.setdefault(record["cost"], []).append(record["seconds"] / record["step"])
    seconds, measured = 0.0, 0
    timed: dict[str, float] = {}
    for experiment in experiments:
        key = cost(experiment)
        if key in known:
            measured += 1
            step = median(known[key])
        else:
            step = timed[key] = timed[key] if key in timed else time_steps(experiment)
        seconds += step * experiment.steps
    return Estimate(seconds, measured)


def time_steps(experiment: Experiment) -> float:
    """Seconds per step, by a training of a few steps."""
    moments: list[float] = []
    training = replace(experiment.training, steps=SKIPPED + TIMED, until_proven=0, checkpoints=1)
    testing = replace(experiment.testing, validation_lengths=())
    with tempfile.TemporaryDirectory(prefix="digitwise-") as scratch:
        short = replace(experiment, training=training, testing=testing, after=None)
        train(Run.create(Path(scratch) / "run", short), lambda step, loss: moments.append(time.monotonic()))
    return (moments[-1] - moments[SKIPPED - 1]) / TIMED
