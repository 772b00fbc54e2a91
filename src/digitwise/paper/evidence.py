"""Judging counts: what a claim may ask of results, and how an interval becomes a verdict."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean, median
from typing import Any

from digitwise.counts import Count, Numbered, OverSeeds, WeightedSum, merge, value_of
from digitwise.paper import Arms, arms
from digitwise.runs.experiment import Experiment
from digitwise.runs.folder import Run
from digitwise.runs.places import home
from digitwise.runs.results import load_measured

HOLDS, FAILS, INCONCLUSIVE, NOT_RUN = "holds", "fails", "inconclusive", "not run"

Rows = list[dict[str, Any]]
Number = OverSeeds | WeightedSum


class NotRun(Exception):
    """The results that a claim needs are not there."""


class ReadOnce(Run):
    """A run whose files are read once, for results that do not change meanwhile."""

    def metrics(self) -> Rows:
        return self._metrics

    @cached_property
    def _metrics(self) -> Rows:
        return super().metrics()

    @cached_property
    def cells(self) -> dict[tuple[str, int, str, str, int], Count]:
        """All counts by suite, length, stratum, group and checkpoint; those of several test seeds are added up."""
        return merge(self.counts(), by=lambda c: (c.suite, c.length, c.stratum, c.group, c.checkpoint))

    @cached_property
    def steps(self) -> dict[str, int]:
        """Kept checkpoints by name: `last`, `best` on validation, and every step."""
        kept = self.checkpoints()
        return {str(step): step for step in kept} | ({"last": kept[-1], "best": self.best()} if kept else {})


@dataclass
class Evidence:
    """Results of recipes below a folder. Each file is read once; `shown` remembers the numbers that were asked for."""

    root: Path
    profile: str = "cpu"
    shown: Rows = field(default_factory=list)
    _runs: dict[Path, list[ReadOnce]] = field(default_factory=dict, repr=False)
    _rows: dict[str, Rows | None] = field(default_factory=dict, repr=False)

    def accuracy(
        self, recipe: str, length: int, suite: str = "uniform", stratum: Numbered | str = "",
        group: Numbered | str = "", arm: str = "", checkpoint: str = "best",
    ) -> OverSeeds:  # fmt: skip
        """One cell of every seed, at the last checkpoint or the best on validation (the paper's practice)."""
        runs, cell = self.runs(recipe, arm), (suite, length, str(stratum), str(group))
        by_seed: dict[int, Count | float] = {
            run.experiment.seed: run.cells[*cell, run.steps[checkpoint]]
            for run in runs
            if checkpoint in run.steps and (*cell, run.steps[checkpoint]) in run.cells
        }
        if not by_seed:
            raise NotRun(f"{recipe} has no counts of {suite} at {length} digits")
        kind = str(group or stratum) or (suite if suite not in ("uniform", recipe) else "")
        digits = f"{length} digit{'s' * (length > 1)}"
        when = f"step {checkpoint}" if checkpoint.isdecimal() else checkpoint
        label = ", ".join(part for part in (f"{recipe} {arm}".strip(), kind, digits, when) if part)
        return self.show(label, OverSeeds(_method(runs[0]), by_seed))

    def by_checkpoint(self, recipe: str, length: int) -> dict[int, float]:
        """The median over seeds of the accuracy at a length, for every checkpoint that all seeds were tested at."""
        runs, cell = self.runs(recipe), ("uniform", length, "", "")
        tested = [{step for step in run.steps.values() if (*cell, step) in run.cells} for run in runs]
        steps = sorted(set.intersection(*tested))
        if not steps:
            raise NotRun(f"{recipe} has no counts of uniform at {length} digits")
        return {step: median(run.cells[*cell, step].accuracy for run in runs) for step in steps}

    def measured(
        self, recipe: str, what: str, value: Callable[[Rows], Count | float], /, **where: str | int
    ) -> OverSeeds:  # fmt: skip
        """What `value` makes of the rows that a recipe measured on weights, of each seed by itself. `where` chooses
        rows by their fields."""
        by_seed: dict[int, Rows] = {}
        for row in self.rows(recipe):
            if all(row[name] == wanted for name, wanted in where.items()):
                by_seed.setdefault(row["seed"], []).append(row)
        if not by_seed:
            raise NotRun(f"{recipe} has no rows of {', '.join(map(str, where.values()))}")
        method = str(where.get("recipe", recipe))
        return self.show(what, OverSeeds(method, {seed: value(rows) for seed, rows in by_seed.items()}))

    def rows(self, recipe: str) -> Rows:
        """What a recipe measured on weights, those of other profiles and other stages left out."""
        if recipe not in self._rows:
            found = load_measured(self.root / recipe)
            self._rows[recipe] = found and [row for row in found if self._belongs(row, arms(recipe, self.profile))]
        rows = self._rows[recipe]
        if rows is None:
            raise NotRun(f"{recipe} has not been run")
        return rows

    def _belongs(self, row: dict[str, Any], chosen: Arms) -> bool:
        """Whether the run that was measured, if it is there, was trained as the recipe says."""
        folder = self.root / row.get("run", "")
        if not (folder / "config.json").exists():
            return True
        arm = folder.name.rpartition("-seed")[0]
        return arm in chosen and _trained_alike(Run.open(folder).experiment, chosen[arm])

    def runs(self, recipe: str, arm: str = "") -> list[ReadOnce]:
        """The finished runs of an arm, one per seed. A recipe with one arm needs no name of it."""
        chosen = arms(recipe, self.profile)
        arm = arm or next(iter(chosen))
        folder = home(self.root, arm, chosen[arm]).parent
        if folder / arm not in self._runs:
            opened = [Run.open(path.parent) for path in folder.glob(f"{arm}-seed*/config.json")]
            found = [ReadOnce(run.folder, run.experiment) for run in opened]
            found = [run for run in found if _trained_alike(run.experiment, chosen[arm])]
            finished = [run for run in found if run.finished and run.cells]
            self._runs[folder / arm] = sorted(finished, key=lambda run: run.experiment.seed)
        if not self._runs[folder / arm]:
            raise NotRun(f"{recipe} has not been run")
        return self._runs[folder / arm]

    def show(self, what: str, number: OverSeeds) -> OverSeeds:
        """Remember a number: median and mean over seeds, the interval over seeds, every seed with its own interval."""
        counts = [measured for measured in number.by_seed.values() if isinstance(measured, Count)]
        self.shown.append({
            "what": what, "median": round(number.median, 4), "mean": round(fmean(number.values), 4),
            "interval": rounded(number.interval),
            "seeds": {str(seed): _own(measured) for seed, measured in number.by_seed.items()},
            **({"problems per seed": min(count.tried for count in counts)} if counts else {}),
        })  # fmt: skip
        return number


def _trained_alike(one: Experiment, other: Experiment) -> bool:
    """Results of another profile, or of other stages, are other results."""
    other = replace(other, seed=one.seed)
    return (one.architecture, one.training, one.after) == (other.architecture, other.training, other.after)


def _own(measured: Count | float) -> dict[str, Any]:
    own = {"interval": rounded(measured.interval)} if isinstance(measured, Count) else {}
    return {"value": round(value_of(measured), 4)} | own


def _method(run: Run) -> str:
    """Networks that differ in their seed only are of one method."""
    return f"{run.folder.parent.name}/{run.folder.name.rpartition('-seed')[0]}"


def rounded(interval: Sequence[float]) -> list[float]:
    return [round(bound, 4) for bound in interval]


def at_least(number: Number, bound: float) -> str:
    low, high = number.interval
    return HOLDS if low >= bound else FAILS if high < bound else INCONCLUSIVE


def at_most(number: Number, bound: float) -> str:
    low, high = number.interval
    return HOLDS if high <= bound else FAILS if low > bound else INCONCLUSIVE


def above(better: OverSeeds, worse: OverSeeds, by: float = 0.0) -> str:
    """Is the difference of two accuracies above `by`, for every pair of seeds, or in one method for every seed?"""
    low, high = (better - worse).interval
    return HOLDS if low > by else FAILS if high <= by else INCONCLUSIVE


def within(number: OverSeeds, reference: OverSeeds, points: float) -> str:
    """Is an accuracy at most so far below the reference?"""
    return at_most(reference - number, points)


def all_of(*verdicts: str) -> str:
    """Holds if all hold, fails if one fails."""
    return FAILS if FAILS in verdicts else INCONCLUSIVE if INCONCLUSIVE in verdicts else HOLDS


def most_of(*verdicts: str) -> str:
    """Holds if more than half hold, fails if at least half fail."""
    if 2 * verdicts.count(HOLDS) > len(verdicts):
        return HOLDS
    return FAILS if 2 * verdicts.count(FAILS) >= len(verdicts) else INCONCLUSIVE


Judge = Callable[[Evidence], str]


@dataclass(frozen=True)
class Claim:
    name: str
    statement: str
    """The paper's finding, in our words."""
    judged: str
    """The predicate that is judged here, in words; says where it is scaled down."""
    recipes: tuple[str, ...]
    judge: Judge

    def verdict(self, evidence: Evidence) -> dict[str, Any]:
        """The verdict with its numbers. It rests on one seed if one of its numbers does."""
        evidence.shown, why = [], ""
        try:
            verdict = self.judge(evidence)
        except NotRun as missing:
            verdict, why = NOT_RUN, str(missing)
        one_seed = verdict != NOT_RUN and any(len(row["seeds"]) == 1 for row in evidence.shown)
        return {
            "claim": self.name, "paper": self.statement, "judged": self.judged, "verdict": verdict,
            "one seed": one_seed, **({"why": why} if why else {}), "measured": evidence.shown,
            "command": f"digitwise reproduce {' '.join(self.recipes)} --profile {evidence.profile}",
        }  # fmt: skip


class Claims(list[Claim]):
    """Claims in the order of the page."""

    def add(self, name: str, statement: str, judged: str, *recipes: str) -> Callable[[Judge], Judge]:
        """Decorate a predicate: it becomes the next claim."""

        def decorate(judge: Judge) -> Judge:
            self.append(Claim(name, statement, judged, recipes, judge))
            return judge

        return decorate

    def verdicts(self, root: Path, profile: str = "cpu", recipe: str = "") -> Rows:
        """Judge all claims, or those about one recipe, by the results below a folder."""
        if not Path(root).is_dir():
            raise ValueError(f"there is no folder {root} to judge the results of")
        evidence = Evidence(root, profile)
        return [claim.verdict(evidence) for claim in self if not recipe or recipe in claim.recipes]
