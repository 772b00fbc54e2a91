"""Values that are typed, rows that are printed as text, CSV or JSON, and files that are written whole or not at all."""

import csv
import io
import json
import os
import types
import typing
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any


def text(rows: Sequence[dict[str, Any]]) -> str:
    if not rows:
        return "(nothing)"
    columns, written = cells(rows)
    widths = [max(len(line[i]) for line in (columns, *written)) for i in range(len(columns))]
    numeric = [all(is_number(row.get(name)) for row in rows) for name in columns]
    lines = [
        "  ".join(c.rjust(w) if n else c.ljust(w) for c, w, n in zip(line, widths, numeric, strict=True)).rstrip()
        for line in (columns, *written)
    ]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def cells(rows: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """The names of all columns, and every row as texts in their order."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return columns, [[_cell(row.get(name)) for name in columns] for row in rows]


def as_csv(rows: Sequence[dict[str, Any]]) -> str:
    out = io.StringIO()
    rows = [_one_cell_each(row) for row in rows]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().rstrip("\n")


def rows_to_json(rows: Iterable[dict[str, Any]]) -> str:
    """A list with one row per line, so that differences can be read."""
    return "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]"


def flat(value: Any, prefix: str = "") -> dict[str, Any]:
    """Nested dictionaries with dotted names."""
    if not isinstance(value, dict):
        return {prefix: value}
    return {k: v for name, item in value.items() for k, v in flat(item, f"{prefix}.{name}" if prefix else name).items()}


def parse_numbers(text: str, option: str) -> list[int]:
    """`1-5,10,20` as a list."""
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        parts = [first, last] if dash else [first]
        if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
            raise ValueError(f"{option} takes numbers such as 1-20 or 5,10,50, not '{text}'")
        if int(parts[-1]) - int(first) > 100_000:
            raise ValueError(f"{option} names more than 100,000 numbers: '{text}'")
        numbers += range(int(first), int(parts[-1]) + 1)
    if not numbers:
        raise ValueError(f"{option} is empty: '{text}'")
    return list(dict.fromkeys(numbers))


def parse_value(text: str, annotation: Any) -> Any:
    """Text as a value of a field that is annotated so."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is types.UnionType:
        if type(None) in arguments and text.lower() in ("none", ""):
            return None
        return parse_value(text, next(a for a in arguments if a is not type(None)))
    if origin is tuple:
        if arguments[0] is int and text:
            return tuple(parse_numbers(text, "it"))
        return tuple(parse_value(part, arguments[0]) for part in text.split(",") if part)
    if annotation is bool:
        words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        if text.lower() not in words:
            raise ValueError(f"'{text}' is neither true nor false")
        return words[text.lower()]
    if annotation is str:
        return text
    if annotation not in (int, float):
        raise TypeError(annotation)
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"'{text}' is not a number") from None
    if annotation is int and not number.is_integer():
        raise ValueError(f"'{text}' is not a whole number")
    return annotation(number)


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except (ValueError, RecursionError) as error:  # also of bytes that are not text, and of numbers without end
        raise ValueError(f"{path} is damaged: {error}") from error


class replacing:
    """Write to a temporary file, then move it into place when all went well, with the mode that the umask gives."""

    def __init__(self, path: Path):
        self.path, self.temporary = path, path.with_name(f".{path.name}.{os.getpid()}")

    def __enter__(self) -> Path:
        self.temporary.touch()
        self.mode = self.temporary.stat().st_mode
        return self.temporary

    def __exit__(self, kind: Any, error: Any, _: Any) -> None:
        if kind is None:
            self.temporary.chmod(self.mode)  # safetensors hides its files from other users
            os.replace(self.temporary, self.path)
            return
        self.temporary.unlink(missing_ok=True)
        if isinstance(error, OSError | RuntimeError):  # torch reports a full disk as a RuntimeError
            reason = next(iter(str(error).splitlines()), kind.__name__)
            raise OSError(f"{self.path} cannot be written: {reason}") from error


def _one_cell_each(value: Any, name: str = "") -> dict[str, Any]:
    """Intervals as two columns, other lists as numbered ones, dictionaries by dotted names."""
    if isinstance(value, dict):
        parts = [(f"{name}.{key}" if name else str(key), item) for key, item in value.items()]
    elif isinstance(value, list | tuple):
        interval = len(value) == 2 and all(map(is_number, value))
        ends = ("low", "high") if interval else range(1, len(value) + 1)
        parts = [(f"{name} {end}", item) for end, item in zip(ends, value, strict=True)]
    else:
        return {name: value}
    return {column: cell for part, item in parts for column, cell in _one_cell_each(item, part).items()}


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3f}" if abs(value) >= 1e-3 or value == 0 else f"{value:.2g}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_cell(item) for item in value) + "]"
    return str(value)


def is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))
