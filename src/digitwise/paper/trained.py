"""The runs of a recipe, trained: here, or on a cluster."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from pathlib import Path

from digitwise.paper.recipes import Recipe
from digitwise.runs.experiment import Experiment
from digitwise.runs.folder import Run, open_or_create
from digitwise.runs.places import home
from digitwise.sweeps import drive
from digitwise.sweeps.drive import HERE, Where
from digitwise.sweeps.jobs import Exam, Job
from digitwise.sweeps.place import Place

#: `report(what, done, total, note)`: how far a piece of work has come.
Report = Callable[[str, int, int, str], None]
Runs = dict[str, list[Run]]  # by arm, one run per seed

MOST_CURVES = 5


def silent(what: str, done: int, total: int, note: str) -> None:
    pass


def train_recipe(
    recipe: Recipe, profile: str, seeds: Sequence[int] | None, root: Path, report: Report = silent, on: Where = HERE
) -> Runs:
    """Return the finished runs of every arm and seed of a recipe. Without `seeds` every arm has the recipe's. On a
    cluster runs are tested there, too."""
    jobs: dict[str, list[Job]] = {arm: [] for arm in recipe.arms(profile)}
    for arm, experiment in recipe.arms(profile).items():
        for seed in recipe.seeds_in(profile, arm) if seeds is None else seeds:
            seeded = replace(experiment, seed=seed)
            tests = () if on.name == "here" else tests_of(recipe, profile, seeded)
            jobs[arm].append(Job(home(Path(), arm, seeded).as_posix(), seeded, tests))
    in_order = [job for together in zip_longest(*jobs.values()) for job in together if job]  # arms take turns
    for job in in_order:
        if (root / job.name / "config.json").exists():
            open_or_create(root / job.name, job.experiment)  # refuses what another profile has left there
    results = drive.run(in_order, Place(root), on, partial(report, f"train {recipe.name}"))
    for name, reason in drive.failures(results).items():
        raise ValueError(f"{root / name}: {reason}")
    return {arm: [Run.open(root / job.name) for job in group] for arm, group in jobs.items()}


def tests_of(recipe: Recipe, profile: str, experiment: Experiment) -> tuple[Exam, ...]:
    """What `check` tests, as far as it is known before the training."""
    training = experiment.training
    known = recipe.curves == "checkpoints" and not training.until_proven
    checkpoints = ",".join([recipe.checkpoints, *map(str, spaced(training.kept_steps) if known else [])])
    checks = [] if recipe.analysis else recipe.checks_in(profile)
    return tuple(Exam(check.suite, check.lengths, check.problems, checkpoints) for check in checks)


def spaced(steps: Sequence[int]) -> list[int]:
    """Some of many checkpoints, for the curves of a figure."""
    return sorted({steps[round(i * (len(steps) - 1) / (MOST_CURVES - 1))] for i in range(MOST_CURVES)})
