"""Exact match by length, by stratum and by place, as integer counts."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from digitwise.config import lookup
from digitwise.counts import Count
from digitwise.data import SUITES, ExactLength, NoCarry
from digitwise.data.suites import Stratum, Suite, check_problems
from digitwise.models import Answers, Model
from digitwise.rng import generator
from digitwise.runs.engine import Processes, best_device
from digitwise.runs.experiment import Experiment
from digitwise.runs.folder import Run
from digitwise.runs.limits import refuse_absurd
from digitwise.tasks import Batch, Problems, Task
from digitwise.tasks.symbols import Tokens, read_answers

MEMORY = 2**30
"""Bytes that the activations of one batch may take."""
MOST_AT_ONCE = 1024

#: Told how many strata are done, of how many.
Progress = Callable[[int, int], None]


class Predicted(NamedTuple):
    """What a checkpoint answered to one stratum of a suite."""

    checkpoint: int
    stratum: Stratum
    problems: Problems
    symbols: Tokens  # [count, slots], least significant first
    targets: Tokens

    @property
    def right(self) -> NDArray[np.bool_]:
        """Which answer symbols are right, pads included: `[count, slots]`. A problem is right if all of them are."""
        return self.symbols == self.targets

    def rows(self, run: str, suite: Suite, seed: int) -> Iterator[dict[str, Any]]:
        """Each problem with its answer, the model's response and the places where they differ, 0 for the ones; also
        what `digitwise score` needs."""
        name, task = self.stratum.name, self.stratum.task
        where = f"{suite.name}-v{suite.version}-{self.stratum.length}{name and '-' + name.replace(' ', '-')}-s{seed}"
        texts = zip(task.render(self.problems), read_answers(self.targets), read_answers(self.symbols), strict=True)
        for index, (problem, answer, response) in enumerate(texts):
            yield {
                "id": f"{run}-{self.checkpoint}-{where}-{index}", "run": run, "checkpoint": self.checkpoint,
                "suite": suite.name, "version": suite.version, "length": self.stratum.length, "stratum": name,
                "task": type(task).__name__.lower(), "seed": seed, "problem": problem, "answer": answer,
                "response": response, "right": bool(self.right[index].all()),
                "places": np.flatnonzero(~self.right[index]).tolist(),
            }  # fmt: skip


def answer(model: Model, batch: Batch) -> Answers:
    """Return what a model answers, on the CPU, in parts sized by memory; training mode is left as it was."""
    size = max(1, min(MOST_AT_ONCE, MEMORY // (4 * model.floats(batch.tokens.shape[1]))))
    parts = [batch.part(slice(start, start + size)) for start in range(0, max(len(batch.tokens), 1), size)]
    was_training = model.training
    model.eval()
    with torch.inference_mode():
        found = [model.answer(torch.as_tensor(part.tokens, device=model.device), part.coordinates) for part in parts]
    model.train(was_training)
    return Answers(*(torch.cat(tensors).cpu() for tensors in zip(*found, strict=True)))


def correct_symbols(model: Model, task: Task, problems: Problems) -> NDArray[np.bool_]:
    """Return which answer symbols are right, pads included: `[count, slots]`."""
    batch = task.encode(problems)
    return answer(model, batch).symbols_BS.numpy() == batch.targets


def validation_problems(experiment: Experiment) -> dict[int, Problems]:
    """Longer numbers to choose a checkpoint by, per validation length."""
    testing = experiment.testing

    def drawn(length: int) -> Problems:
        data = ExactLength(length) if testing.carries else NoCarry(length, exactly=True)
        rng = generator(experiment.seed, "validation", length)
        return experiment.task.draw(data, rng, testing.validation_problems)

    return {length: drawn(length) for length in testing.validation_lengths}


def validate(model: Model, experiment: Experiment) -> float:
    """Return the share of the validation problems that are answered right."""
    results = [
        correct_symbols(model, experiment.task, problems).all(1)
        for problems in validation_problems(experiment).values()
    ]
    return float(np.concatenate(results).mean()) if results else 0.0


def evaluate(
    run: Run,
    suite: str | Suite = "uniform",
    lengths: Sequence[int] | None = None,
    problems: int | None = None,
    seed: int = 0,
    checkpoints: str = "last",
    progress: Progress = lambda done, total: None,
    watch: Callable[[Predicted], None] | None = None,
) -> list[Count]:
    """Test checkpoints of a run, write the counts of each stratum into its folder at once, and return them all.

    What was counted before with the same seed and number of problems is not counted again, unless `watch` wants to see
    every answer. No validation problem is ever in a test. Several processes answer a part of each stratum each; the
    first one writes.
    """
    experiment = run.experiment
    chosen = lookup(suite, SUITES, "suite") if isinstance(suite, str) else suite
    count = experiment.testing.problems if problems is None else check_problems(problems)
    strata = chosen.strata(experiment.task, experiment.testing.lengths if lengths is None else lengths)
    reserved = validation_problems(experiment)
    processes = Processes()
    before = run.counts()
    steps, done = sorted({run.intact(step) for step in run.select(checkpoints)}), 0
    processes.wait()  # the first one writes from here on
    largest = {cell.key: cell.tried for cell in before}
    model_at = cache(lambda step: load_model(run, step))  # loaded only if something is left to do
    results: list[Count] = []
    for checkpoint in steps:
        for stratum in strata:
            drawn = chosen.draw(stratum, count, seed)
            if stratum.length in reserved:
                drawn = drawn.without(reserved[stratum.length])
            key = (chosen.name, chosen.version, stratum.length, stratum.name)
            cells = [cell for cell in before if (*cell.key[:4], *cell.key[5:]) == (*key, seed, checkpoint)]
            if watch is not None or not any(cell.group == "" and cell.tried == len(drawn) for cell in cells):
                batch = stratum.task.encode(drawn)
                mine = processes.rows(len(drawn))
                symbols = processes.together(answer(model_at(checkpoint), batch.part(mine)).symbols_BS.numpy())
                found = Predicted(checkpoint, stratum, drawn, symbols, batch.targets)
                groups = {"": np.asarray(found.right.all(1)), **chosen.tally(stratum, drawn, found.right)}
                cells = [
                    Count(*key, group, seed, checkpoint, tried=len(hits), correct=int(hits.sum()))
                    for group, hits in groups.items()
                ]
                if processes.rank == 0:
                    run.add_counts(cell for cell in cells if cell.tried >= largest.get(cell.key, 0))
                if watch is not None:
                    watch(found)
            results += cells
            done += 1
            progress(done, len(strata) * len(steps))
    processes.wait()
    return results


def load_model(run: Run, checkpoint: int) -> Model:
    """Return the model of a kept checkpoint, on the fastest device."""
    refuse_absurd(run.experiment)
    model = run.experiment.build()
    try:
        model.load_state_dict(run.load_checkpoint(checkpoint))
    except RuntimeError as error:
        reason = str(error).splitlines()[-1].strip()
        raise ValueError(f"checkpoint {checkpoint} of {run.folder} does not fit its config.json: {reason}") from error
    return model.to(best_device())
