"""One row of the comparison: what the theory says, what training gave, and the range in which the two agree.

`interval` is always the range around the *prediction* in which the measured value has to lie. It is made in one of two
ways, named in the row's `allowed`:

- derived: a bound on what finite time, finite steps or finite weight decay can still change, or rounding; where only
  its order is known (an exponentially small rest, the next power of the step), a round number above it and far below
  the effect;
- sampling: 99.9 % of the spread over random starts: 3.29 standard deviations of the mean where theory knows them, and
  Student's interval from the drawn values where it does not. 99.9 and not 95, because there are dozens of
  rows, and a table in which two rows always fail by chance teaches people to ignore failures.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student

SPREAD = 3.29


@dataclass(frozen=True)
class Row:
    """A prediction next to its measurement. `claim` marks the three parts of the paper's proposition."""

    name: str
    statement: str
    prediction: float
    measured: float
    interval: tuple[float, float]
    allowed: str
    seeds: tuple[int, ...]
    claim: bool = False

    @property
    def verdict(self) -> str:
        """`holds` or `fails`; a measured nan fails."""
        low, high = self.interval
        return "holds" if low <= self.measured <= high else "fails"

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values, numbers to ten digits (the verdict is taken before rounding)."""
        return {
            "name": self.name,
            "claim": self.claim,
            "statement": self.statement,
            "prediction": _round(self.prediction),
            "measured": _round(self.measured),
            "interval": [_round(end) for end in self.interval],
            "allowed": self.allowed,
            "seeds": list(self.seeds),
            "verdict": self.verdict,
        }


def around(value: float, tolerance: float) -> tuple[float, float]:
    """The interval value +- tolerance."""
    return value - tolerance, value + tolerance


def sampling_error(values: Iterable[float]) -> float:
    """Half the width of the 99.9 % interval (Student's) for the mean of independent values."""
    drawn = np.fromiter(values, dtype=float)
    assert len(drawn) > 1, "one value has no spread"
    return float(student.ppf(0.9995, len(drawn) - 1) * drawn.std(ddof=1) / np.sqrt(len(drawn)))


def markdown_table(rows: Sequence[dict[str, Any]]) -> str:
    """The rows as a Markdown table, claims in bold."""
    lines = ["| row | what | predicted | measured | must lie in | verdict |", "|---|---|---:|---:|---|---|"]
    for row in rows:
        name = f"**`{row['name']}`**" if row["claim"] else f"`{row['name']}`"
        numbers = [_show(row["prediction"]), _show(row["measured"]), _range(row["prediction"], *row["interval"])]
        statement = row["statement"].replace("<", "&lt;").replace("|", "\\|")  # neither tags nor columns
        lines.append("| " + " | ".join([name, statement, *numbers, row["verdict"]]) + " |")
    return "\n".join(lines) + "\n"


def _round(value: float) -> float:
    return float(f"{value:.10g}")


def _show(value: float) -> str:
    return f"{value:.4g}"


def _range(middle: float, low: float, high: float) -> str:
    """Plus or minus where the interval is symmetric, else its ends."""
    below, above = middle - low, high - middle
    if abs(above - below) < 1e-3 * (above + below):
        return f"{_show(middle)} ± {(below + above) / 2:.2g}"
    return f"{_show(low)} to {_show(high)}"
