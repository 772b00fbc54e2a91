"""The log of a run, metrics.jsonl: one row per line, appended to while training."""

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from digitwise.tables import replacing

Rows = list[dict[str, Any]]
NUMBERS = ("loss", "validation", "seconds")
"""What a row may measure."""


def append(path: Path, row: dict[str, Any]) -> None:
    try:
        with open(path, "a") as file:
            file.write(json.dumps(row) + "\n")
    except OSError as error:
        raise OSError(f"{path} cannot be written: {error.strerror}") from error


def read(path: Path) -> Rows:
    """Return the rows of a log. Its last line may have been cut off by a kill; any other damage is named."""
    return parse(path.read_text(errors="replace"), path) if path.exists() else []


def parse(text: str, path: Path) -> Rows:
    rows, lines = [], text.splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if is_row(row):
            rows.append(row)
        elif number < len(lines):
            raise ValueError(f"{path} is damaged in line {number}: digitwise train --resume {path.parent} mends it")
    return rows


def is_row(row: Any) -> bool:
    return (
        isinstance(row, dict)
        and type(row.get("step")) is int
        and all(type(row.get(n, 0)) in (int, float) and math.isfinite(row.get(n, 0)) for n in NUMBERS)
    )


def rewrite(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    with replacing(path) as temporary:
        temporary.write_text("".join(json.dumps(row) + "\n" for row in rows))
