"""Several seeds of one experiment: the median of each cell, with the worst seed beside it."""

from collections.abc import Sequence
from statistics import median
from typing import Any

from digitwise.counts import Count, merge, wilson
from digitwise.runs.folder import Run


def over_seeds(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """A row for each suite, length and stratum, from the last checkpoint of every run that was tested on it."""
    cells: dict[tuple, list[Count]] = {}
    for run in runs:
        last = [count for count in run.counts() if not count.group and count.checkpoint in run.select("last")]
        for key, cell in merge(last, by=_cell).items():
            cells.setdefault(key, []).append(cell)
    return [
        {
            "suite": suite,
            "digits": length,
            "stratum": stratum,
            "seeds": len(found),
            "problems a seed": min(count.tried for count in found),
            "median": round(median(count.accuracy for count in found), 4),
            "worst": round(min(count.accuracy for count in found), 4),
            "all seeds 95%": [
                round(bound, 4) for bound in wilson(sum(c.correct for c in found), sum(c.tried for c in found))
            ],
        }
        for (suite, _, length, stratum), found in sorted(cells.items())
    ]


def _cell(count: Count) -> tuple[str, int, int, str]:
    """The cases of the edges suite are few problems each: they are added up, for each kind of problem."""
    stratum = count.stratum.rpartition(": ")[0] if count.suite == "edges" else count.stratum
    return count.suite, count.version, count.length, stratum
