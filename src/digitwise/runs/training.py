"""The training loop. Batch, rate, dropout: all are functions of (seed, step), so resuming needs only the step."""

import copy
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial

import numpy as np
import torch
from torch import Tensor

from digitwise.models import Model
from digitwise.rng import generator
from digitwise.runs.engine import OPTIMIZERS, Engine, locked, loss_of, seeded
from digitwise.runs.evaluation import validate
from digitwise.runs.experiment import Experiment, Training
from digitwise.runs.folder import Run, is_main_process
from digitwise.tasks import Batch

LOG_EVERY = 10


class Stopped(Exception):
    """Training was asked to stop, and has saved its state."""


class Source:
    """The training batches: `batch(step)` is a pure function of the experiment and the step."""

    def __init__(self, experiment: Experiment):
        self.experiment = experiment
        pool = experiment.training.pool
        self.pool = self._encode(generator(experiment.seed, "pool"), pool) if pool else None

    def batch(self, step: int) -> Batch:
        rng = generator(self.experiment.seed, "train", step)
        size = self.experiment.training.batch
        if self.pool is None:
            return self._encode(rng, size)
        return self.pool.part(rng.integers(0, len(self.pool.tokens), size))

    def _encode(self, rng: np.random.Generator, count: int) -> Batch:
        task = self.experiment.task
        return task.encode(task.draw(self.experiment.data, rng, count))


class Average:
    """The model that is kept and tested: the running average of the weights, or the weights themselves."""

    def __init__(self, model: Model, keep: float):
        self.model = copy.deepcopy(model) if keep else model
        self.keep = keep

    @torch.no_grad()
    def update(self, model: Model, step: int) -> None:
        if self.keep:
            share = max(1 - self.keep, 1 / (step + 1))  # a plain mean until there is enough to average over
            torch._foreach_lerp_(list(self.model.parameters()), list(model.parameters()), share)


def rate_at(step: int, training: Training) -> float:
    """Linear warm-up, then a half cosine to zero or a constant."""
    warm = min(1.0, (step + 1) / training.warmup) if training.warmup else 1.0
    fall = 0.5 * (1 + math.cos(math.pi * step / training.steps)) if training.schedule == "cosine" else 1.0
    return training.rate * warm * fall


def train(run: Run, progress: Callable[[int, float], None] = lambda step, loss: None) -> None:
    """Train a run to its last step from wherever it stands. `progress` is told each step and its loss."""
    with locked(run.folder) if is_main_process() else nullcontext():
        _train(run, progress)


def _train(run: Run, progress: Callable[[int, float], None]) -> None:
    experiment, training = run.experiment, run.experiment.training
    with seeded(experiment.seed, "weights"):
        model = experiment.build()
    optimizer = OPTIMIZERS[training.optimizer](model, training.rate, training.decay)
    state = run.load_state()
    if state is None and run.finished:
        return
    if state is None and len(run.checkpoints()) > 1:
        raise ValueError(f"{run.folder} has checkpoints but no state.pt to go on from: train it anew in another --out")
    if state is not None:
        try:
            model.load_state_dict(state["model"])
            optimizer.load_state_dict(state["optimizer"])
            start = int(state["step"])
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise ValueError(f"{run.folder}/state.pt does not fit its config.json") from error
    else:
        start = 0
    run.forget_after(start)
    engine = Engine(model, optimizer, training.precision)
    average = Average(engine.plain_model, training.average)
    if state is not None:
        average.model.load_state_dict(state["average"])
    source = Source(experiment)
    parts = training.accumulate * engine.processes
    if training.batch % parts:
        raise ValueError(f"batch must be a multiple of accumulate x processes = {parts}, and {training.batch} is not")

    def loss_on(batch: Batch) -> Tensor:
        tokens, targets = (torch.as_tensor(part, device=engine.device) for part in batch[:2])
        return loss_of(engine.model(tokens, batch.coordinates), targets)

    def save_state(step: int) -> None:
        parts = {"model": engine.plain_model, "average": average.model, "optimizer": engine.optimizer}
        if engine.is_main:
            run.save_state({"step": step} | {name: part.state_dict() for name, part in parts.items()})

    kept, saved_at = set(training.kept_steps), time.monotonic()
    began = time.monotonic() - run.seconds()  # time spent adds up over interruptions
    engine.model.train()
    with stop_requests() as stopping:
        for step in range(start, training.steps):
            batch, size = source.batch(step), training.batch // parts
            mine = range(engine.rank, parts, engine.processes)
            losses = [partial(loss_on, batch.part(slice(part * size, (part + 1) * size))) for part in mine]
            with seeded(experiment.seed, "dropout", step, engine.rank):
                loss, norm = engine.step(losses, rate_at(step, training), training.clip)
            average.update(engine.plain_model, step)
            done = step + 1
            if not math.isfinite(loss):
                raise ValueError(f"the loss is {loss} at step {done}: try a lower --rate or a --clip above 0")
            if engine.is_main and (done % LOG_EVERY == 0 or done == training.steps):
                seconds = round(time.monotonic() - began, 1)
                run.log(step=done, loss=round(loss, 6), norm=round(norm, 4), seconds=seconds)
            progress(done, loss)
            if done in kept and engine.is_main:
                run.save_checkpoint(done, average.model.state_dict())
                run.log(step=done, validation=validate(average.model, experiment))
            due = done in kept or time.monotonic() - saved_at >= training.save_seconds
            if done < training.steps and (due or stopping()):
                save_state(done)
                saved_at = time.monotonic()
                if stopping():
                    raise Stopped(done)
    if engine.is_main:
        run.drop_state()


@contextmanager
def stop_requests() -> Iterator[Callable[[], bool]]:
    """Ctrl-C and SIGTERM let the step under way finish, so that the state is written whole."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked.is_set
        return
    handlers = {number: signal.signal(number, lambda *_: asked.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked.is_set
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
