"""Judging counts: what a claim may ask of results, and how an interval becomes a verdict."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from digitwise.counts import Count, merge, wilson
from digitwise.paper.recipes import arms
from digitwise.runs.folder import Run, home, load_measured

HOLDS, FAILS, INCONCLUSIVE, NOT_RUN = "holds", "fails", "inconclusive", "not run"


class NotRun(Exception):
    """The results that a claim needs are not there."""


@dataclass
class Evidence:
    """Results of recipes below a folder; remembers what was asked, so that a verdict shows its numbers."""

    root: Path
    profile: str = "cpu"
    shown: list[dict[str, Any]] = field(default_factory=list)

    def count(
        self, recipe: str, arm: str, length: int, suite: str = "uniform", stratum: str = "", group: str = "",
        checkpoint: str = "best",
    ) -> Count:  # fmt: skip
        """One cell, added up over seeds, at the last checkpoint or the best on validation (the paper's practice)."""
        found = []
        for run in self.runs(recipe, arm):
            steps = run.select(checkpoint)
            found += [
                count
                for count in run.counts()
                if (count.suite, count.length, count.stratum, count.group) == (suite, length, stratum, group)
                and count.checkpoint in steps
            ]
        if not found:
            raise NotRun(f"{recipe} has no counts of {suite} at {length} digits")
        total = merge(found, by=lambda count: "")[""]
        what = " ".join(part for part in (recipe, suite if suite != "uniform" else "", stratum, group) if part)
        self.shown.append({
            "what": f"{what}, {length} digits, {checkpoint}", "accuracy": round(total.accuracy, 4),
            "interval": [round(bound, 4) for bound in total.interval], "n": total.tried, "seeds": len(found),
        })  # fmt: skip
        return total

    def by_checkpoint(self, recipe: str, arm: str, length: int) -> dict[int, float]:
        """Accuracy at a length of every kept checkpoint, seeds added up."""
        found = [
            count
            for run in self.runs(recipe, arm)
            for count in run.counts()
            if (count.suite, count.length, count.stratum, count.group) == ("uniform", length, "", "")
        ]
        return {step: count.accuracy for step, count in merge(found, by=lambda count: count.checkpoint).items()}

    def measured(self, recipe: str) -> list[dict[str, Any]]:
        """What a recipe measured on weights."""
        rows = load_measured(self.root / recipe)
        if rows is None:
            raise NotRun(f"{recipe} has not been run")
        return rows

    def show(self, what: str, values: Sequence[float], n: int, seeds: int) -> float:
        """The mean of one number a seed or layer, shown with the lowest and the highest."""
        mean = sum(values) / len(values)
        self.shown.append({
            "what": what, "mean": round(mean, 4), "interval": [round(min(values), 4), round(max(values), 4)],
            "n": n, "seeds": seeds,
        })  # fmt: skip
        return mean

    def runs(self, recipe: str, arm: str) -> list[Run]:
        experiment = arms(recipe, self.profile)[arm]
        folder = home(self.root, arm, experiment).parent
        runs = [Run.open(path.parent) for path in sorted(folder.glob(f"{arm}-seed*/config.json"))]
        runs = [run for run in runs if run.finished and run.counts()]
        if not runs:
            raise NotRun(f"{recipe} has not been run")
        return runs


def at_least(count: Count, bound: float) -> str:
    low, high = count.interval
    return HOLDS if low >= bound else FAILS if high < bound else INCONCLUSIVE


def at_most(count: Count, bound: float) -> str:
    low, high = count.interval
    return HOLDS if high <= bound else FAILS if low > bound else INCONCLUSIVE


def above(better: Count, worse: Count, by: float = 0.0) -> str:
    """Is the difference of two accuracies above `by`? Newcombe's interval for a difference of proportions."""
    difference = better.accuracy - worse.accuracy
    (low_b, high_b), (low_w, high_w) = (wilson(count.correct, count.tried) for count in (better, worse))
    low = difference - ((better.accuracy - low_b) ** 2 + (high_w - worse.accuracy) ** 2) ** 0.5
    high = difference + ((high_b - better.accuracy) ** 2 + (worse.accuracy - low_w) ** 2) ** 0.5
    return HOLDS if low > by else FAILS if high <= by else INCONCLUSIVE


def within(count: Count, reference: Count, points: float) -> str:
    """Is an accuracy at most so far below the reference?"""
    return {HOLDS: FAILS, FAILS: HOLDS}.get(above(reference, count, points), INCONCLUSIVE)


def all_of(*verdicts: str) -> str:
    """Holds if all hold, fails if one fails."""
    return FAILS if FAILS in verdicts else INCONCLUSIVE if INCONCLUSIVE in verdicts else HOLDS


@dataclass(frozen=True)
class Claim:
    name: str
    statement: str
    """The paper's finding, in our words."""
    judged: str
    """The predicate that is judged here, in words; says where it is scaled down."""
    recipes: tuple[str, ...]
    judge: Callable[[Evidence], str]

    def verdict(self, root: Path, profile: str = "cpu") -> dict[str, Any]:
        evidence, why = Evidence(root, profile), ""
        try:
            verdict = self.judge(evidence)
        except NotRun as missing:
            verdict, why = NOT_RUN, str(missing)
        return {
            "claim": self.name, "paper": self.statement, "judged": self.judged, "verdict": verdict,
            **({"why": why} if why else {}), "measured": evidence.shown,
            "command": f"digitwise reproduce {' '.join(self.recipes)} --profile {profile}",
        }  # fmt: skip
