"""A run is a folder, and only this file touches it.

    config.json         the resolved experiment
    environment.json    versions, machine and commit it was made with
    metrics.jsonl       loss while training; accuracy on the validation set at each checkpoint; checks of every case
    checkpoints/N.safetensors   weights after N steps, for each kept step
    state.safetensors   what resuming needs, until training is finished; state-before.safetensors the one before it
    counts.json         results of evaluations

Every file but the log is written beside its place and moved there in one step, so a kill leaves the old one or the new.
Files of tensors have a checksum and a copy of the log: what was damaged is noticed, and the one before is used.
"""

import json
import logging
import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from digitwise.config import describe
from digitwise.counts import Count, updated
from digitwise.runs import logged, state
from digitwise.runs.engine import environment
from digitwise.runs.experiment import Experiment
from digitwise.runs.files import load_weights, locked, read_notes, save_weights, settle
from digitwise.runs.written import FORMAT, read_experiment
from digitwise.tables import read_json, replacing, rows_to_json

_warn = logging.getLogger("digitwise").warning


class Run:
    def __init__(self, folder: Path, experiment: Experiment):
        self.folder, self.experiment = Path(folder), experiment
        self.address = str(self.folder.resolve())  # where the run is kept, wherever it works

    @classmethod
    def create(cls, folder: Path, experiment: Experiment) -> "Run":
        folder = Path(folder)
        if not is_main_process():
            return cls(folder, experiment)
        refuse_taken(folder, experiment)
        experiment.rehearse()
        folder.mkdir(parents=True, exist_ok=True)
        run = cls(folder, experiment)
        run._write_json("environment.json", environment())
        run._write_json("config.json", {"format": FORMAT, "experiment": describe(experiment)})
        return run

    @classmethod
    def open(cls, folder: Path) -> "Run":
        folder = Path(folder)
        if not (folder / "config.json").is_file():
            raise ValueError(f"{folder} is not a run folder: it has no config.json")
        return cls(folder, read_experiment(folder / "config.json"))

    def beside(self, experiment: Experiment) -> "Run":
        """The run of an earlier stage."""
        return open_or_create(self.stage_folder(experiment), experiment)

    def stage_folder(self, experiment: Experiment) -> Path:
        """Where an earlier stage lives. In a folder of results it stands under its own name, so that several runs can
        share it; elsewhere it stands beside the run, named after both."""
        if self.folder.parent.name == self.experiment.name:
            return self.folder.parent.parent / experiment.name / self.folder.name
        return self.folder.with_name(f"{self.folder.name}-{experiment.name}")

    def share(self, *folders: str) -> None:
        """Take folders that others write in the run's, such as trackers, to where it is kept: they are there."""

    # Weights

    def checkpoints(self) -> list[int]:
        """Steps that were kept: each was validated when it was written. Results can be read without the weights."""
        return sorted(self.validation())

    def save_checkpoint(self, step: int, weights: dict[str, torch.Tensor], validation: float | None = None) -> None:
        """Keep weights, and log how they did on the validation set."""
        path = self.weights(step)
        path.parent.mkdir(exist_ok=True)
        row = [] if validation is None else [{"step": step, "validation": validation}]
        with replacing(path) as temporary:
            save_weights(weights, temporary, {"log": self.metrics() + row})
            settle(temporary)  # there is no copy of it, as there is of the state
        for found in row:
            self.log(**found)

    def weights(self, step: int) -> Path:
        return self.folder / "checkpoints" / f"{step}.safetensors"

    def load_checkpoint(self, step: int) -> dict[str, torch.Tensor]:
        path = self.weights(step)
        if not path.exists():
            raise ValueError(f"{self.folder} holds results but not the weights of step {step}: train it again")
        return load_weights(path)

    def intact(self, step: int) -> int:
        """The step, or the kept one before it if the file of its weights was cut off; the damage is named."""
        for found in [step, *reversed([kept for kept in self.checkpoints() if kept < step])]:
            try:
                if self.weights(found).exists():
                    read_notes(self.weights(found))
                return found
            except ValueError as error:
                _warn("%s; the checkpoint before it is used", error)
        return step  # and whoever loads it hears what is wrong

    def select(self, which: str) -> list[int]:
        """Steps of kept checkpoints: `last`, `best` (on the validation set), `all`, numbers, ranges, or several of them
        with commas."""
        there = self.checkpoints()
        if not there:
            raise ValueError(f"{self.folder} has no checkpoint yet: digitwise train --resume {self.folder}")
        chosen: set[int] = set()
        for word in which.split(","):
            if word == "all":
                chosen |= set(there)
            elif word == "last":
                chosen.add(there[-1])
            elif word == "best":
                chosen.add(self.best())
            else:
                first, _, last = word.partition("-")
                numbers = all(part.isdecimal() and len(part) < 19 for part in (first, last or first))
                found = [step for step in there if numbers and int(first) <= step <= int(last or first)]
                if not found:
                    known = ", ".join(map(str, there))
                    raise ValueError(f"no checkpoint '{word}' in {self.folder}; there is last, best, all, {known}")
                chosen |= set(found)
        return sorted(chosen)

    def best(self) -> int:
        """The kept checkpoint that does best on the validation set of longer numbers, the later one of equals."""
        scores = self.validation()
        return max(self.checkpoints(), key=lambda step: (scores.get(step, -1.0), step))

    def titles(self, step: int) -> str:
        """What a checkpoint is, in words: `last`, `best on validation`, both or nothing."""
        words = ["last"] * (step == self.checkpoints()[-1]) + ["best on validation"] * (step == self.best())
        return ", ".join(words)

    @property
    def finished(self) -> bool:
        training, kept, found = self.experiment.training, self.checkpoints(), self.proof()
        last = training.until_proven or training.steps
        return last in kept or (found.get("enough", False) and found["step"] in kept)

    def proof(self) -> dict[str, Any]:
        """What the last check of every case found, if there was one."""
        return next((row for row in reversed(self.metrics()) if "verdict" in row), {})

    # State to resume from

    def save_state(self, values: dict[str, Any]) -> None:
        state.save(self.folder, values, self.metrics())

    def load_state(self) -> dict[str, Any] | None:
        return state.load(self.folder)

    def drop_state(self) -> None:
        state.drop(self.folder)

    # Log

    def log(self, **row: Any) -> None:
        logged.append(self.folder / "metrics.jsonl", row)

    def metrics(self) -> logged.Rows:
        return logged.read(self.folder / "metrics.jsonl")

    def mend(self) -> None:
        """Put back what the log has lost: the state and every checkpoint hold a copy of it."""
        state.mend_log(self.folder)

    def forget_after(self, step: int) -> None:
        """Drop what was logged and kept after `step`: it will be made again."""
        if not is_main_process():
            return
        logged.rewrite(self.folder / "metrics.jsonl", (row for row in self.metrics() if row["step"] <= step))
        for path in (self.folder / "checkpoints").glob("*.safetensors"):
            if path.stem.isdigit() and int(path.stem) > step:
                path.unlink()

    def validation(self) -> dict[int, float]:
        """Accuracy on the validation set by checkpoint."""
        return {row["step"]: row["validation"] for row in self.metrics() if "validation" in row}

    def seconds(self) -> float:
        """Time spent training so far."""
        return max((row["seconds"] for row in self.metrics() if "seconds" in row), default=0.0)

    def environment(self) -> dict[str, Any]:
        return read_json(self.folder / "environment.json")

    # Results

    def counts(self) -> list[Count]:
        path = self.folder / "counts.json"
        rows = read_json(path) if path.exists() else []
        try:
            if not isinstance(rows, list):
                raise TypeError("it is not a list")
            return [Count(**row) for row in rows]
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path} is damaged: {error}") from error

    def add_counts(self, new: Iterable[Count]) -> list[Count]:
        with locked(self.folder / "config.json", wait=True):  # another process may be testing the same run
            counts = updated(self.counts(), new)
            with replacing(self.folder / "counts.json") as temporary:
                temporary.write_text(rows_to_json(map(asdict, counts)) + "\n")
        return counts

    def _write_json(self, name: str, value: Any) -> None:
        with replacing(self.folder / name) as temporary:
            temporary.write_text(json.dumps(value, indent=1) + "\n")


def is_main_process() -> bool:
    """Of several processes that train one model together, the first alone writes (torchrun and accelerate set RANK)."""
    return os.environ.get("RANK", "0") == "0"


def refuse_taken(folder: Path, experiment: Experiment) -> None:
    """Refuse a folder that holds anything but what a start that was cut off leaves: no config.json."""
    if not is_main_process() or not folder.exists():
        return
    if folder.is_dir() and all(p.name == "environment.json" or p.name.startswith(".") for p in folder.iterdir()):
        return
    if (folder / "config.json").is_file() and read_experiment(folder / "config.json") != experiment:
        raise ValueError(f"{folder} holds another experiment: choose another --name or --out")
    raise ValueError(f"{folder} is there already: go on with --resume {folder}, or choose another --out")


def open_or_create(folder: Path, experiment: Experiment) -> Run:
    """The run of an experiment in a folder; a folder with another experiment is refused."""
    if not (folder / "config.json").exists():
        return Run.create(folder, experiment)
    run = Run.open(folder)
    if run.experiment != experiment:
        raise ValueError(f"{folder} holds another experiment: choose another --out, or remove it")
    return run
