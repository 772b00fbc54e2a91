"""What all commands share: numbers on the command line, results on stdout, progress on stderr."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from digitwise import tables

if TYPE_CHECKING:
    from digitwise.runs.folder import Run


def parse_numbers(text: str, option: str) -> list[int]:
    """`1-5,10,20` as a list."""
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        parts = [first, last] if dash else [first]
        if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
            raise ValueError(f"{option} takes numbers such as 1-20 or 5,10,50, not '{text}'")
        if int(parts[-1]) - int(first) > 100_000:
            raise ValueError(f"{option} names more than 100,000 numbers: '{text}'")
        numbers += range(int(first), int(parts[-1]) + 1)
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
        return lambda step, loss: self(run.folder.name, step, run.experiment.training.steps, f"loss {loss:.4f}")

    def of_evaluation(self, run: "Run") -> Callable[[int, int], None]:
        return lambda done, total: self(f"eval {run.folder.name}", done, total, "")

    def close(self) -> None:
        for bar in self.bars.values():
            bar.close()
