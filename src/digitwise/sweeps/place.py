"""Where the results of many runs are: a folder, or any address that fsspec supports, such as s3://bucket/study.

In a folder, runs are written directly. Elsewhere a run works in a scratch folder, and what it writes is copied at once.
"""

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch

from digitwise.counts import Count
from digitwise.runs.experiment import Experiment
from digitwise.runs.folder import Run, open_or_create
from digitwise.runs.places import below
from digitwise.runs.state import BEFORE, STATE
from digitwise.tables import replacing


class Place:
    def __init__(self, where: str | Path):
        import fsspec  # takes a while

        self.where = str(where)
        try:
            self.files, root = fsspec.core.url_to_fs(self.where)
        except (ImportError, ValueError) as error:
            raise ValueError(f"--out {where}: {error}") from error
        self.root = root.rstrip("/")
        self.folder = Path(self.root) if "file" in _protocols(self.files) else None
        if self.folder is None:
            self._reach()

    def _reach(self) -> None:
        """Refuse an address that does not answer, or for which there are no credentials."""
        try:
            self.files.exists(self.root)
        except Exception as error:  # whatever its library calls it
            raise ValueError(f"--out {self.where}: {' '.join(str(error).split())}") from error

    @property
    def address(self) -> str:
        """What other processes and machines find the place by."""
        return self.root if self.folder is not None else self.where

    def path(self, *names: str) -> str:
        return "/".join([self.root, *names])

    def run(self, name: str, experiment: Experiment, scratch: Path) -> Run:
        """The run of an experiment, begun or gone on with; another experiment under the same name is refused."""
        if self.folder is not None:
            return open_or_create(below(self.folder, *name.split("/")), experiment)
        return Mirror.of(self, name, experiment, below(scratch, *name.split("/")))

    def names(self, *folder: str) -> list[str]:
        """What stands in a folder of the place."""
        self.files.invalidate_cache()  # others write there too
        try:
            found = self.files.ls(self.path(*folder), detail=False)
        except FileNotFoundError:
            return []
        return sorted(str(path).rstrip("/").rpartition("/")[2] for path in found)

    def below(self, *folder: str) -> list[str]:
        """Every file below a folder of the place, by its path from there. 10,000 folders are listed at once, too."""
        self.files.invalidate_cache()
        try:
            return [self.inside(path, *folder) for path in self.files.find(self.path(*folder))]
        except FileNotFoundError:
            return []

    def inside(self, path: str, *folder: str) -> str:
        """The path of a file from a folder of the place that it is in."""
        return str(path).split(self.path(*folder).lstrip("/") + "/", 1)[1]

    def exists(self, *names: str) -> bool:
        return self.files.exists(self.path(*names))

    def read(self, *names: str) -> Any:
        """The content of a JSON file, or None where it cannot be read."""
        return self.read_all([self.path(*names)])[0]

    def read_all(self, paths: Sequence[str]) -> list[Any]:
        """The contents of JSON files, fetched together; None for those that cannot be read."""
        return [_parsed(found) for found in self.files.cat_ranges(list(paths), None, None, on_error="return")]

    def write(self, value: Any, *names: str) -> None:
        text = json.dumps(value) + "\n"
        if self.folder is not None:
            with replacing(Path(self.path(*names))) as temporary:
                temporary.write_text(text)
        else:
            self.files.pipe_file(self.path(*names), text.encode())

    def create(self, value: Any, *names: str) -> bool:
        """Write a file that must not be there; returns whether it was not. Of several who try, one succeeds."""
        path = self.path(*names)
        self.files.makedirs(path.rpartition("/")[0], exist_ok=True)
        data = (json.dumps(value) + "\n").encode()
        try:
            if self.folder is None:
                self.files.pipe_file(path, data, mode="create")
                return True
            temporary = Path(path).with_name(f".{os.urandom(8).hex()}")
            temporary.write_bytes(data)
            try:
                os.link(temporary, path)  # with its content at once, which opening a new file has not
            finally:
                temporary.unlink()
            return True
        except FileExistsError:
            return False
        except OSError:  # stores like S3 may say that a condition was not met, and not which
            self.files.invalidate_cache()
            if self.exists(*names):
                return False
            raise
        except (TypeError, NotImplementedError) as error:
            raise ValueError(
                f"{self.where} cannot create files that only one may create: choose another --out"
            ) from error


def _parsed(content: Any) -> Any:
    try:
        return json.loads(content)
    except (TypeError, ValueError, RecursionError):  # a TypeError: fsspec returned an exception, not a content
        return None


def _protocols(files: Any) -> tuple[str, ...]:
    return (files.protocol,) if isinstance(files.protocol, str) else tuple(files.protocol)


class Mirror(Run):
    """A run in a scratch folder whose files are copied to a place that is not a folder."""

    place: Place
    name: str

    @classmethod
    def of(cls, place: Place, name: str, experiment: Experiment, scratch: Path) -> "Mirror":
        if not scratch.exists() and place.exists(name, "config.json"):
            scratch.mkdir(parents=True, exist_ok=True)
            for path in place.files.find(place.path(name)):
                to = scratch / place.inside(path, name)
                to.parent.mkdir(parents=True, exist_ok=True)
                place.files.get_file(path, str(to))
        opened = open_or_create(scratch, experiment)
        run = cls(opened.folder, opened.experiment)
        run.place, run.name, run.address = place, name, f"{place.where.rstrip('/')}/{name}"
        run.copy("environment.json", "config.json")
        return run

    def beside(self, experiment: Experiment) -> Run:
        return Mirror.of(self.place, f"{experiment.name}/{self.folder.name}", experiment, self.stage_folder(experiment))

    def share(self, *folders: str) -> None:
        files = [path for folder in folders for path in (self.folder / folder).rglob("*") if path.is_file()]
        self.copy(*(path.relative_to(self.folder).as_posix() for path in files))

    def copy(self, *names: str) -> None:
        for name in names:
            if (self.folder / name).exists():
                to = self.place.path(self.name, name)
                self.place.files.makedirs(to.rpartition("/")[0], exist_ok=True)
                self.place.files.put_file(str(self.folder / name), to)

    def save_checkpoint(self, step: int, weights: dict[str, torch.Tensor], validation: float | None = None) -> None:
        super().save_checkpoint(step, weights, validation)
        self.copy(f"checkpoints/{step}.safetensors", "metrics.jsonl")

    def save_state(self, values: dict[str, Any]) -> None:
        super().save_state(values)
        if self.place.exists(self.name, STATE):
            self.place.files.mv(self.place.path(self.name, STATE), self.place.path(self.name, BEFORE))
        self.copy("metrics.jsonl", STATE)

    def drop_state(self) -> None:
        super().drop_state()
        self.copy("metrics.jsonl")
        for name in (BEFORE, STATE):
            if self.place.exists(self.name, name):
                self.place.files.rm_file(self.place.path(self.name, name))

    def add_counts(self, new: Iterable[Count]) -> list[Count]:
        counts = super().add_counts(new)
        self.copy("counts.json")
        return counts
