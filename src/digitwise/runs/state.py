"""The state that training resumes from: tensors and plain values in one file, and the file before it.

Nothing in it is pickled. A state also holds a copy of the log, and so does every checkpoint.
"""

import logging
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from digitwise.runs import logged
from digitwise.runs.files import load_noted, read_notes, save_weights
from digitwise.tables import replacing

STATE, BEFORE = "state.safetensors", "state-before.safetensors"
OLD = "state.pt"
"""The pickle of earlier versions, which is not read any more."""


def save(folder: Path, values: Mapping[str, Any], rows: logged.Rows) -> None:
    """Write a state, and keep the one that was there."""
    path = folder / STATE
    tensors, rest = pack(values)
    with replacing(path) as temporary:
        save_weights(tensors, temporary, {"state": rest, "log": rows})
        if path.exists():
            os.replace(path, folder / BEFORE)


def load(folder: Path) -> dict[str, Any] | None:
    """Return the state of a folder, or the one before it if that is damaged, which is named."""
    damage = None
    for path in (folder / STATE, folder / BEFORE):
        if not path.exists():
            continue
        try:
            tensors, notes = load_noted(path)
            return unpack(tensors, notes["state"])
        except ValueError as error:
            damage = str(error)
        except (KeyError, TypeError, RecursionError):
            damage = f"{path} is damaged: it is not a state"
        logging.getLogger("digitwise").warning("%s; the state before it is used, if there is one", damage)
    if damage is not None:
        raise ValueError(f"{damage}: train it anew in another --out")
    if (folder / OLD).exists():
        raise ValueError(f"{folder / OLD} is of an earlier version and not read: remove it to train from the start")
    return None


def drop(folder: Path) -> None:
    for name in (BEFORE, STATE):  # in this order: after a kill in between, the latest is there
        (folder / name).unlink(missing_ok=True)


def mend_log(folder: Path) -> None:
    """Put back what the log has lost, from the longest copy of it."""
    path = folder / "metrics.jsonl"
    longest = max(copies_of_log(folder), key=len, default=[])
    try:
        reason, rows = f"{path} is damaged: rows are missing", logged.read(path)
    except ValueError as error:
        reason, rows = str(error), []
    if rows[: len(longest)] == longest:
        return
    if rows != longest[:-1]:  # a kill can come before the last row
        logging.getLogger("digitwise").warning("%s; a copy is used", reason)
    logged.rewrite(path, longest)


def copies_of_log(folder: Path) -> Iterator[logged.Rows]:
    """The rows of the log as they were when the state and each checkpoint were written."""
    for path in (folder / STATE, *(folder / "checkpoints").glob("*.safetensors")):
        try:
            if path.exists():
                yield [row for row in read_notes(path)["log"] if logged.is_row(row)]
        except (ValueError, KeyError, TypeError):  # it is damaged, or of before there were copies
            continue


def pack(state: Any) -> tuple[dict[str, Tensor], Any]:
    """Return the tensors of nested dictionaries and lists by name, and the rest as JSON that refers to them."""
    tensors: dict[str, Tensor] = {}
    known: dict[tuple[Any, ...], str] = {}  # an average may share the memory of its model: that is written once

    def walk(value: Any, name: str) -> Any:
        if isinstance(value, Tensor):
            same = (value.data_ptr(), value.dtype, value.shape, value.stride()) if value.numel() else (name,)
            if same not in known:
                known[same], tensors[name] = name, value
            return {"tensor": known[same]}
        if isinstance(value, dict):
            return {
                "entries": [[key, walk(item, f"{name}.{key}" if name else str(key))] for key, item in value.items()]
            }
        if isinstance(value, list | tuple):
            return [walk(item, f"{name}.{index}") for index, item in enumerate(value)]
        return value

    return tensors, walk(state, "")


def unpack(tensors: Mapping[str, Tensor], document: Any) -> Any:
    """Return what `pack` was given, tuples as lists."""
    if isinstance(document, list):
        return [unpack(tensors, item) for item in document]
    if not isinstance(document, dict):
        return document
    if "tensor" in document:
        return tensors[document["tensor"]]
    return {key: unpack(tensors, item) for key, item in document["entries"]}
