"""Training what is missing of a comparison. Everything that is finished stays, so a new encoding adds a row.

OUT/addition-canvas/plan.json                 how many steps each training has
OUT/addition-canvas/rope/cost.json            what a step costs
OUT/addition-canvas/rope/tune-0.003-2.5/      trials, on a seed that is not reported
OUT/addition-canvas/rope/seed0/               a reported run with the best of them, at equal steps
OUT/addition-canvas/rope/seed0-time/          the same at equal time, if that is another number of steps
"""

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from digitwise.comparison.cost import cost_of, seconds_of_reference
from digitwise.comparison.setting import TUNED, TUNING_SEED, Setting, named
from digitwise.encodings import Encoding
from digitwise.paper.reproduction import Report, silent
from digitwise.runs.experiment import Experiment
from digitwise.runs.files import locked
from digitwise.runs.folder import Run
from digitwise.sweeps import drive
from digitwise.sweeps.drive import HERE, Where
from digitwise.sweeps.jobs import Exam, Job
from digitwise.sweeps.place import Place
from digitwise.tables import read_json, replacing, rows_to_json

LEAST_STEPS, STEPS = 20, 2000
PARTS = 10
"""Steps at equal time are rounded to tenths of those at equal steps. Two measurements of one
cost differ by about one of them, and at times by more (LOG.md), so one of them is no difference."""


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


def plan_of(where: Setting, root: Path, budget: float | None, steps: int | None, trainings: float, profile: str) -> int:
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


def compare(
    todo: Sequence[tuple[Work, int]],
    seeds: Sequence[int],
    profile: str,
    report: Report = silent,
    on: Where = HERE,
) -> None:
    """Measure, tune, train and test rows, each with its number of steps: first all trials, then the reported runs."""
    trials = [Trials(work, steps, cost_of(work.name, work.where, work.folder, profile)) for work, steps in todo]
    root = todo[0][0].folder.parent.parent
    what = f"{todo[0][0].label}, {todo[0][0].where.name}" if len(todo) == 1 else f"{len(todo)} rows"
    for phase, jobs in {"tune": lambda row: row.tuning(), "train": lambda row: row.reported(seeds)}.items():
        several = [job for row in trials for job in jobs(row)]
        results = drive.run(several, Place(root), on, partial(report, f"{phase} {what}"))
        for name, reason in drive.failures(results).items():
            raise ValueError(f"{root / name}: {reason}")


class Trials(NamedTuple):
    """The runs of a row."""

    work: Work
    steps: int
    cost: dict[str, Any]

    def tuning(self) -> list[Job]:
        """One shorter run per point of the grid."""
        steps = int(TUNED * self.steps)
        return [self._job(home, self._trial(*point, steps, TUNING_SEED)) for point, home in self._points().items()]

    def reported(self, seeds: Sequence[int]) -> list[Job]:
        """Runs with the best point of the grid, at equal steps and at equal time."""
        found = {point: Run.open(folder) for point, folder in self._points().items()}
        best = max(found, key=lambda point: quality(found[point]))
        in_time = steps_in_time(self.steps, self.cost["ratio"])
        tests = tuple(Exam(c.suite, c.lengths, c.problems, "last") for c in self.work.where.checks)
        return [
            self._job(folder, self._trial(*best, count, seed), tests)
            for seed in seeds
            for folder, count in homes(self.work.folder, seed, self.steps, in_time).items()
        ]

    def _points(self) -> dict[tuple[float, float], Path]:
        return {(rate, sharp): self.work.folder / f"tune-{rate:g}-{sharp:g}" for rate, sharp in self.work.where.grid()}

    def _trial(self, rate: float, sharpness: float, steps: int, seed: int) -> Experiment:
        return self.work.where.trial(self.work.encoding, rate, sharpness, steps, seed)

    def _job(self, folder: Path, experiment: Experiment, tests: tuple[Exam, ...] = ()) -> Job:
        return Job(folder.relative_to(self.work.folder.parent.parent).as_posix(), experiment, tests)


def homes(folder: Path, seed: int, steps: int, in_time: int) -> dict[Path, int]:
    """The runs of a seed with their steps: one where equal steps take equal time."""
    equal = {folder / f"seed{seed}": steps}
    return equal if in_time == steps else equal | {folder / f"seed{seed}-time": in_time}


def steps_in_time(steps: int, ratio: float) -> int:
    """How many steps take as long as so many of the reference."""
    part = max(1, steps // PARTS)
    found = max(part, round(steps / ratio / part) * part)
    return steps if abs(found - steps) <= part else found


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
