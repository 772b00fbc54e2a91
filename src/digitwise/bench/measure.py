"""Time and memory. The sides of a comparison take turns, so that what else the machine does falls on all of them alike.

A ratio is the median over the rounds of one side's cost by the other's, so it does not depend on how busy the machine
was from round to round. A cost is lower where something is better, so all ratios are.
"""

import json
import math
import os
import pkgutil
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

Row = dict[str, Any]
"""A case and what is measured; of each side the median and the spread; and the ratios to the references."""
LEAST = 0.2
"""Seconds that one measurement takes at least: what is faster is called several times."""


@dataclass(frozen=True)
class Session:
    """How to measure."""

    repeats: int = 7
    threads: int = 1
    size: str = "full"
    """`full`, `quick` for what `--check` measures, or `smoke`, to see that everything runs."""
    minutes: float = 15.0
    """Limit of each training, where there is one."""
    progress: Callable[[str, int, int, str], None] = lambda what, done, total, note: None

    @property
    def smoke(self) -> bool:
        return self.size == "smoke"

    def chosen(self, full: Sequence[Any], quick: Sequence[Any], smoke: Sequence[Any]) -> Sequence[Any]:
        """Cases by size."""
        return {"full": full, "quick": quick, "smoke": smoke}[self.size]

    def seconds(self, what: str, sides: Mapping[str, Callable[[], Any]]) -> dict[str, list[float]]:
        """Seconds per call of each side, in turns, after a call to warm up."""
        calls = {}
        for name, function in sides.items():
            first = timed(function)
            again = first if first > 1 else timed(function)  # the first call prepares things; a slow one may do
            calls[name] = 1 if self.smoke else max(1, math.ceil(LEAST / again))
        return self.turns(what, {name: partial(timed, function, calls[name]) for name, function in sides.items()})

    def peak(self, maker: str, small: Sequence[Any], arguments: Sequence[Any]) -> float:
        """Megabytes of one call in a fresh process; to see that everything runs, this process does."""
        if self.smoke:
            return _peak_of(maker, small, arguments)
        return peak_megabytes(maker, small, arguments, self.threads)

    def turns(self, what: str, sides: Mapping[str, Callable[[], float]]) -> dict[str, list[float]]:
        """What each side measures itself to cost, in turns."""
        found: dict[str, list[float]] = {name: [] for name in sides}
        for done in range(self.repeats):
            for index, (name, function) in enumerate(sides.items()):
                found[name].append(function())
                self.progress(what, done * len(sides) + index + 1, self.repeats * len(sides), name)
        return found


def timed(function: Callable[[], Any], calls: int = 1) -> float:
    """Return the seconds of one call, as the mean of several."""
    start = time.perf_counter()
    for _ in range(calls):
        function()
    return (time.perf_counter() - start) / calls


def row(
    case: str,
    measure: str,
    costs: Mapping[str, Sequence[float]],
    ratios: Sequence[tuple[str, str]] = (),
    rate: float | None = None,
    note: str = "",
) -> Row:
    """One line of a result from the costs of each side; a rate, such as problems per call, is shown as rate / cost."""
    shown = {name: [rate / cost for cost in values] if rate else list(values) for name, values in costs.items()}
    found: Row = {
        "case": case,
        "measure": measure,
        "sides": {name: spread(values) for name, values in shown.items()},
        "ratios": {
            f"{side} / {reference}": rounded(
                median(cost / other for cost, other in zip(costs[side], costs[reference], strict=True))
            )
            for side, reference in ratios
        },
    }
    return found | {"note": note} if note else found


def spread(values: Sequence[float]) -> dict[str, float]:
    return {"median": rounded(median(values)), "lowest": rounded(min(values)), "highest": rounded(max(values))}


def rounded(value: float) -> float:
    """Four digits: more than a repetition would agree with."""
    return float(f"{value:.4g}")


# Processes of their own


def command_seconds(arguments: Sequence[str], threads: int) -> float:
    """Return the seconds of a real process, from its start to its end."""
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], env=_limited(threads), stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def peak_megabytes(maker: str, small: Sequence[Any], arguments: Sequence[Any], threads: int) -> float:
    """Return how far one call raises the memory of a fresh process over what it had before.

    `maker` is `module:function`, and returns what is called. The process imports everything, makes and calls it once
    with the `small` arguments, so that libraries are loaded, and makes it with the real ones: only the call itself
    counts, not its inputs. What is counted is resident memory as the system has it, buffers of libraries included.
    """
    code = "import json, sys; from digitwise.bench import measure; print(measure._peak_of(*json.loads(sys.argv[1])))"
    command = [sys.executable, "-c", code, json.dumps([maker, small, arguments])]
    found = subprocess.run(command, env=_limited(threads), stdout=subprocess.PIPE, text=True, check=True)
    return float(found.stdout)


def _limited(threads: int) -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": str(threads)}


def _peak_of(maker: str, small: Sequence[Any], arguments: Sequence[Any]) -> float:
    make = pkgutil.resolve_name(maker)
    make(*small)()
    function = make(*arguments)
    with suppress(OSError):  # Linux: the peak so far is forgotten, and starts from what is there now
        Path("/proc/self/clear_refs").write_text("5")
    before = _peak()
    function()
    return max(_peak() - before, 2**-8)  # a page at least, so that ratios and logarithms exist


def _peak() -> float:
    """The most resident memory so far. On Linux not by `getrusage`, where a child inherits its parent's peak."""
    with suppress(OSError):
        found = re.search(r"^VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
        if found:
            return int(found[1]) / 2**10
    import resource  # not on Windows, where memory is not measured

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
