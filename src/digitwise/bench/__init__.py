"""Speed as ratios: what we have beside what one would use instead and beside what the machine can do.

The seam is `BENCHMARKS`: a function from a `measure.Session` to the rows of a table.
"""

from collections.abc import Callable
from typing import Any

import torch

from digitwise.bench.drawing import data, samplers
from digitwise.bench.measure import Row, Session
from digitwise.bench.reaching import time_to_accuracy
from digitwise.bench.results import worse
from digitwise.bench.scores import scores
from digitwise.bench.solving import growth, solve
from digitwise.bench.step import compiled, step
from digitwise.runs.engine import environment

BENCHMARKS: dict[str, Callable[[Session], list[Row]]] = {
    "data": data,
    "samplers": samplers,
    "scores": scores,
    "step": step,
    "compiled": compiled,
    "solve": solve,
    "growth": growth,
    "time-to-accuracy": time_to_accuracy,
}
CHECKED = ("scores", "step", "solve")
"""What `--check` measures unless it is told otherwise: the quick ones whose ratios say most."""


def run(name: str, session: Session) -> dict[str, Any]:
    """Measure one benchmark, and return its result as it is written to a file."""
    before = torch.get_num_threads()
    torch.set_num_threads(session.threads)
    try:
        rows = BENCHMARKS[name](session)
    finally:
        torch.set_num_threads(before)
    return document(name, session, rows)


def check(committed: dict[str, Any], session: Session) -> tuple[dict[str, Any], list[str]]:
    """Measure again, and return the result and what is worse. Something else may have disturbed it, so what seems to be
    worse is measured twice, and must be worse both times."""
    name = committed["benchmark"]
    result = run(name, session)
    messages = worse(result, committed)
    if not messages:
        return result, []
    still = worse(run(name, session), committed)
    return result, [message for subject, message in messages.items() if subject in still]


def default_threads() -> int:
    return torch.get_num_threads()


def document(name: str, session: Session, rows: list[Row]) -> dict[str, Any]:
    here = environment()
    machine = {"processor": here["cpu"], "cores": here["cores"], "torch": here["torch"]}
    return {
        "benchmark": name, "machine": machine, "threads": session.threads, "repeats": session.repeats, "rows": rows,
    }  # fmt: skip
