"""The paper's table of a model that was trained on shifted copies: on shifted sums, on uniform ones, and by place.

The paper counts places from 1. Its last row, places 6 to 11 of sums of 10 digits, is one number; the rows multiply to
about its accuracy on whole sums if all six of them must be right, so that is what stands there here.
"""

from collections.abc import Sequence
from typing import Any

from digitwise.counts import Count, Numbered
from digitwise.data.suites import UPPER
from digitwise.runs.folder import Run
from digitwise.runs.results import per_seed

LENGTH = 10
#: Test case, suite, digits and group of the counts, and the paper's percentage with its spread.
ROWS = (
    ("shifted copies", "shifted", 5, "", "99.7 ± 0.1"),
    ("uniform values below 10^10", "upto", LENGTH, "", "81 ± 1"),
    ("place 1, the ones", "places", LENGTH, str(Numbered("place", 0)), "90 ± 1"),
    ("place 2", "places", LENGTH, str(Numbered("place", 1)), "96 ± 1"),
    ("place 3", "places", LENGTH, str(Numbered("place", 2)), "98.8 ± 0.1"),
    ("place 4", "places", LENGTH, str(Numbered("place", 3)), "98.0 ± 0.1"),
    ("place 5", "places", LENGTH, str(Numbered("place", 4)), "98.8 ± 0.1"),
    ("places 6 to 11, all of them", "places", LENGTH, UPPER, "96 ± 1"),
)
#: What a recipe is tested on, if the table is about it.
SUITES = {suite for _, suite, *_ in ROWS}


def place_table(runs: Sequence[Run], checkpoint: str = "last") -> list[dict[str, Any]]:
    """A row per test case: the median of the seeds in percent, the lowest and the highest, and the paper's number."""
    rows = []
    for case, suite, length, group, paper in ROWS:
        counts = [
            [c for c in run.counts() if _key(c) == (suite, length, group) and c.checkpoint in run.select(checkpoint)]
            for run in runs
        ]
        if not any(counts):
            continue
        found = per_seed(counts, lambda count: "")[""]
        percent = [round(100 * value, 1) for value in (found.median, found.worst, max(found.values))]
        ours = dict(zip(("median", "lowest", "highest"), percent, strict=True))
        rows.append({"test case": case, **ours, "seeds": len(found.values), "paper": paper})
    return rows


def _key(count: Count) -> tuple[str, int, str]:
    return count.suite, count.length, count.group
