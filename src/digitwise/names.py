"""Things by name: ours, those of installed packages, and those in a file of one's own.

`lookup` is how the command line finds an encoding, a task, a distribution, a suite, a recipe or an architecture:

    relative                       one of ours
    near-or-far                    offered by an installed package as an entry point (group `digitwise.encodings`)
    path/to/mine.py:NearOrFar      in a file
    package.module:NearOrFar       in any module that can be imported

A run folder names the classes that it was made with, but it never makes the program import one: whoever opens a
stranger's run says which code to trust, with `--import path/to/mine.py:NearOrFar`.
"""

import difflib
import hashlib
import importlib.util
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

#: The groups of entry points, by what a name stands for.
GROUPS = {
    "task": "digitwise.tasks",
    "data": "digitwise.distributions",
    "encoding": "digitwise.encodings",
    "architecture": "digitwise.architectures",
    "suite": "digitwise.suites",
    "recipe": "digitwise.recipes",
}
_FILES: dict[str, str] = {}  # from the name that a file got as a module to its path, as it was given
_LOADED: dict[str, Any] = {}  # by name; the last one of a name wins


def lookup(name: str, known: Mapping[str, T], what: str) -> T:
    """Return what a name stands for. Whoever gives a name with a colon names code to be imported."""
    if name in known:
        return known[name]
    if ":" in name:
        return load(name)
    offered = {point.name: point for point in entry_points(group=GROUPS[what])}
    if name in offered:
        return _remember(offered[name].load())
    raise ValueError(f"no {what} '{name}'{did_you_mean(name, [*known, *offered])}")


def load(reference: str) -> Any:
    """Import `path/to/file.py:Name` or `package.module:Name` and return what it names."""
    home, _, name = reference.rpartition(":")
    if not home or not name:
        raise ValueError(f"'{reference}' does not name code: write path/to/file.py:Name or package.module:Name")
    try:
        module = _from_file(home) if home.endswith(".py") else importlib.import_module(home)
    except Exception as error:  # whatever somebody's module raises
        raise ValueError(f"{home} cannot be imported: {type(error).__name__}: {error}") from error
    if name not in vars(module):
        raise ValueError(f"{home} has no '{name}'{did_you_mean(name, [n for n in vars(module) if n[0] != '_'])}")
    return _remember(getattr(module, name))


def own(name: str, reference: str) -> type:
    """Return a class that is not ours, if it was loaded or if an installed package offers it; nothing else is imported.

    `reference` is where a run folder says that it comes from.
    """
    if name not in _LOADED:
        for point in _offered():
            if point.value == reference:
                return _remember(point.load())
    if name not in _LOADED:
        file = reference.startswith("__main__")
        pass_on = f"FILE.py:{name}, with the file that defines it" if file else reference
        raise ValueError(f"{name} comes from {reference}, which was not imported: if you trust it, --import {pass_on}")
    return _LOADED[name]


def origin(kind: type) -> str:
    """Return where a class comes from, as `load` takes it; nothing for our own."""
    home = kind.__module__
    if home == "digitwise" or home.startswith("digitwise."):
        return ""
    _LOADED[kind.__name__] = kind  # it is here, so it can be used again in this process
    return f"{_FILES.get(home, home)}:{kind.__qualname__}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(near)}?" if near else f"; there is {', '.join(sorted(known))}"


def _remember(found: Any) -> Any:
    _LOADED[getattr(found, "__name__", str(found))] = found
    return found


def _offered() -> list[EntryPoint]:
    return [point for group in GROUPS.values() for point in entry_points(group=group)]


def _from_file(path: str) -> Any:
    """Return the file as a module, executed once per content of its path."""
    where = Path(path).resolve()
    if not where.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    name = f"digitwise_own_{where.stem}_{hashlib.sha256(str(where).encode()).hexdigest()[:8]}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, where)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses look their module up
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    _FILES[name] = path
    return sys.modules[name]
