"""From the name of a recipe to its trained, tested and drawn result. What is finished is not done again."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from digitwise import theory
from digitwise.counts import Count, merge
from digitwise.paper import fixed_map, maps
from digitwise.paper import law_figures as complexity_figures
from digitwise.paper.recipes import Recipe, arms, find
from digitwise.runs import figures
from digitwise.runs.evaluation import evaluate
from digitwise.runs.experiment import Experiment
from digitwise.runs.figures import Curve
from digitwise.runs.folder import Run, home, load_measured, save_measured
from digitwise.runs.training import train

#: `report(what, done, total, note)`: how far a piece of work has come.
Report = Callable[[str, int, int, str], None]
Runs = dict[str, list[Run]]  # by arm, one for each seed

MOST_CURVES = 5

Analysis = Callable[[Runs, Sequence[int], Path], tuple[list[dict[str, Any]], list[Path]]]
ANALYSES: dict[str, Analysis] = {
    "maps": lambda runs, _, folder: maps.analyse(runs, folder),
    "fixed-map": lambda runs, _, folder: fixed_map.analyse(runs, folder),
    "theory": lambda _, seeds, folder: (theory.table(seeds), theory.figures(folder)),
    "complexity": lambda *rest: (complexity_figures.report()["laws"], complexity_figures.draw(rest[-1])),
}


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


def train_recipe(name: str, profile: str, seeds: Sequence[int], root: Path, report: Report = silent) -> Runs:
    """The finished runs of every arm and seed of a recipe."""
    chosen = arms(name, profile)
    runs: Runs = {arm: [] for arm in chosen}
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
    name: str,
    profile: str = "cpu",
    seeds: Sequence[int] | None = None,
    root: Path = Path("runs"),
    report: Report = silent,
) -> dict[str, Any]:
    """Train what is missing, test, draw. Returns the table and the paths of what was written. Without `seeds` the
    recipe says how many."""
    recipe = find(name)
    seeds = range(recipe.seeds if profile == "cpu" else 1) if seeds is None else seeds
    runs = train_recipe(name, profile, seeds, root, report)
    everything = [run for group in runs.values() for run in group]
    if recipe.analysis:
        return {"recipe": name, "profile": profile, "seeds": list(seeds)} | analyse(recipe, runs, seeds, root / name)
    for index, run in enumerate(everything):
        shown = _shown(run) if recipe.curves == "checkpoints" else []
        checkpoints = ",".join([recipe.checkpoints, *map(str, shown)])
        for test in recipe.tests_in(profile):
            evaluate(run, test.suite, test.lengths, test.problems, checkpoints=checkpoints)
        report(f"test {name}", index + 1, len(everything), run.folder.name)
    return {
        "recipe": name,
        "profile": profile,
        "seeds": list(seeds),
        "last": side_by_side(runs, recipe, "last"),
        "best on validation": side_by_side(runs, recipe, "best"),
        "figures": [str(path) for path in draw(runs, recipe, root / name)],
        "runs": {str(run.folder): {"seconds": run.seconds()} for run in everything},
    }


def analyse(recipe: Recipe, runs: Runs, seeds: Sequence[int], folder: Path) -> dict[str, Any]:
    """Measure unless these runs have been measured. The rows are kept, since weights are not always at hand later."""
    everything = [run for group in runs.values() for run in group]
    of = [f"{run.folder.parent.name}/{run.folder.name}" for run in everything] or [f"seed {seed}" for seed in seeds]
    rows = load_measured(folder, of)
    if rows is None:
        rows, _ = ANALYSES[recipe.analysis](runs, seeds, folder)
        save_measured(folder, of, rows)
    short = [{k: v for k, v in row.items() if not isinstance(v, list | dict) or len(v) < 9} for row in rows]
    return {
        "rows": short,
        "figures": [str(path) for path in sorted(folder.glob("*.png"))],
        "runs": {str(run.folder): {"seconds": run.seconds()} for run in everything},
    }


def results(runs: Sequence[Run], checkpoint: str, suite: str = "uniform") -> list[Count]:
    """Whole answers of the chosen checkpoints of several runs."""
    return [
        count
        for run in runs
        for count in run.counts()
        if count.suite == suite and not count.group and count.checkpoint in run.select(checkpoint)
    ]


def side_by_side(runs: Runs, recipe: Recipe, checkpoint: str) -> list[dict[str, Any]]:
    """A row for each suite, length and stratum, with exact match and interval of each arm, added up over its seeds."""
    rows: dict[tuple, dict[str, Any]] = {}
    for suite in dict.fromkeys(test.suite for test in recipe.tests):
        for arm, group in runs.items():
            cells = merge(
                results(group, checkpoint, suite), by=lambda count: (count.suite, count.length, count.stratum)
            )
            for key, cell in cells.items():
                if key not in rows:
                    labels = {"suite": suite, "digits": cell.length, "stratum": cell.stratum, "problems": cell.tried}
                    rows[key] = {name: value for name, value in labels.items() if value != "" and value != "uniform"}
                rows[key]["problems"] = max(rows[key]["problems"], cell.tried)
                interval = [round(bound, 4) for bound in cell.interval]
                rows[key] |= {arm: round(cell.accuracy, 4), f"{arm} 95%": interval}
    return list(rows.values())


def draw(runs: Runs, recipe: Recipe, folder: Path) -> list[Path]:
    """A curve for each arm, for each of several checkpoints, or a figure a suite with one for each kind of stratum."""
    first = next(iter(runs.values()))[0].experiment
    trained = first.trained_length
    seeds = len(next(iter(runs.values())))
    title = f"{recipe.name}: trained on at most {trained} digits, {seeds} seed{'s' * (seeds > 1)}"
    path = folder / "accuracy.png"
    if recipe.curves == "checkpoints":
        return [figures.accuracy(_checkpoint_curves(runs), path, title, trained)]
    if recipe.curves == "strata":
        paths = []
        for suite in (test.suite for test in recipe.tests if test.suite != "uniform"):
            curves = _stratum_curves(runs, suite)
            length = max(count.length for curve in curves for count in curve.points.values())
            named = f"{title}, tested on {length}"
            paths.append(figures.accuracy(curves, folder / f"{suite}.png", named, xlabel="columns"))
        return paths
    suite = recipe.tests[0].suite
    curves = [figures.by_length(f"{arm}, last", results(group, "last", suite)) for arm, group in runs.items()]
    curves += [
        figures.by_length(f"{arm}, best on validation", results(group, "best", suite))
        for arm, group in runs.items()
        if any(run.select("last") != run.select("best") for run in group)
    ]
    return [figures.accuracy(curves, path, title, trained)]


def _checkpoint_curves(runs: Runs) -> list[Curve]:
    """Evenly spaced checkpoints of the first arm, added up over seeds."""
    group = next(iter(runs.values()))
    return [figures.by_length(f"step {step}", results(group, str(step))) for step in _shown(group[0])]


def _shown(run: Run) -> list[int]:
    steps = run.checkpoints()
    return sorted({steps[round(i * (len(steps) - 1) / (MOST_CURVES - 1))] for i in range(MOST_CURVES)})


def _stratum_curves(runs: Runs, suite: str) -> list[Curve]:
    """Strata are called "kind number more": a curve over the numbers for each arm, kind and more."""
    curves: dict[str, list[Count]] = {}
    for arm, group in runs.items():
        for count in results(group, "last", suite):
            kind, _, more = (
                count.stratum.split(" ", 2) if count.stratum.count(" ") > 1 else (*count.stratum.split(), "")
            )
            label = f"{kind} {more}".strip()
            curves.setdefault(f"{arm}, {label}" if len(runs) > 1 else label, []).append(count)
    return [
        Curve(label, dict(sorted(merge(counts, by=lambda count: int(count.stratum.split()[1])).items())))
        for label, counts in curves.items()
    ]
