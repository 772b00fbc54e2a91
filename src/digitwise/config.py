"""Frozen dataclasses to and from JSON, single fields changed from the command line, and things found by name.

`lookup` is how the command line finds a task, an encoding, a distribution, an architecture, a suite or a recipe:

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
import typing
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, TypeVar

from digitwise.tables import parse_value

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
LENGTH = ("max_length", "length")
"""Fields that say how long numbers are: the same thing under two names."""
SHARED = ("encoding", "architecture", "seed")
"""Fields that all stages of an experiment have in common: those of the last one count."""
_FILES: dict[str, str] = {}  # from the name that a file got as a module to its path, as it was given
_LOADED: dict[str, Any] = {}  # by name; the last one of a name wins


def describe(value: Any) -> Any:
    """Return a value made of dataclasses, tuples and plain values as JSON.

    A dataclass names its class under `kind`, and under `from` where it comes from if it is not ours.
    """
    if is_dataclass(value) and not isinstance(value, type):
        known = {"kind": type(value).__name__} | ({"from": origin(type(value))} if origin(type(value)) else {})
        return known | {f.name: describe(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, tuple | list):
        return [describe(item) for item in value]
    return value


def restore(data: Any, known: Mapping[str, type]) -> Any:
    """Return what `describe` described; `known` maps the names of our classes to them. Lists become tuples.

    Nothing is imported for this: a class that is not ours must have been loaded before (`names.own`).
    """
    if isinstance(data, list):
        return tuple(restore(item, known) for item in data)
    if not isinstance(data, dict):
        return data
    name = str(data.get("kind"))
    if "from" not in data and name not in known:
        raise ValueError(f"unknown kind '{name}'{did_you_mean(name, known)}")
    found: Any = own(name, str(data["from"])) if "from" in data else known[name]
    names = {f.name for f in fields(found)}
    unknown = set(data) - names - {"kind", "from"}
    if unknown:
        raise ValueError(f"{name} has no field '{min(unknown)}'{did_you_mean(min(unknown), names)}")
    return found(**{key: restore(item, known) for key, item in data.items() if key not in ("kind", "from")})


def override(config: Any, changes: Mapping[str, str], choices: Mapping[str, Mapping[str, type]]) -> Any:
    """Change fields by name: `{"steps": "500", "architecture.width": "64", "encoding": "relative"}`.

    A name may leave out leading parts while it stays unique. `choices` gives, for fields that hold an object, the
    names that may stand for it; the new object is the `successor` of the old one.
    """
    # Whole objects first, so that `--encoding relative --encoding.reach 8` works in either order.
    for name, text in sorted(changes.items(), key=lambda change: change[0].rpartition(".")[2] not in choices):
        config = _set(config, find_field(config, name), text, choices)
    return config


def paths(config: Any, prefix: str = "") -> list[str]:
    """Dotted names of all fields, outer ones first."""
    out = []
    for name in (f.name for f in fields(config) if not (prefix.endswith("after.") and f.name in SHARED)):
        value = getattr(config, name)
        out += [prefix + name, *(paths(value, f"{prefix}{name}.") if is_dataclass(value) else ())]
    return out


def find_field(config: Any, name: str) -> str:
    """Return the dotted name of the field that a name, whose leading parts may be left out, stands for."""
    name = name.replace("-", "_")
    known = paths(config)
    matches = [path for path in known if path == name] or [path for path in known if path.endswith(f".{name}")]
    matches = [path for path in matches if not path.startswith("after.")] or matches  # the last stage is meant
    if len(matches) > 1:
        raise ValueError(f"--{name} could be {' or '.join('--' + path for path in matches)}")
    if not matches:
        ends = {path.rpartition(".")[2]: path for path in reversed(known)} | {path: path for path in known}
        near = difflib.get_close_matches(name, ends, n=3, cutoff=0.5)
        hint = " or ".join(dict.fromkeys(f"--{near_name}" for near_name in near)) or "digitwise train RECIPE --show"
        raise ValueError(f"no field '{name}'; did you mean {hint}?")
    return matches[0]


def _set(config: Any, path: str, text: str, choices: Mapping[str, Mapping[str, type]]) -> Any:
    head, _, rest = path.partition(".")
    value = getattr(config, head)
    if rest:
        return replace(config, **{head: _set(value, rest, text, choices)})
    if head in choices:
        chosen: Any = lookup(text, choices[head], head)
        if not isinstance(chosen, type):
            raise ValueError(f"--{head} {text}: a {head} must be a frozen dataclass")
        try:
            return replace(config, **{head: successor(value, chosen)})
        except TypeError:
            raise ValueError(f"--{head} {text}: a {head} must be a frozen dataclass") from None
    annotation = typing.get_type_hints(type(config))[head]
    try:
        return replace(config, **{head: parse_value(text, annotation)})
    except (TypeError, KeyError) as error:
        raise ValueError(f"--{path} cannot be set from the command line") from error
    except ValueError as error:
        raise ValueError(f"--{path}: {error}") from error


def successor(old: Any, new_class: type) -> Any:
    """Return an object of another class with the fields that both have, and with the trained length of the old one."""
    shared = {f.name for f in fields(new_class)} & {f.name for f in fields(old)}
    new = new_class(**{name: getattr(old, name) for name in shared})
    lengths = _lengths(old)
    return _of_length(new, max(lengths)) if lengths else new


def _lengths(value: Any) -> list[int]:
    """The lengths that an object, or what it is made of, is about."""
    if isinstance(value, tuple):
        return [length for item in value for length in _lengths(item)]
    if not is_dataclass(value):
        return []
    parts = {f.name: getattr(value, f.name) for f in fields(value)}
    return [parts[name] for name in LENGTH if name in parts] or _lengths(tuple(parts.values()))


def _of_length(value: Any, length: int) -> Any:
    if isinstance(value, tuple):
        return tuple(_of_length(item, length) for item in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    parts = {f.name: getattr(value, f.name) for f in fields(value)}
    return replace(value, **{n: length if n in LENGTH else _of_length(part, length) for n, part in parts.items()})


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


def load(reference: str, known_as: str = "") -> Any:
    """Import `path/to/file.py:Name` or `package.module:Name` and return what it names."""
    home, _, name = reference.rpartition(":")
    if not home or not name:
        raise ValueError(f"'{reference}' does not name code: write path/to/file.py:Name or package.module:Name")
    try:
        module = _from_file(home, known_as) if home.endswith(".py") else importlib.import_module(home)
    except Exception as error:  # whatever somebody's module raises
        raise ValueError(f"{home} cannot be imported: {type(error).__name__}: {error}") from error
    if name not in vars(module):
        raise ValueError(f"{home} has no '{name}'{did_you_mean(name, [n for n in vars(module) if n[0] != '_'])}")
    for found in vars(module).values():
        if isinstance(found, type) and found.__module__ == module.__name__:
            _remember(found)
    return getattr(module, name)


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


def origin(found: type) -> str:
    """Return where a class comes from, as `load` takes it; nothing for our own."""
    home = found.__module__
    if home == "digitwise" or home.startswith("digitwise."):
        return ""
    _LOADED[found.__name__] = found  # it is here, so it can be used again in this process
    return f"{_FILES.get(home, home)}:{found.__qualname__}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(near)}?" if near else f"; there is {', '.join(sorted(known))}"


def _remember(found: Any) -> Any:
    _LOADED[getattr(found, "__name__", str(found))] = found
    return found


def _offered() -> list[EntryPoint]:
    return [point for group in GROUPS.values() for point in entry_points(group=group)]


def _from_file(path: str, known_as: str = "") -> Any:
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
    _FILES[name] = known_as or path
    return sys.modules[name]
