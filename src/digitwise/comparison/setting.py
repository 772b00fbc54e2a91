"""What is compared, and on what: one experiment per task and format, into which each encoding is put."""

from dataclasses import dataclass, replace

from digitwise.config import lookup
from digitwise.data import GrowingLengths, ShortMultipliers, UniformLengths
from digitwise.encodings import ENCODINGS as KNOWN
from digitwise.encodings import ByPlace, Encoding, Relative, Uniform
from digitwise.models import Architecture
from digitwise.paper.recipes import SMALL_TRAINING, Check, smoke
from digitwise.runs.experiment import Experiment, Testing
from digitwise.tasks import Addition, Distribution, Growing, Multiplication, Task

#: All that a comparison has by default: no positions, those of other papers, and ours.
ENCODINGS = (
    "none", "sinusoidal", "rope", "alibi", "t5", "fire", "abacus", "coupled", "randomised",
    "absolute", "relative", "uniform", "by-place",
)  # fmt: skip
#: Ours start from zero, as everywhere at this size (LOG.md).
OURS: dict[str, Encoding] = {
    "relative": Relative(deviation=0.0), "uniform": Uniform(deviation=0.0), "by-place": ByPlace(deviation=0.0),
}  # fmt: skip
REFERENCE = "relative"
"""Equal time means: as long as this one takes for the steps of the other table."""

FORMATS = {
    "canvas": "the filled canvas: every number has the same places, and longer ones fill more of them",
    "growing": "a growing sequence: reversed digits and no canvas, so that longer numbers make longer sequences",
}
CANVAS, TRAINED = 10, 4
LONG = 2 * TRAINED
ENCODER = Architecture(layers=3, width=64, heads=4)
"""Learns as much per step as one of width 96, in two thirds of the time (LOG.md)."""
RATES, SHARPNESS = (6e-3, 2e-3), (1.0, 2.5)
"""Tried for each encoding. The rates are for Muon, with which other papers' encodings learn in far fewer steps."""
TUNED = 0.5
"""Share of the steps that a trial of the tuning has: enough to tell the settings apart."""
TUNING_SEED = 100
"""Settings are chosen on seeds of 100 and up, which are never reported."""


@dataclass(frozen=True)
class Setting:
    """A task in a format."""

    task: str
    format: str
    experiment: Experiment
    """With any encoding."""
    checks: tuple[Check, ...]

    @property
    def name(self) -> str:
        return f"{self.task}-{self.format}"

    def grid(self) -> list[tuple[float, float]]:
        """Rates and factors on the logits that are tried for each encoding."""
        return [(rate, sharpness) for rate in RATES for sharpness in SHARPNESS]

    def trial(self, encoding: Encoding, rate: float, sharpness: float, steps: int, seed: int) -> Experiment:
        training = replace(self.experiment.training, rate=rate, sharpness=sharpness, steps=steps, checkpoints=1)
        return replace(self.experiment, encoding=encoding, training=training, seed=seed)


#: Beside uniform sums: cascades, and runs of nines entered with and without a carry, at twice the trained length.
OF_SUMS: tuple[Check, ...] = (Check("uniform"), Check("cascade", (LONG,), 200), Check("nines", (LONG,), 200))


def setting(task: str, format: str, profile: str = "cpu") -> Setting:
    """The smallest at which most encodings learn within a minute or two on one core."""
    grows = format == "growing"
    lengths: Distribution = GrowingLengths(TRAINED) if grows else UniformLengths(TRAINED)
    # A draw of the growing format has one length of sequences, so a batch has several draws.
    training = replace(SMALL_TRAINING, optimizer="muon", decay=0.3, draws=4 if grows else 1)
    made: Task
    if task == "addition":
        made, data, checks = Growing(0, CANVAS) if grows else Addition(CANVAS), lengths, OF_SUMS
    else:
        digits = int(task.removeprefix("multiply-"))
        made = Growing(digits, CANVAS, zero=False) if grows else Multiplication(digits, CANVAS, zero=False)
        data, checks = ShortMultipliers(lengths), (Check("uniform"),)
    testing = Testing(tuple(range(1, CANVAS + 1)), 500, validation_lengths=(LONG - 2, LONG), validation_problems=200)
    experiment = Experiment(f"{task}-{format}", made, data, Relative(), ENCODER, training, testing)
    if profile == "smoke":
        experiment = smoke(experiment)
        checks = tuple(check._replace(problems=None) for check in checks)
    return Setting(task, format, experiment, checks)


TASKS = ("addition", "multiply-1", "multiply-2")


def named(name: str) -> tuple[str, Encoding]:
    """The label of an encoding's row, and the encoding: one of ours, or `path/to/mine.py:Mine`."""
    if name in OURS:
        return name, OURS[name]
    found = lookup(name, KNOWN, "encoding")
    try:
        made = found()
    except TypeError as error:
        raise ValueError(f"{name} is compared with its default values, and has none for some: {error}") from error
    if made.columns:
        raise ValueError(f"{name} is for columns without a canvas: compare encodings for a canvas")
    return (name if name in KNOWN else type(made).__name__), made
