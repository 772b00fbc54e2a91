"""Commands that train, test and draw models."""

import argparse
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from digitwise import tables
from digitwise.cli import pages, proof
from digitwise.cli.science import marked
from digitwise.cli.sweep import where
from digitwise.cli.terminal import Bar, parse_numbers, show

if TYPE_CHECKING:
    from digitwise.runs.evaluation import Predicted
    from digitwise.runs.experiment import Experiment
    from digitwise.runs.folder import Run


def train(options: argparse.Namespace) -> int | None:
    from digitwise.config import describe, did_you_mean
    from digitwise.paper import arms
    from digitwise.runs.folder import Run, is_main_process, refuse_taken
    from digitwise.runs.places import home, seconds
    from digitwise.runs.tracking import refuse_tracker
    from digitwise.runs.training import Stopped
    from digitwise.runs.training import train as run_training
    from digitwise.runs.written import changed

    refuse_tracker(options.track)
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
        if not chosen:
            raise ValueError(f"recipe {options.recipe} trains no model: digitwise reproduce {options.recipe}")
        chosen = {arm: e for arm, e in chosen.items() if options.arm in (None, arm)}
        experiments = {arm: changed(e, options.changes) for arm, e in chosen.items()}
        if options.until_proven:
            experiments = {arm: proof.until_proven(e) for arm, e in experiments.items()}
        if options.show:
            show(options, {arm: describe(e) for arm, e in experiments.items()}, [
                {"arm": arm, "field": path, "value": str(value)}
                for arm, e in experiments.items() for path, value in tables.flat(describe(e)).items()
            ])  # fmt: skip
            return None
        homes = {arm: home(options.out, arm, e, chosen[arm]) for arm, e in experiments.items()}
        for arm, experiment in experiments.items():  # all of them before anything is written
            refuse_taken(homes[arm], experiment)
            experiment.rehearse()
        if is_main_process():
            _announce(options.recipe, homes, experiments)
        pending = [partial(Run.create, homes[arm], e) for arm, e in experiments.items()]
    bar, runs = Bar(), []
    for begin in pending:
        run = begin()
        runs.append(run)
        try:
            run_training(run, bar.of_training(run), options.track)
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
            "steps": run.experiment.steps,
            "loss": next((row["loss"] for row in reversed(run.metrics()) if "loss" in row), None),
            "validation": run.validation()[run.select("last")[0]],
            "best checkpoint": run.best(),
            "seconds": seconds(run),
        }
        for run in runs
    ]
    show(options, document, document, f"test them: digitwise eval {shlex.join(str(run.folder) for run in runs)}")
    return None


def _announce(recipe: str, homes: "dict[str, Path]", experiments: "dict[str, Experiment]") -> None:
    """One line on what will be trained."""
    several = f"; one alone with --arm {next(iter(homes))}" if len(homes) > 1 else ""
    told = ", ".join(f"{folder} ({experiments[arm].steps:,} steps)" for arm, folder in homes.items())
    print(f"training {len(homes)} model{'s' * (len(homes) > 1)} of {recipe}: {told}{several}", file=sys.stderr)


def evaluate(options: argparse.Namespace) -> int | None:
    from digitwise.config import lookup
    from digitwise.counts import Count
    from digitwise.data import SUITES
    from digitwise.runs.evaluation import evaluate as run_evaluation
    from digitwise.runs.folder import Run, is_main_process

    lengths = parse_numbers(options.lengths, "--lengths") if options.lengths is not None else None
    runs = [Run.open(folder) for folder in options.runs]
    suite = lookup(options.suite, SUITES, "suite")
    for run in runs:  # what does not fit one of them is refused before the first is tested
        suite.strata(run.experiment.task, lengths or run.experiment.testing.lengths)
    if options.errors < 0:
        raise ValueError(f"--errors must not be negative, and {options.errors} is")
    if options.dump is not None and (options.dump.exists() or options.dump.suffix not in (".jsonl", ".parquet")):
        raise ValueError(f"--dump takes a new file that ends in .jsonl or .parquet, not {options.dump}")
    bar, rows = Bar(), []
    predictions: list[dict[str, Any]] = []
    wrong: list[dict[str, Any]] = []

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

    def keep(run: "Run", found: "Predicted") -> None:
        new = list(found.rows(str(run.folder), suite, options.seed))
        if options.dump:
            predictions.extend(new)
        if found.checkpoint == run.select(options.checkpoints)[-1]:
            room = options.errors - sum(row["run"] == str(run.folder) for row in wrong)
            wrong.extend([row for row in new if not row["right"]][:room])

    try:
        for run in runs:
            found = run_evaluation(
                run, suite, lengths, options.problems, options.seed, options.checkpoints, bar.of_evaluation(run),
                partial(keep, run) if options.errors or options.dump else None,
            )  # fmt: skip
            rows += [row(run, count) for count in found]
    except KeyboardInterrupt:
        bar.close()
        print("interrupted: what was counted is kept, and the same command goes on from there", file=sys.stderr)
        return 130
    bar.close()
    if not is_main_process():
        return None
    dull = [name for name in ("stratum", "group") if not any(row[name] for row in rows)]
    rows = [{name: value for name, value in row.items() if name not in dull} for row in rows]
    notes = [_mistake(mistake) for mistake in wrong] or ["no mistakes"] * bool(options.errors)
    if options.dump is not None:
        from digitwise.answers.exchange import write

        notes.append(f"{write(iter(predictions), options.dump):,} predictions: {options.dump}")
    of = "" if options.suite == "uniform" else f" --suite {options.suite}"
    notes.append(f"draw them: digitwise figure {shlex.join(map(str, options.runs))}{of}")
    show(options, {"rows": rows, "errors": wrong} if options.errors else rows, rows, "\n".join(notes))
    return None


def _mistake(row: dict[str, Any]) -> str:
    """A problem, its answer, what the model answered, and marks below the symbols that differ."""
    width = max(len(row["answer"]), len(row["response"]), max(row["places"]) + 1)
    marks = "".join("^" if place in row["places"] else " " for place in reversed(range(width)))
    return (
        f"{row['problem']}  ({row['run']}, step {row['checkpoint']}, {row['length']} digits)\n"
        f"  answer  {row['answer'].rjust(width)}\n  model   {row['response'].rjust(width)}\n          {marks}"
    )


def figure(options: argparse.Namespace) -> None:
    from digitwise.config import lookup
    from digitwise.data import SUITES
    from digitwise.runs import results
    from digitwise.runs.folder import Run

    if str(options.runs[0]) == "machine" and not options.runs[0].exists():
        return proof.draw_machine(options)
    if len(options.runs) == 1 and options.runs[0].is_dir() and not (options.runs[0] / "config.json").is_file():
        return pages.redraw(options)
    for name in map(str, options.runs):
        if name in ("complexity", "theory") and not Path(name).exists():
            raise ValueError(f"figure draws run folders, and '{name}' is a recipe: digitwise reproduce {name}")
    runs = [Run.open(folder) for folder in {folder.resolve(): folder for folder in options.runs}.values()]
    if options.curve:
        to = options.to or runs[0].folder / f"{options.curve}.png"
        path, curves = results.draw_learning(runs, options.curve, to)
    else:
        suite = lookup(options.suite, SUITES, "suite")
        by = options.by or ("run" if len(runs) > 1 or suite.name == "places" else "checkpoint")
        path, curves = results.draw_tested(runs, suite, by, options.to or runs[0].folder / f"{suite.name}.png")
    show(options, {"figure": str(path), "curves": curves}, None, str(path))


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
    on, bar, results = where(options), Bar(), []

    try:
        for name in names:
            result = run_recipe(name, options.profile, seeds, options.out, bar, on)
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
            if not options.csv and result["by place"]:
                show(options, result, result["by place"], "percent right, as in the paper's table, last checkpoint")
        if not options.csv:
            print(f"plots: {' '.join(result['figures'])}")
            for folder, run in result["runs"].items():
                if "proof" in run:
                    print(f"{Path(folder).name}: {proof.in_words(run['proof'])}")
            if result["runs"]:
                print(f"runs: {' '.join(result['runs'])}")
            for row in result["claims"]:
                print(f"claim {row['claim']} {marked(row)}: {row['judged']}")
    return None
