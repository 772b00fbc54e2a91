"""Seconds of training until a model is right on numbers twice and ten times as long as those it has seen."""

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch

from digitwise.bench.measure import Row, Session, spread
from digitwise.models import Model
from digitwise.models.attention import fold, sharpen
from digitwise.paper import arms
from digitwise.paper.stages import grown
from digitwise.plots import QUIET, legend_below, look, new_figure, save
from digitwise.runs.engine import Engine, loss_of, seeded
from digitwise.runs.evaluation import validate
from digitwise.runs.experiment import Experiment, Testing
from digitwise.runs.optimizers import OPTIMIZERS
from digitwise.runs.training import Average, Source, rate_at, set_dropout
from digitwise.tasks import Batch

GOAL = 0.99
SEEDS = (100, 101)
EVERY = 50
"""Steps between two evaluations."""
LONGER = {"twice": 2, "ten times": 10}
#: Numbers must not fill the canvas: the pad that separates them in training would be gone. The first is the recipe's.
CANVAS = {"twice": 20, "ten times": 60}


class Trial(NamedTuple):
    """A training, and the lengths at which it is watched."""

    side: str
    experiment: Experiment
    targets: dict[str, Experiment]
    """What it is tested as: itself, or grown to a larger canvas."""


def time_to_accuracy(session: Session) -> list[Row]:
    """Training alone is timed, in all its stages. It is watched on validation problems every 50 steps, and ends when
    all its targets are reached, with its last stage, or at the limit."""
    points = [point for trial in trials(session.smoke) for seed in SEEDS for point in watch(trial, seed, session)]
    rows: list[Row] = []
    for target in LONGER:
        sides: dict[str, dict[str, Any]] = {}
        for side in ("relative", "columns"):
            curves = [
                [p for p in points if (p["side"], p["target"], p["seed"]) == (side, target, seed)] for seed in SEEDS
            ]
            reached = [next((p["seconds"] for p in curve if p["accuracy"] >= GOAL), None) for curve in curves]
            there = [seconds for seconds in reached if seconds is not None]
            summary = spread(there) if len(there) == len(SEEDS) else dict.fromkeys(("median", "lowest", "highest"))
            last = [curve[-1] for curve in curves]
            sides[side] = summary | {"by seed": reached, "last": [[p["seconds"], p["accuracy"]] for p in last]}
        middle = [sides[side]["median"] for side in ("columns", "relative")]
        rows.append(
            {
                "case": f"{target} the trained length",
                "measure": f"seconds to {GOAL}",
                "sides": sides,
                "ratios": {"columns / relative": round(middle[0] / middle[1], 4) if all(middle) else None},
                "note": note(sides, session.minutes),
                "curves": [p for p in points if p["target"] == target],
            }
        )
    return rows


def note(sides: dict[str, dict[str, Any]], minutes: float) -> str:
    """What became of the trainings that did not reach the goal."""
    parts = []
    for side, found in sides.items():
        failed = [last for seconds, last in zip(found["by seed"], found["last"], strict=True) if seconds is None]
        parts += [" and ".join(f"{side} {accuracy:.3f} after {seconds:.0f} s" for seconds, accuracy in failed)]
    return "; ".join([f"limit {60 * minutes:.0f} s", *filter(None, parts)])


def trials(smoke: bool) -> Iterator[Trial]:
    """The relative model in its stages, grown to the canvas that a target needs, and the model without a canvas."""
    profile = "smoke" if smoke else "cpu"
    last, columns = arms("a2", profile)["relative"], arms("beyond-addition", profile)["addition"]
    relative, factor = last.after or last, last.training.factor  # the last stage only grows
    larger = {name: grown(relative, name.replace(" ", "-"), canvas, (), factor) for name, canvas in CANVAS.items()}
    for side, trained, tested in (
        ("relative", relative, larger), ("columns", columns, dict.fromkeys(LONGER, columns))
    ):  # fmt: skip
        yield Trial(side, trained, {
            name: replace(e, testing=Testing((), validation_lengths=(LONGER[name] * trained.trained_length,)))
            for name, e in tested.items()
        })  # fmt: skip


def stages(experiment: Experiment) -> list[Experiment]:
    """An experiment and those that it goes on from, the first one first."""
    return [*(stages(experiment.after) if experiment.after else []), experiment]


def as_tested(model: Model, stage: Experiment, step: int, tested: Experiment) -> Model:
    """The model after a step of a stage, on the canvas of its test."""
    if tested.after is None:
        return model
    larger = tested.build()
    larger.grow_from(model, stage.located(), tested.located())
    fold(larger, tested.training.factor * stage.training.sharpness_at(step))
    return larger


def watch(trial: Trial, seed: int, session: Session) -> list[dict[str, Any]]:
    """Train from scratch, and return the accuracy on each target over the seconds of training."""
    points: list[dict[str, Any]] = []
    waiting, seconds, before = set(trial.targets), 0.0, None
    limit, every = 60 * session.minutes, 5 if session.smoke else EVERY
    for stage in stages(replace(trial.experiment, seed=seed)):
        training, source = stage.training, Source(stage)
        with seeded(seed, "weights"):
            model = stage.build()
        if before is not None:
            model.grow_from(*before, stage.located())
        set_dropout(model, training.dropout)
        optimizer = OPTIMIZERS[training.optimizer](model, training.rate, training.decay, training.table_decay)
        engine = Engine(model, optimizer, training.precision)
        average = Average(engine.plain_model, training.average)
        engine.model.train()
        for step in range(training.steps):
            began = time.perf_counter()
            sharpen(engine.plain_model, training.sharpness_at(step))
            with seeded(seed, "dropout", stage.steps_before + step, 0):
                losses = [partial(loss_on, engine, source.batch(step))]
                engine.step(losses, rate_at(step, training), training.clip)
            average.update(engine.plain_model, step)
            seconds += time.perf_counter() - began
            if (step + 1) % every:
                continue
            for target, tested in trial.targets.items():
                accuracy = validate(as_tested(average.model, stage, step + 1, tested), replace(tested, seed=seed))
                points.append(
                    {
                        "side": trial.side, "target": target, "seed": seed, "step": stage.steps_before + step + 1,
                        "seconds": round(seconds, 1), "accuracy": round(accuracy, 4),
                    }
                )  # fmt: skip
                if accuracy >= GOAL:
                    waiting.discard(target)
            shown = ", ".join(f"{p['target']} {p['accuracy']:.2f}" for p in points[-len(trial.targets) :])
            session.progress(f"{trial.side}, seed {seed}", int(seconds), int(limit), shown)
            if not waiting or seconds >= limit:
                return points
        sharpen(average.model, 1.0)
        fold(average.model, training.sharpness_at(training.steps))
        before = average.model, stage.located()
    return points


def loss_on(engine: Engine, batch: Batch) -> torch.Tensor:
    tokens, targets = (torch.as_tensor(part, device=engine.device) for part in batch[:2])
    return loss_of(engine.model(tokens, batch.coordinates), targets)


def draw(result: dict[str, Any], path: Path) -> Path:
    """Accuracy over seconds of training: one panel per target, one line per seed."""
    figure, panels = new_figure(width=8.4, columns=len(result["rows"]))
    for axes, row in zip(panels, result["rows"], strict=True):
        for place, side in enumerate(row["sides"]):
            points = [p for p in row["curves"] if p["side"] == side]
            lines = [
                {p["seconds"]: p["accuracy"] for p in points if p["seed"] == seed}
                for seed in sorted({p["seed"] for p in points})
            ]
            for number, line in enumerate(lines):
                axes.plot(list(line), list(line.values()), label=side if number == 0 else "", **look(place))
        axes.axhline(GOAL, color=QUIET, ls=":", lw=1)
        axes.set_xscale("log")
        axes.set_xlim(left=1)
        axes.xaxis.set_minor_formatter("")  # their labels would overlap
        axes.set_xlabel("seconds of training")
        axes.set_title(row["case"], fontsize=10)
        axes.set_ylim(-0.02, 1.03)
    panels[0].set_ylabel("exact match")
    legend_below(figure, panels[0])
    return save(figure, path)
