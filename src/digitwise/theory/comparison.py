"""The whole comparison: every prediction next to what training gave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from digitwise.theory import (
    compare_agreement,
    compare_ape,
    compare_full,
    compare_rpe,
    compare_shifts,
    compare_weights,
    compare_windows,
)

SECTIONS = (
    ("APE", compare_ape.rows),
    ("APE with shifts", compare_shifts.rows),
    ("APE with shifts of long windows", compare_windows.rows),
    ("RPE", compare_rpe.rows),
    ("three ways of training", compare_agreement.rows),
    ("other alpha and beta", compare_weights.rows),
    ("full parametrisation", compare_full.rows),
)


def table(seeds: Sequence[int] = range(5), progress: Callable[[str], None] | None = None) -> list[dict[str, Any]]:
    """All rows, as plain JSON values: name, claim, statement, prediction, measured, interval, allowed, seeds, verdict.

    `interval` is the range around the prediction in which the measured value must lie for the verdict `holds`. It is
    either derived (what finite time, steps and decay can still change) or 99.9 % of the sampling spread; `allowed` says
    which and why, and `rows.py` says more. Rows with `claim` true are the three parts of the paper's proposition.
    """
    chosen = tuple(int(seed) for seed in seeds)
    if not chosen or len(set(chosen)) < len(chosen) or min(chosen) < 0:
        raise ValueError(f"seeds must be one or more different numbers from 0 on, not {list(chosen)!r}")
    done: list[dict[str, Any]] = []
    for title, rows in SECTIONS:
        for row in rows(chosen):
            done.append(row.as_dict())
            if progress is not None:
                progress(f"{title}: {row.name} {row.verdict}")
    return done
