"""What all commands share: results on stdout, progress on stderr, and lists of what there is by name."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from digitwise import tables
from digitwise.tables import parse_numbers

if TYPE_CHECKING:
    from digitwise.runs.folder import Run

__all__ = ["Bar", "ls", "parse_numbers", "show"]


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

    begun: ClassVar[list["Bar"]] = []

    def __init__(self) -> None:
        self.bars: dict[str, Any] = {}
        self.begun.append(self)

    def __call__(self, what: str, done: int, total: int, note: str) -> None:
        from tqdm import tqdm

        if what not in self.bars:
            self.close()
            # In a log file a line every ten seconds is enough.
            interval = 0.2 if sys.stderr.isatty() else 10
            self.bars[what] = tqdm(
                total=total or None,
                initial=max(done - 1, 0),  # what an earlier session did says nothing about the speed of this one
                desc=what,
                file=sys.stderr,
                mininterval=interval,
            )
        bar = self.bars[what]
        bar.set_postfix_str(note, refresh=False)
        bar.update(done - bar.n)

    def of_training(self, run: "Run") -> Callable[[int, float], None]:
        return lambda step, loss: self(run.folder.name, step, run.experiment.steps, f"loss {loss:.4f}")

    def of_evaluation(self, run: "Run") -> Callable[[int, int], None]:
        return lambda done, total: self(f"eval {run.folder.name}", done, total, "")

    def close(self) -> None:
        for bar in self.bars.values():
            bar.close()

    @classmethod
    def close_all(cls) -> None:
        """End the lines of all bars, so that an error has one of its own."""
        while cls.begun:
            cls.begun.pop().close()


def ls(options: argparse.Namespace) -> None:
    def first_line(thing: Any) -> str:
        return " ".join((thing.__doc__ or "").split("\n\n")[0].split())

    rows: list[dict[str, Any]]
    if options.what == "runs":
        from digitwise.runs.places import find_runs

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
    elif options.what == "models":
        from digitwise.answers.solver import BUNDLED, bundled
        from digitwise.runs.written import read_experiment

        found = {name: read_experiment(BUNDLED / name / "config.json") for name in bundled()}
        rows = [
            {
                "name": name,
                "kinds": ", ".join(map(str, experiment.task.kinds)),
                "trained on": f"at most {experiment.trained_length} digits",
                "from": f"recipe {experiment.name}, seed {experiment.seed}",
                "folder": str(BUNDLED / name),
            }
            for name, experiment in found.items()
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
