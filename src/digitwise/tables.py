"""Rows of plain dictionaries as aligned text or CSV."""

import csv
import io
from collections.abc import Sequence
from typing import Any


def text(rows: Sequence[dict[str, Any]]) -> str:
    if not rows:
        return "(nothing)"
    columns = list(dict.fromkeys(name for row in rows for name in row))
    cells = [columns, *([_cell(row.get(name)) for name in columns] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    numeric = [all(_is_number(row.get(name)) for row in rows) for name in columns]
    lines = [
        "  ".join(c.rjust(w) if n else c.ljust(w) for c, w, n in zip(line, widths, numeric, strict=True)).rstrip()
        for line in cells
    ]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def as_csv(rows: Sequence[dict[str, Any]]) -> str:
    out = io.StringIO()
    rows = [_flat(row) for row in rows]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().rstrip("\n")


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """Intervals as two columns."""
    out: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, list | tuple) and len(value) == 2:
            out |= {f"{name} low": value[0], f"{name} high": value[1]}
        else:
            out[name] = value
    return out


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3f}" if abs(value) >= 1e-3 or value == 0 else f"{value:.2g}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_cell(item) for item in value) + "]"
    return str(value)


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))
