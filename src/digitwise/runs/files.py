"""Files of tensors, and locks. Tensors are kept as safetensors with a checksum: nothing is ever unpickled."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor


def save_weights(weights: Mapping[str, Tensor], path: Path, notes: Any = None) -> None:
    """Write tensors, and notes that JSON can hold, with a checksum inside the file."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in weights.items()}
    text = "" if notes is None else json.dumps(notes)
    try:
        save_file(
            tensors, path, {"format": "pt", "sha256": _checksum(tensors, text)} | ({"notes": text} if text else {})
        )
    except SafetensorError as error:  # which is not an OSError even if the disk is full
        raise OSError(str(error)) from error


def settle(path: Path) -> None:
    """Wait until a file is on the disk, so that not even a loss of power takes it back."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())


def load_weights(path: Path) -> dict[str, Tensor]:
    """Return the weights of a file if they are those that were written."""
    return load_noted(path)[0]


def load_noted(path: Path) -> tuple[dict[str, Tensor], Any]:
    """Return the tensors and the notes of a file as they were written; older files have no checksum to compare."""
    try:
        with safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    if metadata.get("sha256") not in (None, _checksum(tensors, metadata.get("notes", ""))):
        raise ValueError(f"{path} is damaged: what it holds does not match the checksum that was written with it")
    return tensors, _notes(path, metadata)


def read_notes(path: Path) -> Any:
    """Return the notes of a file without its tensors. A file that was cut off is noticed, a flipped bit is not."""
    try:
        with safe_open(path, "pt") as file:
            return _notes(path, file.metadata() or {})
    except (SafetensorError, OSError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error


def _notes(path: Path, metadata: Mapping[str, str]) -> Any:
    try:
        return json.loads(metadata["notes"]) if "notes" in metadata else None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error


def _checksum(tensors: Mapping[str, Tensor], text: str) -> str:
    found = hashlib.sha256(text.encode())
    for name, tensor in sorted(tensors.items()):
        found.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        found.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return found.hexdigest()


@contextmanager
def locked(path: Path, wait: bool = False) -> Iterator[None]:
    """Let one process at a time work on a file or a folder; the lock ends with the process, also with a killed one."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        os.close(descriptor)
        raise ValueError(f"{path} is in use by another process: wait until it has finished, or end it") from None
    except OSError:  # a file system without locks
        pass
    try:
        yield
    finally:
        os.close(descriptor)
