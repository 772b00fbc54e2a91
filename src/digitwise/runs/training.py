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
from digitwise.runs.engine import OPTIMIZERS, Engine, loss_of, seeded
from digitwise.runs.evaluation import validate
from digitwise.runs.experiment import Experiment, Training
from digitwise.runs.files import locked
from digitwise.runs.folder import Run, is_main_process
from digitwise.runs.proving import Prover, is_enough
from digitwise.tasks import Batch

LOG_EVERY = 10


class Stopped(Exception):
    """Training was asked to stop, and has saved its state."""


class Source:
    """The training batches: pure functions of the experiment, the step and what a prover practises."""

    def __init__(self, experiment: Experiment, prover: Prover | None = None):
        self.experiment, self.prover = experiment, prover
        pool = experiment.training.pool
        self.pool = self._encode(generator(experiment.seed, "pool"), pool) if pool else None

    def batch(self, step: int) -> Batch:
        (only,) = self.draws(step)
        return only

    def draws(self, step: int) -> list[Batch]:
        rng = generator(self.experiment.seed, "train", step)
        training = self.experiment.training
        if self.pool is not None:
            return [self.pool.part(rng.integers(0, len(self.pool.tokens), training.batch))]
        return [self._encode(rng, training.batch // training.draws) for _ in range(training.draws)]

    def _encode(self, rng: np.random.Generator, count: int) -> Batch:
        task = self.experiment.task
        problems = task.draw(self.experiment.data, rng, count)
        return task.encode(self.prover.mix(problems, rng) if self.prover else problems)


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
    """Linear warm-up, then a half cosine to its floor or a constant; beyond the last step the rate stays."""
    warm = min(1.0, (step + 1) / training.warmup) if training.warmup else 1.0
    done = min(step / training.steps, 1.0)
    fall = 0.5 * (1 + math.cos(math.pi * done)) if training.schedule == "cosine" else 1.0
    return training.rate * warm * max(fall, training.floor)


def train(run: Run, progress: Callable[[int, float], None] = lambda step, loss: None) -> None:
    """Train a run to its last step from wherever it stands. `progress` is told each step and its loss."""
    with locked(run.folder) if is_main_process() else nullcontext():
        _train(run, progress)


def _train(run: Run, progress: Callable[[int, float], None]) -> None:
    experiment, training = run.experiment, run.experiment.training
    experiment.rehearse()  # a config.json of a stranger may ask for anything
    if is_main_process():
        run.mend()
    with seeded(experiment.seed, "weights"):
        model = experiment.build()
    optimizer = OPTIMIZERS[training.optimizer](model, training.rate, training.decay)
    state = run.load_state()
    if state is None and run.finished:
        return
    if state is None and len(run.checkpoints()) > 1:
        raise ValueError(f"{run.folder} has checkpoints but no state to go on from: train it anew in another --out")
    if state is not None:
        try:
            model.load_state_dict(state["model"])
            optimizer.load_state_dict(state["optimizer"])
            start = int(state["step"])
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise ValueError(f"the state in {run.folder} does not fit its config.json") from error
    else:
        start = 0
    run.forget_after(start)
    engine = Engine(model, optimizer, training.precision)
    average = Average(engine.plain_model, training.average)
    if state is not None:
        average.model.load_state_dict(state["average"])
    prover = Prover(experiment, average.model, (state or {}).get("prover")) if training.until_proven else None
    source = Source(experiment, prover)
    parts = training.accumulate * engine.processes
    if training.batch % (parts * training.draws):
        raise ValueError(f"batch must be a multiple of accumulate x processes = {parts}, and {training.batch} is not")

    losses_alone: list[float] = []  # of the answers, without what a model adds to its loss

    def loss_on(*batches: Batch) -> Tensor:
        tokens = [torch.as_tensor(batch.tokens, device=engine.device) for batch in batches]
        first, *others = zip(tokens, (batch.coordinates for batch in batches), strict=True)
        logits = engine.model(*first, *others) if others else [engine.model(*first)]
        targets = [torch.as_tensor(batch.targets, device=engine.device) for batch in batches]
        loss = torch.stack([loss_of(*pair) for pair in zip(logits, targets, strict=True)]).mean()
        losses_alone[:] = [float(loss.detach())]
        return loss + engine.plain_model.pay()

    def save_state(step: int) -> None:
        parts = {"model": engine.plain_model, "average": average.model, "optimizer": engine.optimizer}
        if engine.is_main:
            practice = {"prover": prover.state()} if prover else {}
            run.save_state({"step": step} | practice | {name: part.state_dict() for name, part in parts.items()})

    kept, saved_at = set(training.kept_steps), time.monotonic()
    began = time.monotonic() - run.seconds()  # time spent adds up over interruptions

    def seconds() -> float:
        return round(time.monotonic() - began, 1)

    engine.model.train()
    with stop_requests() as stopping:
        for step in range(start, training.until_proven or training.steps):
            size, mine = training.batch // training.draws // parts, range(engine.rank, parts, engine.processes)
            draws = source.draws(step)
            pieces = [[batch.part(slice(part * size, (part + 1) * size)) for batch in draws] for part in mine]
            together = pieces if engine.plain_model.joins else [[batch] for piece in pieces for batch in piece]
            losses = [partial(loss_on, *batches) for batches in together]
            engine.plain_model.progress = step / training.steps
            with seeded(experiment.seed, "dropout", step, engine.rank):
                rate = training.rate * training.floor if prover and prover.calm else rate_at(step, training)
                loss, norm = engine.step(losses, rate, training.clip)
            average.update(engine.plain_model, step)
            done = step + 1
            if not math.isfinite(loss):
                raise ValueError(f"the loss is {loss} at step {done}: try a lower --rate or a --clip above 0")
            if engine.is_main and (done % LOG_EVERY == 0 or done == training.steps):
                run.log(step=done, loss=round(loss, 6), norm=round(norm, 4), seconds=seconds())
            progress(done, loss)
            last = done == (training.until_proven or training.steps)
            if prover:
                prover.saw(losses_alone[0])
                if prover.is_due(done) or last:
                    report = prover.check(average.model)
                    if engine.is_main:
                        run.log(step=done, **report.summary(), enough=is_enough(report), seconds=seconds())
                    last = last or is_enough(report)
            keep = last or done in kept
            if keep and engine.is_main:
                run.save_checkpoint(done, average.model.state_dict(), validate(average.model, experiment))
            if last:
                break
            if keep or time.monotonic() - saved_at >= training.save_seconds or stopping():
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
