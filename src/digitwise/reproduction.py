"""From the name of a recipe to its trained, tested and drawn result. What is finished is not done again."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from digitwise import figures
from digitwise.counts import Count, merge
from digitwise.evaluation import evaluate
from digitwise.experiment import Experiment
from digitwise.recipes import arms
from digitwise.runs import Run, home
from digitwise.training import train

#: `report(what, done, total, note)`: how far a piece of work has come.
Report = Callable[[str, int, int, str], None]


def silent(what: str, done: int, total: int, note: str) -> None:
    pass


def open_or_create(folder: Path, experiment: Experiment) -> Run:
    """The run of an experiment in a folder; a folder with another experiment is refused."""
    if not (folder / "config.json").exists():
        return Run.create(folder, experiment)
    run = Run.open(folder)
    if run.experiment != experiment:
        raise ValueError(f"{folder} holds another experiment: choose another --out, or remove it")
    return run


def train_recipe(
    name: str, profile: str, seeds: Sequence[int], root: Path, report: Report = silent
) -> dict[str, list[Run]]:
    """The finished runs of every arm and seed of a recipe."""
    chosen = arms(name, profile)
    runs: dict[str, list[Run]] = {arm: [] for arm in chosen}
    total = sum(experiment.training.steps for experiment in chosen.values()) * len(seeds)
    before = 0
    for seed in seeds:
        for arm, experiment in chosen.items():
            seeded = replace(experiment, seed=seed)
            run = open_or_create(home(root, arm, seeded), seeded)

            def tell(step: int, loss: float, before: int = before, label: str = f"{arm}, seed {seed}") -> None:
                report(f"train {name}", before + step, total, f"{label}, loss {loss:.4f}")

            train(run, tell)
            before += experiment.training.steps
            report(f"train {name}", before, total, f"{arm}, seed {seed} done")
            runs[arm].append(run)
    return runs


def reproduce(
    name: str, profile: str = "cpu", seeds: Sequence[int] = (0,), root: Path = Path("runs"), report: Report = silent
) -> dict[str, Any]:
    """Train what is missing, test, draw. Returns the table and the paths of what was written."""
    runs = train_recipe(name, profile, seeds, root, report)
    everything = [run for group in runs.values() for run in group]
    for index, run in enumerate(everything):
        evaluate(run, checkpoints="last,best")
        report(f"test {name}", index + 1, len(everything), run.folder.name)
    first = everything[0].experiment
    trained = first.data.width(first.task.canvas)
    figure = figures.accuracy(
        [figures.by_length(arm, results(group, "last")) for arm, group in runs.items()],
        root / name / "accuracy.png",
        title=f"{name}: trained on at most {trained} digits; last checkpoint; {len(seeds)} seed(s)",
        trained=trained,
    )
    return {
        "recipe": name,
        "profile": profile,
        "seeds": list(seeds),
        "last": side_by_side(runs, "last"),
        "best on validation": side_by_side(runs, "best"),
        "figure": str(figure),
        "runs": {str(run.folder): {"seconds": run.seconds()} for run in everything},
    }


def results(runs: Sequence[Run], checkpoint: str, suite: str = "uniform") -> list[Count]:
    """The counts of the last or best checkpoint of several runs."""
    return [
        c
        for run in runs
        for c in run.counts()
        if c.suite == suite and not c.group and c.checkpoint in run.select(checkpoint)
    ]


def side_by_side(runs: dict[str, list[Run]], checkpoint: str) -> list[dict[str, Any]]:
    """A row for each length, with exact match and interval of each arm, added up over its seeds."""
    cells = {arm: merge(results(group, checkpoint), by=lambda count: count.length) for arm, group in runs.items()}
    rows = []
    for length in sorted({length for found in cells.values() for length in found}):
        row: dict[str, Any] = {"digits": length, "problems": max(found[length].tried for found in cells.values())}
        for arm, found in cells.items():
            row |= {arm: round(found[length].accuracy, 4), f"{arm} 95%": [round(x, 4) for x in found[length].interval]}
        rows.append(row)
    return rows
