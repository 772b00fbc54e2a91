"""An experiment in full: what is learned from what, by which model, and how far it is tested. Plain data."""

import hashlib
import math
import re
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from digitwise.config import describe, restore, successor
from digitwise.data import DISTRIBUTIONS, UniformLengths
from digitwise.encodings import ENCODINGS, Encoding, Relative
from digitwise.models import ARCHITECTURES, Architecture, Blueprint, Model
from digitwise.rng import generator
from digitwise.runs.engine import OPTIMIZERS
from digitwise.runs.limits import refuse_absurd, refuse_memory
from digitwise.tables import flat, read_json
from digitwise.tasks import TASKS, Addition, Distribution, Task

LONGEST = 100_000
"""Digits of numbers in training, and width of a canvas: what is beyond is refused before memory is taken for it."""


@dataclass(frozen=True)
class Training:
    steps: int = 2000
    until_proven: int = 0
    """For cells that tell each other bits: check every case, practise what is wrong, and end when all is proven. After
    the last step go on at the floor of the rate, up to this many steps in all. 0 checks nothing."""
    batch: int = 64
    """Problems per step, over all processes and accumulated parts."""
    draws: int = 1
    """Draws that make up a batch. Where all problems of a draw have one kind and one greatest length (`data.downward`),
    several of them in a step tell more about where to go than one."""
    rate: float = 1e-3
    optimizer: str = "adamw"
    """`adamw`, or `muon`, which needs fewer but dearer steps where tables have to be learned, as for products."""
    schedule: str = "cosine"
    """`cosine` falls to zero at the last step, `constant` stays; both after the warm-up."""
    floor: float = 0.0
    """Share of the rate that the cosine does not fall below."""
    warmup: int = 100
    decay: float = 1e-4
    """Weight decay; the paper tries 3e-6, 1e-5, 3e-5 and 1e-4."""
    average: float = 0.0
    """Checkpoints hold a running average of the weights, of which a step keeps this share; 0 keeps the weights as they
    are. Averages over a high constant rate carry to much longer numbers than any single step (LOG.md)."""
    clip: float = 1.0
    """Largest norm of the gradient; 0 does not clip."""
    accumulate: int = 1
    """Parts that a batch is split into to save memory; the result is the same."""
    precision: str = "no"
    """`bf16` or `fp16` where the device has it."""
    pool: int = 0
    """Train on a fixed pool of this many problems (the paper: 100,000 or 500,000); 0 makes new ones every step."""
    checkpoints: int = 4
    """How many evenly spaced checkpoints are kept; accuracy on long numbers differs between them."""
    save_seconds: float = 60.0
    """How often the state to resume from is written."""

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "draws", "accumulate", "checkpoints"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.until_proven and not (self.until_proven >= self.steps and self.average == 0):
            raise ValueError(
                "until_proven must not be below steps, and needs average 0: a mean of weights has other bits"
            )
        if self.batch % (self.accumulate * self.draws):
            parts = f"{self.accumulate} x {self.draws}" if self.draws > 1 else self.accumulate
            raise ValueError(f"accumulate must divide batch, and {parts} does not divide {self.batch}")
        if not 0 <= self.average < 1:
            raise ValueError(f"average must be from 0 to below 1, not {self.average}")
        if not 0 <= self.floor <= 1:
            raise ValueError(f"floor must be from 0 to 1, not {self.floor}")
        if self.schedule not in ("cosine", "constant"):
            raise ValueError(f"schedule must be 'cosine' or 'constant', not '{self.schedule}'")
        if self.optimizer not in OPTIMIZERS:
            raise ValueError(f"optimizer must be one of {', '.join(OPTIMIZERS)}, not '{self.optimizer}'")
        if self.precision not in ("no", "bf16", "fp16"):
            raise ValueError(f"precision must be 'no', 'bf16' or 'fp16', not '{self.precision}'")
        for name in ("rate", "warmup", "decay", "clip", "pool", "save_seconds"):
            if not 0 <= getattr(self, name) < math.inf:  # nan is neither
                raise ValueError(f"{name} must be a number that is not negative, not {getattr(self, name)}")

    @property
    def kept_steps(self) -> list[int]:
        """Steps after which a checkpoint is kept; the last step is always one."""
        return sorted({max(1, self.steps * part // self.checkpoints) for part in range(1, self.checkpoints + 1)})


@dataclass(frozen=True)
class Testing:
    lengths: tuple[int, ...] = tuple(range(1, 21))
    problems: int = 1000
    """Per length."""
    validation_lengths: tuple[int, ...] = (10,)
    """The best checkpoint is the one that does best here; none of these problems is ever in a test."""
    validation_problems: int = 200
    """Per validation length."""

    def __post_init__(self) -> None:
        if self.problems < 1 or self.validation_problems < 0:
            raise ValueError("problems must be at least 1, and validation_problems not negative")
        longest = max([*self.lengths, *self.validation_lengths], default=0)
        refuse_memory("a test", 8 * longest * max(self.problems, self.validation_problems), "")


@dataclass(frozen=True)
class Experiment:
    name: str = "experiment"
    task: Task = field(default_factory=Addition)
    data: Distribution = field(default_factory=UniformLengths)
    """What is trained on."""
    encoding: Encoding = field(default_factory=Relative)
    architecture: Blueprint = field(default_factory=Architecture)
    training: Training = field(default_factory=Training)
    testing: Testing = field(default_factory=Testing)
    seed: int = 0

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][\w.-]*", self.name):
            raise ValueError(f"name must be of letters, digits, dots and dashes, not '{self.name}': it names a folder")
        if self.seed < 0:
            raise ValueError(f"seed must not be negative, and {self.seed} is")
        if self.training.pool and self.task.longest is None:
            raise ValueError("problems without a canvas are drawn anew in every step: leave pool at 0")
        width = self.data.width(self.task.longest)  # refuses what does not fit the canvas
        if max(width, self.task.longest or 0) > LONGEST:
            raise ValueError(
                f"training on {max(width, self.task.longest or 0):,} places is beyond {LONGEST:,}, the most"
            )
        for length in (*self.testing.lengths, *self.testing.validation_lengths):
            if length < 1 or length > (self.task.longest or length):
                raise ValueError(
                    f"a test of {length} digits needs a canvas of at least {length}, not {self.task.longest}"
                )

    def rehearse(self) -> None:
        """Refuse at once what would fail later: build the model without memory for its weights, and draw problems."""
        model = refuse_absurd(self)
        tokens = self.task.encode(self.task.draw(self.data, generator(self.seed, "rehearsal"), 2)).tokens
        refuse_memory("one problem", 4 * model.floats(tokens.shape[1]))
        refuse_memory("a batch or a pool", 64 * max(self.training.batch, self.training.pool) * tokens.shape[1])

    @property
    def trained_length(self) -> int:
        """The longest numbers that training shows, zeros that were appended aside."""
        return self.data.most_digits(self.task.longest)

    def build(self) -> Model:
        """Return the model, with weights drawn from torch's current random state."""
        task = self.task
        return self.architecture.build(self.encoding, task.extent, len(task.symbols), task.answer_symbols)


FORMAT = 2
"""Of config.json; format 1 is still read."""
#: Names that stand for whole objects on the command line.
CHOICES: dict[str, dict[str, Any]] = {
    "task": TASKS,
    "data": DISTRIBUTIONS,
    "encoding": ENCODINGS,
    "architecture": ARCHITECTURES,
}


def classes() -> dict[str, Any]:
    """Our classes that a config file may name; what is added to the registries counts at once."""
    parts = (Training, Testing, Experiment)
    return {found.__name__: found for found in (*(c for known in CHOICES.values() for c in known.values()), *parts)}


def changes_in_words(recipe: Experiment, experiment: Experiment) -> str:
    """What was changed in a recipe's experiment, for a file name: `encoding=uniform-steps=500`, or a hash where that is
    long. Name and seed have places of their own."""
    words: dict[str, str] = {}
    for part in (f.name for f in fields(Experiment) if f.name not in ("name", "seed")):
        old, new = getattr(recipe, part), getattr(experiment, part)
        if type(old) is not type(new):
            known = {kind: name for name, kind in CHOICES[part].items()}
            words[part] = known.get(type(new), type(new).__name__)
            old = successor(old, type(new))
        before, after = flat(describe(old), part), flat(describe(new), part)
        for path in (path for path, value in after.items() if before.get(path) != value):
            name = path.removesuffix(".kind").rpartition(".")[2]
            words[path if name in words else name] = _word(after[path])
    text = re.sub(r"[^\w.,=+-]", "_", "-".join(f"{name}={word}" for name, word in words.items()))
    return text if len(text) <= 80 else f"changed-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _word(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(_word, value))
    return f"{value:g}" if isinstance(value, float) else str(value).lower()


def read_experiment(path: Path) -> Experiment:
    """Return the experiment that a config.json describes, also of an earlier format."""
    data = read_json(path)
    if not isinstance(data, dict) or data.get("format") not in (1, FORMAT):
        raise ValueError(f"{path} is not of format {FORMAT}, the one this version reads")
    if unknown := set(data) - {"format", "experiment", "name"}:
        raise ValueError(f"{path} has an unknown key '{min(unknown)}': this version does not read it")
    try:
        described = data["experiment"]
        experiment = restore(_upgraded(described) if data["format"] == 1 else described, classes())
        if not isinstance(experiment, Experiment):
            raise ValueError(f"it holds {type(experiment).__name__}")
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path} does not describe an experiment: {error}") from error
    return experiment


def _upgraded(old: dict[str, Any]) -> dict[str, Any]:
    """An experiment of format 1: models without a canvas had no architecture of their own, `ByColumn` said whether
    there were products, and lengths could be shared."""

    def mend(part: Any) -> Any:
        if isinstance(part, list):
            return [mend(item) for item in part]
        if not isinstance(part, dict):
            return part
        gone = {"ByColumn": {"products"}, "UniformLengths": {"equal"}}.get(part.get("kind", ""), set())
        return {name: mend(value) for name, value in part.items() if name not in gone}

    new = mend(old)
    if new.get("kind") == "Experiment" and new["task"]["kind"] == "Arithmetic":
        kept = ("layers", "width", "heads", "feedforward", "dropout")
        new["architecture"] = {"kind": "Columns"} | {name: new["architecture"][name] for name in kept}
    return new
