"""An experiment in full: what is learned from what, by which model, and how far it is tested. Plain data."""

import math
import re
from dataclasses import dataclass, field, replace
from typing import Any, cast

import torch

from digitwise.config import describe
from digitwise.coordinates import Coordinates
from digitwise.data import UniformLengths
from digitwise.encodings import Encoding, Relative
from digitwise.models import Architecture, Blueprint, Model
from digitwise.rng import generator
from digitwise.runs.limits import refuse_absurd, refuse_memory
from digitwise.runs.optimizers import OPTIMIZERS
from digitwise.tasks import Addition, Distribution, Task

LONGEST = 100_000
"""Digits of numbers in training, and width of a canvas: what is beyond is refused before memory is taken for it."""


@dataclass(frozen=True)
class Training:
    steps: int = 2000
    until_proven: int = 0
    """For cells that tell each other bits: check every case, practise what is wrong, and end when all is proven. After
    the last step go on at the floor of the rate, up to this many steps in all. Where the schedule led to nothing, it
    begins again (`runs.proving`). 0 checks nothing."""
    wait: float = 0.0
    """Halfway to hard bits the schedule stands still until the mean loss is below this, for at most as many steps as
    it has. What is confused when all bits are hard is hardly ever told apart later (LOG.md). 0 never waits."""
    batch: int = 64
    """Problems per step, over all processes and accumulated parts."""
    draws: int = 1
    """Draws that make up a batch. Where all problems of a draw have one kind and one greatest length (`data.downward`),
    several of them in a step tell more about where to go than one."""
    factor: float = 1.0
    """All queries of what is kept and tested are multiplied by this, those of training are not; so are the logits, but
    for biases that no query enters (ALiBi, T5, FIRE). Long numbers spread attention over more digits than any in
    training; sharper attention spreads less (docs/why-it-decays.md)."""
    sharpness: float = 1.0
    """Queries are multiplied by more and more, in the end by this. A network that is trained meanwhile keeps what it
    has learned; one that is sharp from the first step learns less."""
    sharpened: float = 2 / 3
    """Share of the steps in which the sharpness grows, geometrically. Then it stays, so that the network settles at the
    sharpness that it is tested with."""
    dropout: float | None = None
    """Share of the activations that are set to zero in this training; None takes the architecture's. It keeps any
    single share of attention from deciding too much, and costs steps."""
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
    table_decay: float | None = None
    """Weight decay of the positional vectors; None takes `decay`. Training shows few pairs that are far apart, and a
    strong decay brings vectors that nothing holds in place back to zero, where they do no harm."""
    average: float = 0.0
    """Checkpoints hold a running average of the weights, of which a step keeps this share; 0 keeps the weights as they
    are. Averages over a high constant rate carry to much longer numbers than any single step (LOG.md)."""
    clip: float = 1.0
    """Largest norm of the gradient; 0 does not clip."""
    accumulate: int = 1
    """Parts that a batch is split into to save memory; the result is the same."""
    precision: str = "no"
    """`bf16` or `fp16` where the device has it."""
    canvases: tuple[int, ...] = ()
    """Canvases on which batches stand, drawn anew for each batch; none: the task's own. Places whose neighbours are
    missing seem to look at pads, of which long numbers leave few: on a small canvas short numbers leave few too."""
    pool: int = 0
    """Train on a fixed pool of this many problems (the paper: 100,000 or 500,000); 0 makes new ones every step."""
    checkpoints: int = 4
    """How many evenly spaced checkpoints are kept; accuracy on long numbers differs between them."""
    save_seconds: float = 60.0
    """How often the state to resume from is written."""

    def __post_init__(self) -> None:
        for name in ("batch", "draws", "accumulate", "checkpoints"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        for name in ("factor", "sharpness"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be a number above 0, not {getattr(self, name)}")
        if not 0 < self.sharpened <= 1:
            raise ValueError(f"sharpened must be a share above 0 and up to 1, not {self.sharpened}")
        for name in ("dropout", "average"):
            if not 0 <= (getattr(self, name) or 0) < 1:
                raise ValueError(f"{name} must be from 0 to below 1, not {getattr(self, name)}")
        if self.until_proven and not (self.until_proven >= self.steps and self.average == 0):
            raise ValueError("until_proven must not be below steps, and needs average 0: mean weights have other bits")
        if self.batch % (self.accumulate * self.draws):
            parts = f"{self.accumulate} x {self.draws}" if self.draws > 1 else self.accumulate
            raise ValueError(f"accumulate must divide batch, and {parts} does not divide {self.batch}")
        if not 0 <= self.floor <= 1:
            raise ValueError(f"floor must be from 0 to 1, not {self.floor}")
        if self.schedule not in ("cosine", "constant"):
            raise ValueError(f"schedule must be 'cosine' or 'constant', not '{self.schedule}'")
        if self.optimizer not in OPTIMIZERS:
            raise ValueError(f"optimizer must be one of {', '.join(OPTIMIZERS)}, not '{self.optimizer}'")
        if self.precision not in ("no", "bf16", "fp16"):
            raise ValueError(f"precision must be 'no', 'bf16' or 'fp16', not '{self.precision}'")
        for name in ("steps", "rate", "warmup", "decay", "table_decay", "clip", "pool", "save_seconds"):
            if not 0 <= (getattr(self, name) or 0) < math.inf:  # nan is neither
                raise ValueError(f"{name} must be a number that is not negative, not {getattr(self, name)}")

    @property
    def kept_steps(self) -> list[int]:
        """Steps after which a checkpoint is kept; the last step is always one."""
        parts = range(1, self.checkpoints + 1)
        return sorted({max(min(1, self.steps), self.steps * part // self.checkpoints) for part in parts})

    def sharpness_at(self, step: int) -> float:
        """The factor on the queries at a step; it grows geometrically."""
        return self.sharpness ** min(1.0, step / self.steps / self.sharpened) if self.steps else 1.0


@dataclass(frozen=True)
class Testing:
    lengths: tuple[int, ...] = tuple(range(1, 21))
    problems: int = 1000
    """Per length."""
    validation_lengths: tuple[int, ...] = (10,)
    """The best checkpoint is the one that does best here; none of these problems is ever in a test."""
    validation_problems: int = 200
    """Per validation length."""
    carries: bool = True
    """Whether columns of the validation problems may exceed 9."""

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
    after: "Experiment | None" = None
    """The stage before: training starts from its last weights, moved to this canvas. Steps on a small canvas are cheap,
    and its vectors mean the same on a larger one. All stages train one network, so they have one encoding, one
    architecture and one seed."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][\w.-]*", self.name):
            raise ValueError(f"name must be of letters, digits, dots and dashes, not '{self.name}': it names a folder")
        if self.seed < 0:
            raise ValueError(f"seed must not be negative, and {self.seed} is")
        if self.after is not None:
            after = replace(self.after, encoding=self.encoding, architecture=self.architecture, seed=self.seed)
            object.__setattr__(self, "after", after)
            self._refuse_other_problems(after)
        elif self.training.steps < 1:
            raise ValueError(f"steps must be at least 1, not {self.training.steps}")
        if self.training.pool and self.task.longest is None:
            raise ValueError("problems without a canvas are drawn anew in every step: leave pool at 0")
        if self.training.canvases:
            self._refuse_canvases()
        width = self.data.width(self.task.longest)  # refuses what does not fit the canvas
        if max(width, self.task.longest or 0) > LONGEST:
            most = max(width, self.task.longest or 0)
            raise ValueError(f"training on {most:,} places is beyond {LONGEST:,}, the most")
        for length in (*self.testing.lengths, *self.testing.validation_lengths):
            if length < 1 or length > (self.task.longest or length):
                longest = self.task.longest
                raise ValueError(f"a test of {length} digits needs a canvas of at least {length}, not {longest}")

    def _refuse_other_problems(self, after: "Experiment") -> None:
        ours, before = (describe(experiment.task) | {"canvas": None} for experiment in (self, after))
        if ours != before or (self.task.longest or 0) < (after.task.longest or 0):
            goes_on = f"{self.name} goes on after {after.name}: only the canvas may differ, and it may only grow"
            raise ValueError(f"{goes_on}; {self.task} cannot follow {after.task}")

    def _refuse_canvases(self) -> None:
        try:
            tasks = self.tasks
        except TypeError:
            raise ValueError("canvases need a task that has one") from None
        if not self.encoding.any_length or self.training.pool:
            raise ValueError("canvases need clipped distances (reach), and a pool of 0")
        if max(self.training.canvases) > (self.task.longest or 0):
            raise ValueError(f"canvases must be at most {self.task.longest}, the task's own")
        for task in tasks:
            self.data.width(task.longest)

    @property
    def tasks(self) -> list[Task]:
        """The task on each canvas that training has."""
        return [replace(cast(Any, self.task), canvas=canvas) for canvas in self.training.canvases] or [self.task]

    def rehearse(self) -> None:
        """Refuse at once what would fail later: build the model without memory for its weights, and draw problems."""
        if self.after is not None:
            self.after.rehearse()
            self._rehearse_growth(self.after)
        model = refuse_absurd(self)
        tokens = self.task.encode(self.task.draw(self.data, generator(self.seed, "rehearsal"), 2)).tokens
        refuse_memory("one problem", 4 * model.floats(tokens.shape[1]))
        refuse_memory("a batch or a pool", 64 * max(self.training.batch, self.training.pool) * tokens.shape[1])

    def _rehearse_growth(self, after: "Experiment") -> None:
        """Move the vectors of a small network of this kind from the stage before to this one."""
        tiny = self.architecture.smallest()
        try:
            with torch.random.fork_rng(devices=[]):
                small, large = (replace(stage, architecture=tiny).build() for stage in (after, self))
                large.grow_from(small, after.located(), self.located())
        except (RuntimeError, IndexError) as error:
            raise ValueError(f"{self.name} cannot take over what {after.name} has learned: {error}") from error

    @property
    def trained_length(self) -> int:
        """The longest numbers that training shows, zeros that were appended aside."""
        before = self.after.trained_length if self.after else 0
        return max(before, self.data.most_digits(self.task.longest)) if self.training.steps else before

    @property
    def steps_before(self) -> int:
        """Of all earlier stages."""
        return self.after.steps_before + self.after.training.steps if self.after else 0

    @property
    def steps(self) -> int:
        """Of all stages."""
        return self.steps_before + self.training.steps

    def located(self) -> Coordinates:
        """Where the tokens of a problem stand; on a canvas, of every problem."""
        return self.task.encode(self.task.draw(self.data, generator(self.seed, "rehearsal"), 1)).coordinates

    def build(self) -> Model:
        """Return the model, with weights drawn from torch's current random state."""
        task = self.task
        return self.architecture.build(self.encoding, task.extent, len(task.symbols), task.answer_symbols)
