"""Exact match by length, and by place, as integer counts."""

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from digitwise.counts import Count
from digitwise.data import ExactLength
from digitwise.data.suites import check_problems, find
from digitwise.models.encoder import Encoder
from digitwise.models.ripple import Ripple
from digitwise.numbers import digits as dg
from digitwise.rng import generator
from digitwise.runs.experiment import Experiment, Locator
from digitwise.runs.folder import Run
from digitwise.tasks import Operands, Task

MEMORY = 2**30
"""Bytes that the activations of one batch may take."""

#: Told how many strata are done, of how many.
Progress = Callable[[int, int], None]


def answer(model: Encoder, task: Task, tokens: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """What the model reads out, `[count, slots]`, in batches sized by memory; training mode is left as it was."""
    device = next(model.parameters()).device
    locate = Locator(task, device)
    size = batch_size(model, tokens.shape[1])

    def read(part: NDArray[np.uint8]) -> Tensor:
        given = torch.as_tensor(part, device=device)
        if isinstance(model, Ripple):
            return model.settle(given, locate(part)).symbols_BS.cpu()
        return model(given, locate(part)).argmax(-1).cpu()

    was_training = model.training
    model.eval()
    with torch.inference_mode():
        parts = [read(tokens[start : start + size]) for start in range(0, len(tokens), size)]
    model.train(was_training)
    return torch.cat(parts).numpy().astype(np.uint8) if parts else np.zeros((0, task.num_slots), np.uint8)


def batch_size(model: Encoder, num_tokens: int) -> int:
    """How many problems fit the memory at once: the scores of all pairs grow with the square of the tokens."""
    architecture = model.architecture
    inner = architecture.feedforward or 4 * architecture.width
    scores = 0 if isinstance(model, Ripple) else 3 * architecture.heads * num_tokens**2
    floats = scores + num_tokens * (6 * architecture.width + 2 * inner)
    return max(1, min(1024, MEMORY // (4 * floats)))


def correct_symbols(model: Encoder, task: Task, operands: Operands) -> NDArray[np.bool_]:
    """Which answer symbols are right, pads included: `[count, slots]`. A problem is right if all of them are."""
    batch = task.encode(operands)
    return answer(model, task, batch.tokens) == batch.targets


def validation_problems(experiment: Experiment) -> dict[int, Operands]:
    """Longer numbers to choose a checkpoint by, for each validation length."""
    testing = experiment.testing
    return {
        length: experiment.task.draw(
            ExactLength(length), generator(experiment.seed, "validation", length), testing.validation_problems
        )
        for length in testing.validation_lengths
    }


def validate(model: Encoder, experiment: Experiment) -> float:
    """Share of the validation problems that are answered right."""
    results = [
        correct_symbols(model, experiment.task, operands).all(1)
        for operands in validation_problems(experiment).values()
    ]
    return float(np.concatenate(results).mean()) if results else 0.0


def without(operands: Operands, others: Operands) -> Operands:
    """The problems that are not among the others."""
    widths = [max(a.shape[1], b.shape[1]) for a, b in zip(operands, others, strict=True)]
    keep = ~np.isin(_identities(operands, widths), _identities(others, widths))
    return tuple(operand[keep] for operand in operands)


def _identities(operands: Operands, widths: list[int]) -> NDArray[np.void]:
    """One value for each problem, equal when the problems are."""
    rows = np.concatenate([dg.widen(o, width) for o, width in zip(operands, widths, strict=True)], axis=1)
    return np.ascontiguousarray(rows).view(np.dtype((np.void, rows.shape[1])))[:, 0]


def evaluate(
    run: Run,
    suite: str = "uniform",
    lengths: Sequence[int] | None = None,
    problems: int | None = None,
    seed: int = 0,
    checkpoints: str = "last",
    progress: Progress = lambda done, total: None,
) -> list[Count]:
    """Test checkpoints of a run, write the counts into its folder and return them. What was counted before with the
    same seed and number of problems is not counted again."""
    experiment, chosen = run.experiment, find(suite)
    problems = experiment.testing.problems if problems is None else check_problems(problems)
    strata = chosen.strata(experiment.task, experiment.testing.lengths if lengths is None else lengths)
    reserved = validation_problems(experiment)
    known = run.counts()
    model_at = cache(lambda step: load_model(run, step))  # loaded only if something is left to do
    results: list[Count] = []
    steps, done = run.select(checkpoints), 0
    for checkpoint in steps:
        for stratum in strata:
            operands = chosen.draw(stratum, problems, seed)
            if len(reserved.get(stratum.length, ())) == len(operands):  # no others can be among them
                operands = without(operands, reserved[stratum.length])
            key = (chosen.name, chosen.version, stratum.length, stratum.name)
            cells = [
                count
                for count in known
                if (count.suite, count.version, count.length, count.stratum) == key
                and (count.seed, count.checkpoint) == (seed, checkpoint)
            ]
            if not any(count.group == "" and count.tried == len(operands[0]) for count in cells):
                right = correct_symbols(model_at(checkpoint), stratum.task or experiment.task, operands)
                cells = [
                    Count(*key, group, seed, checkpoint, tried=len(hits), correct=int(hits.sum()))
                    for group, hits in {"": np.asarray(right.all(1)), **chosen.tally(stratum, operands, right)}.items()
                ]
            results += cells
            done += 1
            progress(done, len(strata) * len(steps))
        largest = {count.key: count.tried for count in known}
        run.add_counts(count for count in results if count.tried >= largest.get(count.key, 0))
    return results


def load_model(run: Run, checkpoint: int) -> Encoder:
    model = run.experiment.build()
    try:
        model.load_state_dict(run.load_checkpoint(checkpoint))
    except RuntimeError as error:
        reason = str(error).splitlines()[-1].strip()
        raise ValueError(f"checkpoint {checkpoint} of {run.folder} does not fit its config.json: {reason}") from error
    return model.to("cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu")
