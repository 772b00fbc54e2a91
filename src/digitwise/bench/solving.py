"""Answers of the bundled adder: how many a second, how the cost grows with the length, and what a start costs."""

import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from digitwise.answers import Problem
from digitwise.answers import compiled as tables
from digitwise.answers.solver import load
from digitwise.answers.solving import solve as solve_all
from digitwise.bench.measure import Row, Session, command_seconds, rounded, row
from digitwise.bench.references import answer_floor
from digitwise.models import Columns
from digitwise.numbers import digits as dg
from digitwise.rng import generator


def compiled(name: str) -> Callable[[Iterable[str]], Any]:
    """What answers with the table of a proven model."""
    machine = tables.load(name)
    return lambda texts: solve_all([(machine, machine.admitted(Problem.parse(text))) for text in texts], False)


SIDES: dict[str, Callable[[], Callable[[Iterable[str]], Any]]] = {
    "network": lambda: load("addition").solve_many,
    "compiled table": lambda: compiled("addition"),
}
"""Whatever answers a list of problems. Add a line here for another way to do it."""
BY_LENGTH = (5, 20, 100, 1000, 10_000, 100_000)
GROWING = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)
MOST = 1000
"""Problems in one call; fewer where they are long."""
DIGITS = 100_000


def solve(session: Session) -> list[Row]:
    """Problems a second by length, from text to text, beside the products of one pass of the network over all columns;
    and real processes: one small sum, and 1,000 sums of 100 digits, start included, beside importing torch alone."""
    rows = [*([] if session.smoke else [start(session)]), thousand(session)]
    for length in session.chosen(BY_LENGTH, (5, 100, 10_000), (5, 20)):
        count = 20 if session.smoke else max(1, min(MOST, DIGITS // length))
        problems = sums(length, count)
        sides: dict[str, Callable[[], Any]] = {name: partial(_all, make(), problems) for name, make in SIDES.items()}
        columns = cast(Columns, load("addition").experiment.architecture)
        sides["floor"] = answer_floor(columns, count * (length + 1))
        case = f"{length:,} digits, {count:,} at once"
        seconds = session.seconds(case, sides)
        rows.append(row(case, "problems a second", seconds, [(name, "floor") for name in SIDES], rate=count))
    return rows + by_table(session)


def by_table(session: Session) -> list[Row]:
    """A very long sum, and many long products."""
    digits, places, count = (1000, 10, 20) if session.smoke else (1_000_000, 100, 1000)
    products = [problem.replace("+", "*") for problem in sums(places, count)]
    rows = []
    for name, case, problems in (
        ("addition", f"one sum of {digits:,} digits", sums(digits, 1)),
        ("product", f"{places} x {places} digits, {count:,} at once", products),
    ):
        sides = {"network": load(name).solve_many, "compiled table": compiled(name)}
        seconds = session.seconds(case, {side: partial(_all, solver, problems) for side, solver in sides.items()})
        ratios = [("compiled table", "network")]
        many = len(problems) > 1
        rows.append(row(case, "problems a second" if many else "seconds", seconds, ratios, len(problems) * many))
    return rows


def start(session: Session) -> Row:
    return _processes(session, "one sum of 1 digit, start included", ["-m", "digitwise", "solve", "1 + 2"])


def thousand(session: Session) -> Row:
    count = 20 if session.smoke else 1000
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "problems.txt"
        file.write_text("\n".join(sums(100, count)))
        return _processes(
            session, f"{count:,} sums of 100 digits, start included", ["-m", "digitwise", "solve", str(file)]
        )


def _processes(session: Session, case: str, arguments: Sequence[str]) -> Row:
    commands = {"network": arguments, "import torch": ["-c", "import torch"]}
    seconds = session.turns(
        case, {name: partial(command_seconds, words, session.threads) for name, words in commands.items()}
    )
    extra = [ours - torch for ours, torch in zip(*seconds.values(), strict=True)]
    return row(case, "seconds", {**seconds, "extra": extra}, [("network", "import torch")])


def growth(session: Session) -> list[Row]:
    """Seconds and peak memory of one sum by its length, and the exponents of both, the start of the program excluded:
    time is taken when the model is loaded and warm, memory is what one answer adds to a process that has given one."""
    lengths = session.chosen(GROWING, GROWING, (10, 40))
    seconds = session.seconds("time by length", {f"{length:,} digits": one(length) for length in lengths})
    peaks = session.turns(
        "memory by length",
        {f"{length:,} digits": partial(session.peak, f"{__name__}:one", [5], [length]) for length in lengths},
    )
    rows = []
    for measure, costs in (("seconds", seconds), ("peak MB", peaks)):
        rows += [row(case, measure, {"network": values}) for case, values in costs.items()]
        fitted = row(f"{lengths[0]:,} to {lengths[-1]:,} digits", f"{measure}, exponent", {})
        rows.append(fitted | exponent(lengths, [float(np.median(values)) for values in costs.values()]))
    return rows


def exponent(lengths: Sequence[int], costs: Sequence[float]) -> dict[str, Any]:
    """Fit cost = c length^exponent by least squares of the logarithms."""
    x, y = np.log(lengths), np.log(costs)
    slope, height = np.polyfit(x, y, 1)
    unexplained = float(((y - slope * x - height) ** 2).sum())
    everything = float(((y - y.mean()) ** 2).sum())
    fit = 1 - unexplained / everything if everything else 1.0
    return {"ratios": {"exponent": rounded(float(slope))}, "note": f"r² {fit:.3f}, {len(lengths)} points"}


def sums(length: int, count: int) -> list[str]:
    """Problems of two numbers of exactly so many digits."""
    drawn = dg.sample(generator(0, "bench", length), length, np.full((2, count), length))
    return [f"{a} + {b}" for a, b in zip(*map(dg.render, drawn), strict=True)]


def one(length: int) -> Callable[[], Any]:
    return partial(_all, load("addition").solve_many, sums(length, 1))


def _all(solve_many: Callable[[Iterable[str]], Any], problems: Sequence[str]) -> None:
    for _ in solve_many(problems):
        pass
