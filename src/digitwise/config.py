"""Frozen dataclasses to and from JSON, single fields changed from the command line, and classes found by name."""

import difflib
import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from digitwise.names import did_you_mean, lookup, origin, own


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


def restore(data: Any, kinds: Mapping[str, type]) -> Any:
    """Return what `describe` described; `kinds` maps the names of our classes to them. Lists become tuples.

    Nothing is imported for this: a class that is not ours must have been loaded before (`names.own`).
    """
    if isinstance(data, list):
        return tuple(restore(item, kinds) for item in data)
    if not isinstance(data, dict):
        return data
    kind = str(data.get("kind"))
    if "from" not in data and kind not in kinds:
        raise ValueError(f"unknown kind '{kind}'{did_you_mean(kind, kinds)}")
    found: Any = own(kind, str(data["from"])) if "from" in data else kinds[kind]
    known = {f.name for f in fields(found)}
    unknown = set(data) - known - {"kind", "from"}
    if unknown:
        raise ValueError(f"{kind} has no field '{min(unknown)}'{did_you_mean(min(unknown), known)}")
    return found(**{name: restore(item, kinds) for name, item in data.items() if name not in ("kind", "from")})


def override(config: Any, changes: Mapping[str, str], choices: Mapping[str, Mapping[str, type]]) -> Any:
    """Change fields by name: `{"steps": "500", "architecture.width": "64", "encoding": "relative"}`.

    A name may leave out leading parts while it stays unique. `choices` gives, for fields that hold an object, the
    names that may stand for it; the new object keeps the fields that the old one shared with it.
    """
    # Whole objects first, so that `--encoding relative --encoding.reach 8` works in either order.
    for name, text in sorted(changes.items(), key=lambda change: change[0].rpartition(".")[2] not in choices):
        config = _set(config, _find(config, name), text, choices)
    return config


def paths(config: Any, prefix: str = "") -> list[str]:
    """Dotted names of all fields, outer ones first."""
    out = []
    for f in fields(config):
        out.append(prefix + f.name)
        value = getattr(config, f.name)
        if is_dataclass(value):
            out += paths(value, f"{prefix}{f.name}.")
    return out


def _find(config: Any, name: str) -> str:
    name = name.replace("-", "_")
    known = paths(config)
    matches = [path for path in known if path == name] or [path for path in known if path.endswith(f".{name}")]
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
        kind: Any = lookup(text, choices[head], head)
        if not is_dataclass(kind):
            raise ValueError(f"--{head} {text}: a {head} must be a frozen dataclass")
        shared = {f.name for f in fields(kind)} & {f.name for f in fields(value)}
        return replace(config, **{head: kind(**{name: getattr(value, name) for name in shared})})
    annotation = typing.get_type_hints(type(config))[head]
    try:
        return replace(config, **{head: _convert(text, annotation)})
    except (TypeError, KeyError) as error:
        raise ValueError(f"--{path} cannot be set from the command line") from error
    except ValueError as error:
        raise ValueError(f"--{path}: {error}") from error


def _convert(text: str, annotation: Any) -> Any:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is types.UnionType:
        if type(None) in arguments and text.lower() in ("none", ""):
            return None
        return _convert(text, next(a for a in arguments if a is not type(None)))
    if origin is tuple:
        return tuple(_convert(part, arguments[0]) for part in text.split(",") if part)
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
