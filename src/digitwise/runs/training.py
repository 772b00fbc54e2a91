"""The training loop. Batch, rate, dropout: all are functions of (seed, step), so resuming needs only the step."""

import copy
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from statistics import fmean
from typing import Any

import torch
from torch import Tensor, nn

from digitwise.config import describe
from digitwise.encodings.noise import Share, sharing
from digitwise.models import Model
from digitwise.models.attention import fold, sharpen
from digitwise.rng import seed_of
from digitwise.runs.engine import Engine, loss_of, seeded
from digitwise.runs.evaluation import load_model, validate
from digitwise.runs.experiment import Training
from digitwise.runs.files import locked
from digitwise.runs.folder import Run, is_main_process
from digitwise.runs.optimizers import OPTIMIZERS
from digitwise.runs.places import stage_before
from digitwise.runs.proving import Prover, is_enough
from digitwise.runs.source import Source
from digitwise.runs.tracking import FOLDERS, Tracker
from digitwise.tables import flat
from digitwise.tasks import Batch

LOG_EVERY = 10


class Stopped(Exception):
    """Training was asked to stop, and has saved its state."""


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


def set_dropout(model: nn.Module, share: float | None) -> None:
    """Of all parts of a model, if a training has its own."""
    for module in model.modules():
        if isinstance(module, nn.Dropout) and share is not None:
            module.p = share


def rate_at(step: int, training: Training) -> float:
    """Linear warm-up, then a half cosine to its floor or a constant; beyond the last step the rate stays."""
    warm = min(1.0, (step + 1) / training.warmup) if training.warmup else 1.0
    done = min(step / training.steps, 1.0)
    fall = 0.5 * (1 + math.cos(math.pi * done)) if training.schedule == "cosine" else 1.0
    return training.rate * warm * max(fall, training.floor)


Progress = Callable[[int, float], None]
"""It is told each step, those of earlier stages counted, and its loss."""


def train(run: Run, progress: Progress = lambda step, loss: None, track: str = "") -> None:
    """Train a run, and the stages before it, to its last step from wherever it stands. `track` names a tracker."""
    with locked(run.folder) if is_main_process() else nullcontext():
        _train(run, progress, track)


def _go_on(model: Model, before: Run, run: Run, progress: Progress, track: str) -> None:
    """Give a model what the stage before has learned, moved to its canvas."""
    with locked(before.folder, wait=True) if is_main_process() else nullcontext():  # another run may need it too
        _train(before, progress, track)
    model.grow_from(
        load_model(before, before.select("last")[0]).to(model.device),
        before.experiment.located(),
        run.experiment.located(),
    )


def _train(run: Run, progress: Progress, track: str) -> None:
    experiment, training = run.experiment, run.experiment.training
    experiment.rehearse()  # a config.json of a stranger may ask for anything
    if is_main_process():
        run.mend()
    state = run.load_state()
    if state is None and run.finished:
        return
    with seeded(experiment.seed, "weights"):
        model = experiment.build()
    if state is None:
        before = stage_before(run)
        if before is not None:
            _go_on(model, before, run, progress, track)
    set_dropout(model, training.dropout)
    optimizer = OPTIMIZERS[training.optimizer](model, training.rate, training.decay, training.table_decay)
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
    tracker = Tracker.of(track, run.folder, run.address, flat(describe(experiment)), start)
    engine = Engine(model, optimizer, training.precision, tracker)
    average = Average(engine.plain_model, training.average)
    if state is not None:
        average.model.load_state_dict(state["average"])
    prover = Prover(experiment, average.model, (state or {}).get("prover")) if training.until_proven else None
    source = Source(experiment, prover)
    parts = training.accumulate * engine.processes
    if training.batch % (parts * training.draws):
        raise ValueError(f"batch must be a multiple of accumulate x processes = {parts}, and {training.batch} is not")

    losses_alone: list[float] = []  # of the answers, without what a model adds to its loss

    def loss_on(share: Share | None, *batches: Batch) -> Tensor:
        tokens = [torch.as_tensor(batch.tokens, device=engine.device) for batch in batches]
        first, *others = zip(tokens, (batch.coordinates for batch in batches), strict=True)
        with sharing(share):
            logits = engine.model(*first, *others) if others else [engine.model(*first)]
        targets = [torch.as_tensor(batch.targets, device=engine.device) for batch in batches]
        loss = torch.stack([loss_of(*pair) for pair in zip(logits, targets, strict=True)]).mean()
        losses_alone.append(float(loss.detach()))
        return loss + engine.plain_model.pay()

    def shares(draws: list[Batch], step: int) -> Iterator[Callable[[], Tensor]]:
        """The losses of the parts of a batch that are this process's."""
        size = training.batch // training.draws // parts
        tokens = [(torch.as_tensor(batch.tokens, device=engine.device), batch.coordinates) for batch in draws]
        for part in range(engine.rank, parts, engine.processes):
            rows = slice(part * size, (part + 1) * size)
            chance = torch.Generator(engine.device).manual_seed(seed_of(experiment.seed, "dropout", step, 0))
            share = Share(rows, tokens, chance) if parts > 1 else None
            piece = [batch.part(rows) for batch in draws]
            for together in [piece] if engine.plain_model.joins else [[batch] for batch in piece]:
                yield partial(loss_on, share, *together)

    def log(step: int, **row: Any) -> None:
        if engine.is_main:
            run.log(step=step, **row)
            engine.track(step, **row)

    def save_state(step: int) -> None:
        parts = {"model": engine.plain_model, "average": average.model, "optimizer": engine.optimizer}
        if engine.is_main:
            practice = {"prover": prover.state()} if prover else {}
            run.save_state({"step": step} | practice | {name: part.state_dict() for name, part in parts.items()})

    def keep(step: int) -> None:
        """What is kept is tested: plain attention, with the factors on its logits inside the weights."""
        tested = copy.deepcopy(average.model)
        sharpen(tested, 1.0)
        fold(tested, training.sharpness_at(step))
        fold(tested, training.factor)
        score = validate(tested, experiment)
        run.save_checkpoint(step, tested.state_dict(), score)
        engine.track(step, validation=score)

    kept, saved_at = set(training.kept_steps), time.monotonic()
    began = time.monotonic() - run.seconds()  # time spent adds up over interruptions

    def seconds() -> float:
        return round(time.monotonic() - began, 1)

    with closing(engine, run), stop_requests() as stopping:
        if not training.steps and engine.is_main:
            keep(0)
        engine.model.train()
        for step in range(start, training.until_proven or training.steps):
            losses = list(shares(source.draws(step), experiment.steps_before + step))
            losses_alone.clear()
            scheduled = step - (prover.began if prover else 0)
            engine.plain_model.progress = scheduled / training.steps
            if prover:
                prover.tell(engine.plain_model)
            sharpen(engine.plain_model, training.sharpness_at(step))
            with seeded(experiment.seed, "dropout", experiment.steps_before + step, engine.rank):
                rate = training.rate * training.floor if prover and prover.calm else rate_at(scheduled, training)
                loss, norm = engine.step(losses, rate, training.clip)
            average.update(engine.plain_model, step)
            done = step + 1
            if not math.isfinite(loss):
                raise ValueError(f"the loss is {loss} at step {done}: try a lower --rate or a --clip above 0")
            if done % LOG_EVERY == 0 or done == training.steps:
                log(done, loss=round(loss, 6), norm=round(norm, 4), seconds=seconds())
            progress(experiment.steps_before + done, loss)
            last = done == (training.until_proven or training.steps)
            if prover:
                prover.saw(engine.mean(fmean(losses_alone)), done)
                if prover.is_due(done) or last:
                    report = prover.check(average.model, done, last)
                    log(done, **report.summary(), enough=is_enough(report), seconds=seconds())
                    last = last or prover.is_over
            is_kept = last or done in kept
            if is_kept and engine.is_main:
                keep(done)
            if last:
                break
            stopped = engine.agree(stopping())
            if is_kept or time.monotonic() - saved_at >= training.save_seconds or stopped:
                save_state(done)
                saved_at = time.monotonic()
                if stopped:
                    raise Stopped(done)
    if engine.is_main:
        run.drop_state()
    engine.wait()  # the next stage reads what the first process has written


@contextmanager
def closing(engine: Engine, run: Run) -> Iterator[None]:
    """However training ends, trackers write what they have, and it gets to where the run is kept."""
    try:
        yield
    finally:
        engine.close()
        if engine.is_main:
            run.share(*FOLDERS)


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
