"""Training in stages, which carries short problems to long ones at our size.

First on a canvas of 10, where a step costs half as much as on one of 20; then sharper and sharper; then, for sums, a
while on a canvas of 20. Larger canvases need no training: the vectors of the smaller one move there, and columns keep
their meaning. Why each of these helps is measured in docs/why-it-decays.md; all numbers were chosen on seeds of 100
and up.
"""

from dataclasses import replace
from functools import partial
from typing import Any, cast

from digitwise.data import ManyNines, Mixture, NoCarry, Shifted, UniformLengths
from digitwise.paper.recipes import SMALL, SMALL_TRAINING
from digitwise.runs.experiment import Experiment, Testing, Training
from digitwise.tasks import Addition, Distribution

#: What all stages share. Far distances are rare in training: dropout and a decay of their vectors keep what is learned
#: about them small.
STAGE = replace(SMALL_TRAINING, dropout=0.1, table_decay=1.0, checkpoints=4)
#: Muon does in 1,400 steps what AdamW does in 2,400, and fewer are not enough for a slow seed.
FIRST = replace(STAGE, steps=1400, optimizer="muon", rate=5e-3, table_decay=0.6)
SHARPER = replace(STAGE, steps=1200, rate=2e-3, dropout=0.05, sharpness=4.0)
WIDER = replace(STAGE, steps=400, rate=1e-3, dropout=0.05)


def with_nines(longest: int, share: float = 0.5, nines: float = 0.5) -> Mixture:
    """Lengths drawn uniformly, and sums with many columns of 9 beside them: what is left at 40 digits are cascades."""
    return Mixture(((1 - share, UniformLengths(longest)), (share, ManyNines(longest, nines))))


def stage(
    name: str,
    canvas: int,
    data: Distribution,
    training: Training,
    validation: tuple[int, ...],
    after: Experiment | None = None,
) -> Experiment:
    """Sums on a canvas, tested at every length that fits it."""
    tested = every_length(canvas, validation)
    return Experiment(name, Addition(canvas), data, architecture=SMALL, training=training, testing=tested, after=after)


def every_length(canvas: int, validation: tuple[int, ...]) -> Testing:
    return Testing(tuple(range(1, canvas + 1)), problems=1000, validation_lengths=validation)


def grown(experiment: Experiment, name: str, canvas: int, validation: tuple[int, ...], factor: float) -> Experiment:
    """The same network on a larger canvas, without a step of training there."""
    training, task = Training(steps=0, factor=factor, checkpoints=1), cast(Any, experiment.task)
    tested = every_length(canvas, validation)
    task = replace(task, canvas=canvas)
    return replace(experiment, name=name, task=task, training=training, testing=tested, after=experiment)


def sums(
    name: str = "canvas",
    kinds: tuple[Distribution, Distribution] | None = None,
    small: int = 10,
    last: str = "",
    begin: Training = FIRST,
    **changes: Any,
) -> Experiment:
    """Sums of at most 5 digits, up to a canvas of 20. `kinds` are what is drawn at first, and while it is sharpened;
    `begin` is the training of the first stage, and `changes` are fields of that of every stage."""
    first, later = kinds or (with_nines(5), with_nines(5, 0.7, 0.6))
    soft, sharper, wider = (replace(training, **changes) for training in (begin, SHARPER, WIDER))
    one = stage(f"{name}{small}", small, first, soft, (8, 9))
    two = stage(f"{name}{small}-sharp", small, later, sharper, (8, 9), one)
    return stage(last or f"{name}20", 20, later, wider, (10, 15), two)


def canvas50() -> Experiment:
    return grown(sums(), "canvas50", 50, (20, 40), factor=2.0)


def canvas100() -> Experiment:
    experiment = grown(sums(), "canvas100", 100, (50, 80), factor=2.0)
    lengths = (5, *range(10, 100, 10), 95, 99, 100)
    return replace(experiment, testing=replace(experiment.testing, lengths=lengths))


def cures() -> dict[str, Experiment]:
    """What each part of it does alone, on a canvas of 20: nothing of it; dropout and the decay of vectors; sharpening;
    growth from a canvas of 10. The last one has all of it."""
    data, plain = UniformLengths(5), replace(SMALL_TRAINING, steps=1500)
    soft = stage("cure-soft", 20, data, plain, (10, 15))
    small = stage("cure-small", 10, data, plain, (8, 9))
    sharper = replace(plain, steps=600, sharpness=4.9)
    return {
        "plain": replace(soft, name="cure"),
        "dropout": replace(soft, name="cure", training=replace(plain, dropout=0.1, table_decay=1.0)),
        "sharpened": replace(soft, name="cure", training=sharper, after=soft),
        "grown": grown(small, "cure", 20, (10, 15), factor=1.0),
        "relative": sums(),
    }


def all_but_one() -> dict[str, Experiment]:
    """All of it, and all but one part, with as many steps. Sums without many nines are the `values` of c3."""
    without = partial(sums, "without-", last="without")
    return {
        "relative": sums(),
        "no-dropout": without(dropout=0.0, table_decay=None),
        "no-sharpening": without(sharpness=1.0),
        "no-growth": without(small=20),
        "no-muon": without(begin=replace(STAGE, steps=FIRST.steps)),
        "values": of_kind(UniformLengths(5)),
    }


def of_kind(data: Distribution) -> Experiment:
    """Sums of one distribution in all stages, from a pool as large as the paper's."""
    return sums("c3-", (data, data), pool=100_000)


def from_scratch() -> Experiment:
    """A canvas of 50 from the first step, for as many seconds as all stages take together."""
    return stage("scratch50", 50, with_nines(5), replace(STAGE, steps=700), (20, 40))


def without_carries() -> Experiment:
    data = NoCarry(5)
    one = stage("nocarry10", 10, data, replace(STAGE, steps=1000), (8, 9))
    two = stage(
        "nocarry10-sharp", 10, data, replace(STAGE, steps=500, rate=2e-3, dropout=0.05, sharpness=3.0), (8, 9), one
    )
    return grown(two, "nocarry", 20, (10, 15), factor=1.0)


def shifted_copies() -> Experiment:
    """Sums of at most 5 digits and their shifted copies, with the data of `sums`. It has its canvas of 20 from the
    start, because copies are there to show every place of it."""
    one = stage("a3-soft", 20, Shifted(with_nines(5)), FIRST, (10, 15))
    return stage("a3", 20, Shifted(with_nines(5, 0.7, 0.6)), SHARPER, (10, 15), one)


def quick() -> Experiment:
    """Sums of at most 4 digits on a canvas of 10, which starts as one of 8."""
    first, later = with_nines(4), with_nines(4, 0.7, 0.6)
    one = stage("quickstart-8", 8, first, replace(FIRST, steps=1100), (6,))
    two = stage("quickstart-8-sharp", 8, later, replace(SHARPER, steps=550), (6,), one)
    return grown(two, "quickstart", 10, (8,), factor=1.0)
