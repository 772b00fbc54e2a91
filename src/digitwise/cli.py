"""The command line. Imports stand inside the commands, so that --help answers at once."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from digitwise import __version__, tables

if TYPE_CHECKING:
    from digitwise.runs import Run


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line, no usage block."""
        raise ValueError(f"{message} (see {self.prog} --help)")


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        options, rest = parser().parse_known_args(arguments)
        if rest and options.command != "train":
            raise ValueError(f"unknown option {rest[0]} (see digitwise {options.command} --help)")
        if options.command == "train":
            options.changes = parse_changes(rest)
        return options.run(options) or 0
    except (ValueError, OSError) as error:
        if os.environ.get("DIGITWISE_DEBUG"):
            raise
        print(f"digitwise: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("digitwise: interrupted", file=sys.stderr)
        return 130


def parser() -> Parser:
    common = Parser(add_help=False)
    style = common.add_mutually_exclusive_group()
    style.add_argument("--json", action="store_true", help="print one JSON document and nothing else on stdout")
    style.add_argument("--csv", action="store_true", help="print tables as comma-separated values")
    top = Parser(
        prog="digitwise", description="Transformers that learn arithmetic on short numbers and get long ones right."
    )
    top.add_argument("--version", action="version", version=f"digitwise {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)

    def command(
        name: str, run: Callable[[argparse.Namespace], int | None], description: str
    ) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, parents=[common], help=description, description=description)
        sub.set_defaults(run=run)
        return sub

    sub = command("train", train, "Train the models of a recipe; any field of it can be changed with --FIELD VALUE.")
    sub.add_argument("recipe", nargs="?", help="a name from: digitwise ls recipes")
    sub.add_argument("--profile", default="cpu", help="paper, cpu or smoke")
    sub.add_argument("--arm", help="train only this one of the recipe's models")
    sub.add_argument("--out", type=Path, default=Path("runs"), help="folder for the run folders")
    sub.add_argument("--resume", type=Path, metavar="RUN", help="go on with an interrupted run")
    sub.add_argument("--show", action="store_true", help="print all fields and their values, and train nothing")

    sub = command("eval", evaluate, "Test checkpoints of a run: exact match by length, all answer symbols counted.")
    sub.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    sub.add_argument("--suite", default="uniform", help="a name from: digitwise ls suites")
    sub.add_argument("--lengths", help="for instance 1-20 or 5,10,50; default: the recipe's")
    sub.add_argument("--problems", type=int, help="for each length; default: the recipe's")
    sub.add_argument("--seed", type=int, default=0, help="of the problems")
    sub.add_argument("--checkpoints", default="last,best", help="last, best (on the validation set), all, or steps")

    sub = command("ls", ls, "List what there is by name.")
    sub.add_argument("what", choices=["recipes", "tasks", "encodings", "distributions", "suites", "runs"])
    sub.add_argument("--out", type=Path, default=Path("runs"), help="folder to look for runs in")

    sub = command("figure", figure, "Draw accuracy by length of tested runs.")
    sub.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    sub.add_argument("--suite", default="uniform")
    sub.add_argument("--by", choices=["run", "checkpoint"], help="one curve a run or a checkpoint; default: what fits")
    sub.add_argument("--to", type=Path, help="file to write; default: accuracy.png in the first run's folder")

    sub = command("reproduce", reproduce, "Train what is missing of recipes, test it, draw it.")
    sub.add_argument("recipes", nargs="+", metavar="RECIPE")
    sub.add_argument("--profile", default="cpu", help="paper, cpu or smoke")
    sub.add_argument("--seeds", default="0", help="training seeds, for instance 0-2 or 0,3")
    sub.add_argument("--out", type=Path, default=Path("runs"), help="folder for the run folders")

    sub = command("bench", bench, "Measure speed: data generation, or a training step at the paper's size.")
    sub.add_argument("what", choices=["data", "step"])
    return top


def parse_changes(rest: Sequence[str]) -> dict[str, str]:
    """`--field value` and `--field=value` pairs."""
    changes: dict[str, str] = {}
    words = list(rest)
    while words:
        word = words.pop(0)
        if not word.startswith("--"):
            raise ValueError(f"'{word}' is no option: fields are changed with --FIELD VALUE")
        name, equals, value = word[2:].partition("=")
        if not equals:
            if not words:
                raise ValueError(f"--{name} needs a value")
            value = words.pop(0)
        changes[name] = value
    return changes


def parse_numbers(text: str, option: str) -> list[int]:
    """`1-5,10,20` as a list."""
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise ValueError(f"{option} takes numbers such as 1-20 or 5,10,50, not '{text}'")
        numbers += range(int(first), int(last if dash else first) + 1)
    if not numbers:
        raise ValueError(f"{option} is empty: '{text}'")
    return list(dict.fromkeys(numbers))


def show(
    options: argparse.Namespace, document: Any, rows: Sequence[dict[str, Any]] | None = None, lines: str = ""
) -> None:
    """A result as JSON, or as a table with some lines after it."""
    if options.json:
        print(json.dumps(document, indent=1))
    elif options.csv:
        print(tables.as_csv(rows if rows is not None else [document]))
    else:
        print("\n".join(part for part in (tables.text(rows) if rows is not None else "", lines) if part))


class Bar:
    """Progress of long work on stderr: one bar for each kind of work, with the time left."""

    def __init__(self) -> None:
        self.bars: dict[str, Any] = {}

    def __call__(self, what: str, done: int, total: int, note: str) -> None:
        from tqdm import tqdm

        if what not in self.bars:
            self.close()
            # In a log file a line every ten seconds is enough.
            interval = 0.2 if sys.stderr.isatty() else 10
            self.bars[what] = tqdm(total=total, initial=0, desc=what, file=sys.stderr, mininterval=interval)
        bar = self.bars[what]
        bar.set_postfix_str(note, refresh=False)
        bar.update(done - bar.n)

    def of_training(self, run: "Run") -> Callable[[int, float], None]:
        return lambda step, loss: self(run.folder.name, step, run.experiment.training.steps, f"loss {loss:.4f}")

    def of_evaluation(self, run: "Run") -> Callable[[int, int], None]:
        return lambda done, total: self(f"eval {run.folder.name}", done, total, "")

    def close(self) -> None:
        for bar in self.bars.values():
            bar.close()


def train(options: argparse.Namespace) -> int | None:
    from dataclasses import replace

    from digitwise.config import describe, did_you_mean, override
    from digitwise.experiment import CHOICES
    from digitwise.recipes import arms
    from digitwise.runs import Run
    from digitwise.training import Stopped
    from digitwise.training import train as run_training

    if options.resume is not None:
        if options.recipe or options.changes:
            raise ValueError("--resume goes on with a run as it is: leave out the recipe and its fields")
        runs = [Run.open(options.resume)]
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
        folders = {arm: options.out / options.recipe / f"{arm}-seed{e.seed}" for arm, e in experiments.items()}
        for folder in folders.values():
            if folder.exists():
                raise ValueError(f"{folder} is there already: go on with --resume {folder}, or choose another --out")
        runs = [Run.create(folders[arm], replace(e)) for arm, e in experiments.items()]
    bar = Bar()
    for run in runs:
        try:
            run_training(run, bar.of_training(run))
        except Stopped as stopped:
            bar.close()
            print(f"stopped at step {stopped}: go on with digitwise train --resume {run.folder}", file=sys.stderr)
            return 130
    bar.close()
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
    from digitwise.counts import Count
    from digitwise.evaluation import evaluate as run_evaluation
    from digitwise.runs import Run

    lengths = parse_numbers(options.lengths, "--lengths") if options.lengths else None
    runs = [Run.open(folder) for folder in options.runs]
    bar, rows = Bar(), []

    def row(run: "Run", count: Count) -> dict[str, Any]:
        low, high = count.interval
        return {
            "run": str(run.folder),
            "checkpoint": run.titles(count.checkpoint),
            "suite": f"{count.suite} v{count.version}",
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
            run, options.suite, lengths, options.problems, options.seed, options.checkpoints, bar.of_evaluation(run)
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
        from digitwise.runs import find_runs

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
        from digitwise.suites import SUITES

        rows = [{"name": s.name, "version": s.version, "what": first_line(s.strata)} for s in SUITES.values()]
    else:
        from digitwise.encodings import ENCODINGS
        from digitwise.recipes import RECIPES
        from digitwise.tasks import DISTRIBUTIONS, TASKS

        things: dict[str, Any] = {
            "recipes": RECIPES, "tasks": TASKS, "encodings": ENCODINGS, "distributions": DISTRIBUTIONS,
        }  # fmt: skip
        rows = [{"name": name, "what": first_line(thing)} for name, thing in things[options.what].items()]
    show(options, rows, rows)


def figure(options: argparse.Namespace) -> None:
    from digitwise import figures
    from digitwise.runs import Run

    runs = [Run.open(folder) for folder in options.runs]
    by = options.by or ("run" if len(runs) > 1 else "checkpoint")
    curves = []
    for run in runs:
        counts = [count for count in run.counts() if count.suite == options.suite and not count.group]
        if not counts:
            raise ValueError(f"{run.folder} has not been tested on {options.suite}: digitwise eval {run.folder}")
        steps = sorted({count.checkpoint for count in counts})
        for step in steps if by == "checkpoint" else steps[-1:]:
            name = run.folder.name if len(runs) > 1 else "step"
            label = run.folder.name if by == "run" else f"{name} {run.titles(step)}"
            curves.append(figures.by_length(label, [count for count in counts if count.checkpoint == step]))
    first = runs[0].experiment
    trained = first.data.width(first.task.canvas)
    path = figures.accuracy(
        curves,
        options.to or runs[0].folder / "accuracy.png",
        title=f"{first.name}, {options.suite} suite",
        trained=trained,
    )
    show(options, {"figure": str(path), "curves": [curve.label for curve in curves]}, None, str(path))


def reproduce(options: argparse.Namespace) -> int | None:
    from digitwise.reproduction import reproduce as run_recipe
    from digitwise.training import Stopped

    seeds = parse_numbers(options.seeds, "--seeds")
    bar, results = Bar(), []
    try:
        for name in options.recipes:
            results.append(run_recipe(name, options.profile, seeds, options.out, bar))
    except Stopped:
        bar.close()
        print("stopped: the same command goes on from here", file=sys.stderr)
        return 130
    bar.close()
    if options.json:
        show(options, results if len(results) > 1 else results[0])
        return None
    for result in results:
        show(
            options,
            result,
            result["last"],
            f"last checkpoint; plot: {result['figure']}\nruns: {' '.join(result['runs'])}",
        )
    return None


def bench(options: argparse.Namespace) -> None:
    from digitwise import bench as benchmarks

    if options.what == "data":
        rows = benchmarks.data()
        show(options, rows, rows)
    else:
        result = benchmarks.step()
        show(options, result, [{"measure": k, "value": v} for k, v in result.items()])


if __name__ == "__main__":
    sys.exit(main())
