"""Training what is missing of a comparison. Everything that is finished stays, so a new encoding adds a row.

OUT/addition-canvas/plan.json                 how many steps each training has
OUT/addition-canvas/rope/cost.json            what a step costs
OUT/addition-canvas/rope/tune-0.003-2.5/      trials, on a seed that is not reported
OUT/addition-canvas/rope/seed0/               a reported run with the best of them, at equal steps
OUT/addition-canvas/rope/seed0-time/          the same at equal time, if that is another number of steps
"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from digitwise.comparison.cost import cost_of, seconds_of_reference
from digitwise.comparison.setting import TUNING_SEED, Setting, named
from digitwise.encodings import Encoding
from digitwise.paper.reproduction import Report, silent
from digitwise.runs.engine import locked
from digitwise.runs.evaluation import evaluate
from digitwise.runs.experiment import Experiment
from digitwise.runs.folder import Run
from digitwise.runs.places import open_or_create
from digitwise.runs.training import train
from digitwise.tables import read_json, replacing, rows_to_json

LEAST_STEPS, STEPS = 20, 2000
PARTS = 10
"""Steps at equal time are rounded to tenths of those at equal steps."""


class Work(NamedTuple):
    """One encoding on one task in one format."""

    name: str
    label: str
    encoding: Encoding
    where: Setting
    folder: Path


def works(names: Sequence[str], settings: Sequence[Setting], root: Path) -> list[Work]:
    """All that a comparison asks for: every encoding on a canvas, and in the growing format those made for it."""
    found = []
    for where in settings:
        for name in names:
            label, encoding = named(name)
            if where.format == "canvas" or encoding.growing:
                found.append(Work(name, label, encoding, where, root / where.name / label))
    return found


def plan_of(where: Setting, root: Path, budget: float | None, steps: int | None, trainings: int, profile: str) -> int:
    """The steps of each training, which a folder keeps from its first comparison on.

    A budget is the time that one encoding has for all of its trainings on a task, tuning included, at the speed of the
    reference. Another budget needs another folder: its rows would not be comparable.
    """
    folder = root / where.name
    folder.mkdir(parents=True, exist_ok=True)
    path, asked = folder / "plan.json", {"budget": budget, "steps": steps}
    with locked(folder, wait=True):
        if path.exists():
            plan = read_json(path)[0]
            wrong = [name for name, value in asked.items() if value is not None and value != plan[name]]
            if wrong and not (steps is not None and steps == plan["planned"]):
                raise ValueError(
                    f"{folder} was planned with {plan['planned']} steps for each training, and rows of other plans "
                    f"cannot stand beside its own: leave out --{wrong[0]}, or choose another --out"
                )
            return plan["planned"]
        planned = steps or STEPS
        if budget is not None:
            planned = int(budget / trainings / seconds_of_reference(where, profile))
        planned = max(LEAST_STEPS, planned // PARTS * PARTS)
        with replacing(path) as temporary:
            temporary.write_text(rows_to_json([{**asked, "planned": planned, "profile": profile}]) + "\n")
    return planned


def compare(work: Work, steps: int, seeds: Sequence[int], profile: str, report: Report = silent) -> None:
    """Measure, tune, train and test one row."""
    cost = cost_of(work.name, work.where, work.folder, profile)
    in_time = steps_in_time(steps, cost["ratio"])
    grid = work.where.grid()
    total = len(grid) * steps + len(seeds) * (steps + (in_time if in_time != steps else 0))
    done, what = 0, f"{work.label}, {work.where.name}"

    def finish(folder: Path, experiment: Experiment, note: str) -> Run:
        nonlocal done
        run = completed(
            folder, experiment, lambda step, loss: report(what, done + step, total, f"{note}, loss {loss:.4f}")
        )
        done += experiment.training.steps
        return run

    trials = {
        (rate, sharpness): finish(
            work.folder / f"tune-{rate:g}-{sharpness:g}",
            work.where.trial(work.encoding, rate, sharpness, steps, TUNING_SEED),
            f"rate {rate:g}, sharpness {sharpness:g}",
        )
        for rate, sharpness in grid
    }
    best = max(trials, key=lambda point: quality(trials[point]))
    for seed in seeds:
        for folder, count in homes(work.folder, seed, steps, in_time).items():
            run = finish(folder, work.where.trial(work.encoding, *best, count, seed), f"seed {seed}")
            for check in work.where.checks:
                evaluate(run, check.suite, check.lengths, check.problems, checkpoints="last")


def completed(folder: Path, experiment: Experiment, progress: Callable[[int, float], None]) -> Run:
    """A trained run in a folder, from wherever it stands. The one place where this room trains."""
    run = open_or_create(folder, experiment)
    train(run, progress)
    return run


def homes(folder: Path, seed: int, steps: int, in_time: int) -> dict[Path, int]:
    """The runs of a seed with their steps: one where equal steps take equal time."""
    equal = {folder / f"seed{seed}": steps}
    return equal if in_time == steps else equal | {folder / f"seed{seed}-time": in_time}


def steps_in_time(steps: int, ratio: float) -> int:
    """How many steps take as long as so many of the reference."""
    part = max(1, steps // PARTS)
    return max(part, round(steps / ratio / part) * part)


def quality(run: Run) -> tuple[float, float]:
    """Right answers to long validation problems; where there are none, how well the trained lengths were learned."""
    losses = [row["loss"] for row in run.metrics() if "loss" in row][-10:]
    return run.validation()[run.select("last")[0]], -sum(losses) / max(len(losses), 1)


def parse_budget(text: str) -> float:
    """`90`, `90s`, `10m` or `2h` as seconds."""
    units = {"s": 1, "m": 60, "h": 3600}
    number, unit = (text[:-1], units[text[-1]]) if text[-1:] in units else (text, 1)
    try:
        seconds = float(number) * unit
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise ValueError(f"--budget takes a time such as 90s, 10m or 2h, not '{text}'")
    return seconds
