"""Code of one's own, as text: it counts in the hash of a run, and it travels to other machines."""

import hashlib
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

from digitwise.config import load, origin

_FOLDERS: list[tempfile.TemporaryDirectory] = []  # of files that came with jobs; they go with the process


def own_classes(value: Any) -> Iterator[type]:
    """The classes of an experiment's parts that are not ours."""
    if isinstance(value, tuple | list):
        for item in value:
            yield from own_classes(item)
    elif is_dataclass(value) and not isinstance(value, type):
        if origin(type(value)):
            yield type(value)
        for field in fields(value):
            yield from own_classes(getattr(value, field.name))


def travelling(value: Any) -> dict[str, str]:
    """The text of each file that classes come from, by where they come from: `{"mine.py:NearOrFar": "..."}`.

    Files travel alone. Classes of installed packages do not: other machines need the same packages.
    """
    found = {origin(kind): kind for kind in own_classes(value)}
    return {name: _text(kind) for name, kind in found.items() if name.rpartition(":")[0].endswith(".py")}


def by_content(described: Any, value: Any) -> Any:
    """A description in which the content of a file stands for its path."""
    contents = {origin(kind): hashlib.sha256(_text(kind).encode()).hexdigest() for kind in own_classes(value)}

    def walk(part: Any) -> Any:
        if isinstance(part, list):
            return [walk(item) for item in part]
        if not isinstance(part, dict):
            return part
        return {name: contents[item] if name == "from" else walk(item) for name, item in part.items()}

    return walk(described)


def _text(kind: type) -> str:
    path = getattr(sys.modules.get(kind.__module__), "__file__", None)
    if path is None:
        raise ValueError(f"{kind.__name__} has no file that could travel: define it in a file of its own")
    return Path(path).read_text()


def install(sources: Mapping[str, str]) -> None:
    """Make classes known that came with a job. Whoever starts a job has named this code, here or elsewhere."""
    for reference, text in sources.items():
        _install(reference, text)


@cache
def _install(reference: str, text: str) -> None:
    home, _, name = reference.rpartition(":")
    _FOLDERS.append(tempfile.TemporaryDirectory(prefix="digitwise-"))
    path = Path(_FOLDERS[-1].name, Path(home).name)
    path.write_text(text)
    load(f"{path}:{name}", known_as=home)
