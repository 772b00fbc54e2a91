"""Trackers by name: what accelerate's need to know about a run. None of them is imported unless it is asked for."""

import hashlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

TRACKERS = ("tensorboard", "wandb", "trackio")
FOLDERS = ("tensorboard", "wandb")
"""What trackers write into the folder of a run; trackio has a place of its own."""


class Tracker(NamedTuple):
    """Where a run is logged to beside its own folder."""

    name: str
    folder: Path
    config: dict[str, Any]
    settings: dict[str, Any]

    @classmethod
    def of(cls, name: str, folder: Path, address: str, config: dict[str, Any], start: int) -> "Tracker | None":
        """The tracker of this name for a run that works in a folder and goes on from a step; None without a name.

        The run is known to it by its address, which stays when it goes on in another folder or on another machine.
        """
        refuse_tracker(name)
        title = f"{folder.parent.name}/{folder.name}"
        mark = hashlib.sha256(address.encode()).hexdigest()[:16]
        settings: dict[str, dict[str, Any]] = {
            "tensorboard": {"purge_step": start},
            "wandb": {"name": title, "id": mark, "resume": "allow", "dir": str(folder)},
            "trackio": {"name": f"{title}-{mark[:8]}", "resume": "allow"},  # it knows a run by its name alone
        }
        plain = {key: v if isinstance(v, int | float | bool) else str(v) for key, v in config.items()}
        return cls(name, folder, plain, settings[name]) if name else None


def refuse_tracker(name: str) -> None:
    """Refuse a tracker that is unknown or not installed."""
    if name and name not in TRACKERS:
        raise ValueError(f"--track takes {', '.join(TRACKERS)}, not '{name}'")
    if name and importlib.util.find_spec(name) is None:
        raise ValueError(f"--track {name} needs a package that is not installed: pip install {name}")


@contextmanager
def quiet() -> Iterator[None]:
    """What trackers print is not a result: trackio would print it into the document of --json."""
    with redirect_stdout(sys.stderr):
        yield


def finish(trackers: Iterable[Any]) -> None:
    """Let accelerate's trackers write what they have."""
    with quiet():
        for tracker in trackers:
            tracker.finish()
            if tracker.name == "trackio":  # or it would do so again, and print that, when the program ends
                sys.modules["trackio"].finish()
