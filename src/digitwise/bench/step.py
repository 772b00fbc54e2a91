"""A training step, forward, backward and optimizer, on a batch that is there: ours, by the expanded table in the same
encoder, and the matrix products alone."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import cycle
from statistics import median
from typing import Any, cast

import torch

from digitwise.bench.measure import Row, Session, row, timed
from digitwise.bench.references import Expanded, columns_floor, encoder_floor
from digitwise.data import UniformLengths, UniformValues
from digitwise.models import Architecture, Columns
from digitwise.paper import PAPER, arms
from digitwise.runs.engine import Engine, loss_of, seeded
from digitwise.runs.experiment import Experiment, Training
from digitwise.runs.optimizers import OPTIMIZERS
from digitwise.runs.training import Source
from digitwise.tasks import Addition, Batch

BATCHES = 8
"""So many are drawn beforehand: where sequences grow with their numbers, steps differ."""


def step(session: Session) -> list[Row]:
    """The paper's model, models of the cpu profile on canvases of 20 and 50, and models in columns."""
    rows, sizes = [], on_canvas()
    for case in session.chosen(list(sizes), list(sizes)[1:], ["3 layers of 96, canvas 20"]):
        experiment = replace(sizes[case], architecture=SMOKE) if session.smoke else sizes[case]
        sides: dict[str, Callable[[], Any]] = {
            "ours": one_step(experiment),
            "expanded table": one_step(replace(experiment, encoding=Expanded())),
            "floor": encoder_floor(cast(Architecture, experiment.architecture), Source(experiment).batch(0)),
        }
        seconds = session.seconds(case, sides)
        rows.append(row(case, "seconds", seconds, [("ours", "expanded table"), ("ours", "floor")]))
    for case, experiment in in_columns().items():
        floor = columns_floor(cast(Columns, experiment.architecture), Source(experiment).batch(0))
        sides = {"ours": one_step(experiment), "floor": floor}
        rows.append(row(case, "seconds", session.seconds(case, sides), [("ours", "floor")]))
    return rows


def compiled(session: Session) -> list[Row]:
    """Whether `torch.compile` pays, for models with relative positions. Its first step compiles, and is counted apart,
    with the number of steps that repay it. Columns are left out: their waves have other sizes in every batch."""
    rows, sizes = [], on_canvas()
    for case in session.chosen(list(sizes), list(sizes)[1:], ["3 layers of 96, canvas 20"]):
        experiment = replace(sizes[case], architecture=SMOKE) if session.smoke else sizes[case]
        # To see that everything runs, the graph is traced but not compiled.
        backend = "aot_eager" if session.smoke else "inductor"
        sides = {"as it is": one_step(experiment), "compiled": one_step(experiment, backend)}
        compiling = timed(sides["compiled"])
        seconds = session.seconds(case, sides)
        gain = median(a - b for a, b in zip(seconds["as it is"], seconds["compiled"], strict=True))
        repaid = f"repaid after {compiling / gain:,.0f} steps" if gain > 0 else "never repaid"
        rows.append(row(case, "seconds", seconds, [("compiled", "as it is")], note=f"{compiling:.0f} s, {repaid}"))
    return rows


SMOKE = Architecture(layers=1, width=16, heads=2)


def on_canvas() -> dict[str, Experiment]:
    """Models with relative positions, the paper's first; `benchmarks/hugging_face.py` measures the same."""
    small = arms("canvas20", "cpu")["relative"]
    paper = Experiment(task=Addition(50), data=UniformValues(5), architecture=PAPER, training=Training(batch=64))
    wide = Architecture(layers=6, width=256, heads=8)
    return {
        "6 layers of 768, canvas 50": paper,
        "3 layers of 96, canvas 20": small,
        "4 layers of 128, canvas 20": replace(small, architecture=Architecture(layers=4, width=128, heads=4)),
        "6 layers of 256, canvas 50": replace(small, task=Addition(50), data=UniformLengths(5), architecture=wide),
    }


def in_columns() -> dict[str, Experiment]:
    return {
        "columns, sums of two": arms("beyond-addition", "cpu")["addition"],
        "columns, 3-digit products": arms("beyond-product3", "cpu")["product3"],
    }


def one_step(experiment: Experiment, backend: str = "") -> Callable[[], Any]:
    """Return a call that trains a new model of an experiment by one step, on its first batches in turns. With a backend
    the model is compiled by it."""
    training = experiment.training
    with seeded(experiment.seed, "weights"):
        model = experiment.build()
    if backend:
        model.compile(backend=backend)
    engine = Engine(model, OPTIMIZERS[training.optimizer](model, training.rate, training.decay), training.precision)
    engine.model.train()
    source = Source(experiment)
    draws = cycle([source.draws(step) for step in range(BATCHES)])

    def loss(batch: Batch) -> torch.Tensor:
        tokens, targets = (torch.as_tensor(part, device=engine.device) for part in batch[:2])
        return loss_of(engine.model(tokens, batch.coordinates), targets)

    return lambda: engine.step([partial(loss, batch) for batch in next(draws)], training.rate, training.clip)
