"""Commands that train, test and draw models."""

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from digitwise.cli.science import marked
from digitwise.cli.terminal import Bar, parse_numbers, show

if TYPE_CHECKING:
    from digitwise.runs.folder import Run


def train(options: argparse.Namespace) -> int | None:
    from digitwise.config import describe, did_you_mean, override
    from digitwise.paper import arms
    from digitwise.runs.experiment import CHOICES
    from digitwise.runs.folder import Run, home, is_main_process, refuse_taken
    from digitwise.runs.training import Stopped
    from digitwise.runs.training import train as run_training

    if options.resume is not None:
        if options.recipe or options.changes:
            raise ValueError("--resume goes on with a run as it is: leave out the recipe and its fields")
        pending = [partial(Run.open, options.resume)]
    else:
        if options.recipe is None:
            raise ValueError("name a recipe (digitwise ls recipes) or a run to --resume")
        chosen = arms(options.recipe, options.profile)
        if options.arm is not None and options.arm not in chosen:
            raise ValueError(f"no arm '{options.arm}' in {options.recipe}{did_you_mean(options.arm, chosen)}")
        chosen = {arm: e for arm, e in chosen.items() if options.arm in (None, arm)}
        experiments = {arm: override(e, options.changes, CHOICES) for arm, e in chosen.items()}
        if options.show:
            show(options, {arm: describe(e) for arm, e in experiments.items()}, [
                {"arm": arm, "field": path, "value": str(value)}
                for arm, e in experiments.items() for path, value in flat(describe(e)).items()
            ])  # fmt: skip
            return None
        for arm, experiment in experiments.items():
            refuse_taken(home(options.out, arm, experiment))  # all of them before anything is written
        pending = [partial(Run.create, home(options.out, arm, e), e) for arm, e in experiments.items()]
    bar, runs = Bar(), []
    for begin in pending:
        run = begin()
        runs.append(run)
        try:
            run_training(run, bar.of_training(run))
        except Stopped as stopped:
            bar.close()
            print(f"stopped at step {stopped}: go on with digitwise train --resume {run.folder}", file=sys.stderr)
            return 130
    bar.close()
    if not is_main_process():
        return None
    document = [
        {
            "run": str(run.folder),
            "steps": run.experiment.training.steps,
            "loss": next(row["loss"] for row in reversed(run.metrics()) if "loss" in row),
            "validation": run.validation()[run.select("last")[0]],
            "best checkpoint": run.best(),
            "seconds": run.seconds(),
        }
        for run in runs
    ]
    show(options, document, document, f"test them: digitwise eval {' '.join(str(run.folder) for run in runs)}")
    return None


def flat(value: Any, prefix: str = "") -> dict[str, Any]:
    """Nested dictionaries with dotted names."""
    if not isinstance(value, dict):
        return {prefix: value}
    return {k: v for name, item in value.items() for k, v in flat(item, f"{prefix}.{name}" if prefix else name).items()}


def evaluate(options: argparse.Namespace) -> None:
    from digitwise.config import lookup
    from digitwise.counts import Count
    from digitwise.data import SUITES
    from digitwise.runs.evaluation import evaluate as run_evaluation
    from digitwise.runs.folder import Run

    lengths = parse_numbers(options.lengths, "--lengths") if options.lengths is not None else None
    runs = [Run.open(folder) for folder in options.runs]
    suite = lookup(options.suite, SUITES, "suite")
    for run in runs:  # what does not fit one of them is refused before the first is tested
        suite.strata(run.experiment.task, lengths or run.experiment.testing.lengths)
    bar, rows = Bar(), []

    def row(run: "Run", count: Count) -> dict[str, Any]:
        low, high = count.interval
        return {
            "run": str(run.folder),
            "checkpoint": count.checkpoint,
            "which": run.titles(count.checkpoint),
            "suite": count.suite,
            "version": count.version,
            "digits": count.length,
            "stratum": count.stratum,
            "group": count.group,
            "problems": count.tried,
            "correct": count.correct,
            "exact match": round(count.accuracy, 4),
            "95%": [round(low, 4), round(high, 4)],
        }

    for run in runs:
        found = run_evaluation(
            run, suite, lengths, options.problems, options.seed, options.checkpoints, bar.of_evaluation(run)
        )
        rows += [row(run, count) for count in found]
    bar.close()
    dull = [name for name in ("stratum", "group") if not any(row[name] for row in rows)]
    rows = [{name: value for name, value in row.items() if name not in dull} for row in rows]
    show(options, rows, rows, f"draw them: digitwise figure {' '.join(map(str, options.runs))}")


def ls(options: argparse.Namespace) -> None:
    def first_line(thing: Any) -> str:
        return " ".join((thing.__doc__ or "").split("\n\n")[0].split())

    rows: list[dict[str, Any]]
    if options.what == "runs":
        from digitwise.runs.folder import find_runs

        rows = [
            {
                "run": str(run.folder),
                "encoding": type(run.experiment.encoding).__name__.lower(),
                "seed": run.experiment.seed,
                "steps": f"{max(run.checkpoints(), default=0)}/{run.experiment.training.steps}",
                "validation": max(run.validation().values(), default=None),
            }
            for run in find_runs(options.out)
        ]
    elif options.what == "suites":
        from digitwise.data import SUITES

        rows = [{"name": s.name, "version": s.version, "what": s.description} for s in SUITES.values()]
    else:
        from digitwise.data import DISTRIBUTIONS
        from digitwise.encodings import ENCODINGS
        from digitwise.models import ARCHITECTURES
        from digitwise.paper import RECIPES
        from digitwise.tasks import TASKS

        things: dict[str, Any] = {
            "recipes": RECIPES, "tasks": TASKS, "encodings": ENCODINGS, "distributions": DISTRIBUTIONS,
            "architectures": ARCHITECTURES,
        }  # fmt: skip
        rows = [
            {"name": name, "what": getattr(thing, "what", None) or first_line(thing)}
            for name, thing in things[options.what].items()
        ]
    show(options, rows, rows)


def figure(options: argparse.Namespace) -> None:
    from digitwise.config import lookup
    from digitwise.data import SUITES
    from digitwise.runs import results
    from digitwise.runs.folder import Run

    for name in map(str, options.runs):
        if name in ("complexity", "theory") and not Path(name).exists():
            raise ValueError(f"figure draws run folders, and '{name}' is a recipe: digitwise reproduce {name}")
    runs = [Run.open(folder) for folder in options.runs]
    by = options.by or ("run" if len(runs) > 1 else "checkpoint")
    curves = []
    suite = lookup(options.suite, SUITES, "suite")
    for run in runs:
        counts = [c for c in run.counts() if (c.suite, c.version, c.group) == (suite.name, suite.version, "")]
        if not counts:
            hint = f"digitwise eval {run.folder} --suite {suite.name}"
            raise ValueError(f"{run.folder} has not been tested on {suite.name} v{suite.version}: {hint}")
        steps = sorted({count.checkpoint for count in counts})
        for step in steps if by == "checkpoint" else steps[-1:]:
            name = run.folder.name if len(runs) > 1 or by == "run" else ""
            title = f"step {step} {run.titles(step)}".strip() if by == "checkpoint" else ""
            label = ", ".join(part for part in (name, title) if part)
            curves += results.by_kind(label, [count for count in counts if count.checkpoint == step])
    lengths = {run.experiment.trained_length for run in runs}
    path = results.draw(
        curves,
        options.to or runs[0].folder / f"{suite.name}.png",
        title=f"Exact match on the {suite.name} suite",
        trained=lengths.pop() if len(lengths) == 1 else None,
    )
    show(options, {"figure": str(path), "curves": [curve.label for curve in curves]}, None, str(path))


def reproduce(options: argparse.Namespace) -> int | None:
    from digitwise.paper import RECIPES, find
    from digitwise.paper.claims import CLAIMS
    from digitwise.paper.reproduction import reproduce as run_recipe
    from digitwise.runs.training import Stopped

    if bool(options.recipes) == options.all:
        raise ValueError(f"name one or more recipes, or say --all; there are {', '.join(RECIPES)}")
    seeds = None if options.seeds is None else parse_numbers(options.seeds, "--seeds")
    names = list(RECIPES) if options.all else options.recipes
    for name in names:
        find(name)
    bar, results = Bar(), []

    try:
        for name in names:
            result = run_recipe(name, options.profile, seeds, options.out, bar)
            results.append(result | {"claims": CLAIMS.verdicts(options.out, options.profile, name)})
    except Stopped:
        bar.close()
        print("stopped: the same command goes on from here", file=sys.stderr)
        return 130
    bar.close()
    if options.json:
        show(options, results if len(results) > 1 else results[0])
        return None
    for result in results:
        if "rows" in result:
            show(options, result, result["rows"])
        else:
            show(options, result, result["last"], "last checkpoint")
            if not options.csv and result["best on validation"] != result["last"]:
                show(options, result, result["best on validation"], "best checkpoint on validation")
        if not options.csv:
            print(f"plots: {' '.join(result['figures'])}")
            if result["runs"]:
                print(f"runs: {' '.join(result['runs'])}")
            for row in result["claims"]:
                print(f"claim {row['claim']} {marked(row)}: {row['judged']}")
    return None


def bench(options: argparse.Namespace) -> None:
    from digitwise.cli import bench as benchmarks

    if options.what in ("data", "samplers"):
        rows = benchmarks.data() if options.what == "data" else benchmarks.samplers()
        show(options, rows, rows)
    else:
        result = benchmarks.step()
        show(options, result, [{"measure": k, "value": v} for k, v in result.items()])
