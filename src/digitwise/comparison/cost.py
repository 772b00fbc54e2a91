"""What a step of an encoding costs: seconds beside the reference, in turns; memory; parameters."""

from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from digitwise.bench.measure import Session
from digitwise.bench.step import one_step
from digitwise.comparison.setting import RATES, REFERENCE, Setting, named, setting
from digitwise.encodings import Encoding
from digitwise.runs.experiment import Experiment
from digitwise.tables import read_json, replacing, rows_to_json

ROUNDS = 25


def cost_of(name: str, where: Setting, folder: Path, profile: str) -> dict[str, Any]:
    """Measure once, and keep it in the folder: a busy machine would make steps of today cheaper than those of tomorrow,
    so only the ratio to the reference is used for planning, measured in turns with it."""
    path = folder / "cost.json"
    if path.exists():
        return read_json(path)[0]
    small = profile == "smoke"
    session = Session(repeats=1 if small else ROUNDS, size="smoke" if small else "full")
    label, encoding = named(name)
    sides = {"this": one_step(_first(where, encoding)), REFERENCE: one_step(_first(where, named(REFERENCE)[1]))}
    seconds = session.seconds(label, sides)
    mine, reference = min(seconds["this"]), min(seconds[REFERENCE])  # other work on the machine only ever adds to them
    arguments = [where.task, where.format, profile]
    found = {
        "encoding": label,
        "seconds per step": round(mine, 5),
        "ratio": 1.0 if label == REFERENCE else round(mine / reference, 3),
        "megabytes": round(session.peak(f"{__name__}:step_of", [name, *arguments[:2], "smoke"], [name, *arguments]), 1),
        "parameters": sum(weight.numel() for weight in _first(where, encoding).build().parameters()),
    }
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.write_text(rows_to_json([found]) + "\n")
    return found


def seconds_of_reference(where: Setting, profile: str) -> float:
    """Of a training step."""
    session = Session(repeats=1 if profile == "smoke" else ROUNDS, size="smoke" if profile == "smoke" else "full")
    step = one_step(_first(where, named(REFERENCE)[1]))
    return median(session.seconds(REFERENCE, {REFERENCE: step})[REFERENCE])


def step_of(name: str, task: str, format: str, profile: str) -> Callable[[], Any]:
    """A training step, made in a process of its own to measure its memory."""
    return one_step(_first(setting(task, format, profile), named(name)[1]))


def _first(where: Setting, encoding: Encoding) -> Experiment:
    return where.trial(encoding, RATES[0], 1.0, steps=10, seed=0)
