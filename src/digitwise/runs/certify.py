"""The check of a trained network: every situation that a cell can be in, checked against exact arithmetic.

The verdict is `proven` if nothing is wrong and rounding cannot change that: the least margins must exceed a hundred
times the largest difference that was seen between float32 and float64, between batches of several sizes and between
numbers of threads. It is `refuted` if a problem was found that the network itself, run in order, gets wrong. All else
is `open`: a wrong case that no problem was found for, or a margin that is too thin.
"""

import copy
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from digitwise.machines import CLAIMS
from digitwise.machines.certificate import Certificate, fingerprint
from digitwise.machines.rows import WALKS, expose
from digitwise.machines.run import lay_out, run
from digitwise.machines.table import NOTHING, Situation, Situations, Table, Told
from digitwise.machines.walk import ACROSS, ALONG, READ, Walk
from digitwise.models import Model, Speakers
from digitwise.models.wiring import Wiring
from digitwise.rng import generator
from digitwise.runs.experiment import Experiment
from digitwise.tasks import Task

SAFE = 100
"""Margins must exceed the largest difference so many times."""
COMPARED = ((1, 1), (7, 1), (64, 1), (64, 2), (4096, 2))
"""Sizes of batches and numbers of threads whose results are compared, for the situations of at most 64 batches each."""
BIT = 0.05
"""The least distance of a bit from its threshold at which training ends: far more than rounding needs."""
FEW = 60
"""Problems with wrong cases that are replayed through the network."""
DRAWN = 10_000
"""Problems in which the codes are counted that cells say."""
OFTEN = 0.004
"""Share of the cells from which on a code is said often; the rarest digit has 0.05."""
AT_ONCE = 0.0015
"""Share of the cells whose codes are strays at one check, so that what is heard changes little by little."""
#: How cells must be wired for a claim: which rows flow down, and where a row hears the one before (`machines.run`).
WIRED: dict[str, tuple[set[bool], int | None]] = {
    "sum": ({False}, None),
    "sums": ({False}, 0),
    "product": ({False}, 1),
    "difference": ({False, True}, 0),
    "division": ({True}, None),
}


@dataclass(frozen=True)
class Report:
    claim: str
    bits: tuple[int, int]
    verdict: str
    situations: int
    wrong: int
    problems: list[str]
    """Problems that the network gets wrong, shortest first."""
    practice: list[str]
    """Problems in which wrong cases occur, whether or not their answers are wrong; where no case is wrong, problems in
    which bits are near their thresholds."""
    meanings: dict[str, dict[str, list[int]]]
    """For each kind of message what is said, and the codes that say it."""
    double: dict[str, list[int]]
    """Codes that stand for more than one thing."""
    logit: float
    """The least margin of the symbol that is written over the next one."""
    bit: float
    """The least distance of a bit from its threshold."""
    difference: float
    """The largest difference that rounding made; nan if it was not measured."""
    seconds: float
    table: dict[Situation, Told]
    often: list[int]
    """Codes that are often said to the next row."""

    def certificate(self, weights: Path) -> Certificate:
        """The table with what it proves, of the weights in this file."""
        margins = {"logit": self.logit, "bit": self.bit, "rounding": self.difference}
        return Certificate(self.claim, fingerprint(weights), self.bits, margins, self.table)

    def summary(self) -> dict[str, Any]:
        """Numbers for a log."""
        return {
            "verdict": self.verdict, "situations": self.situations, "wrong": self.wrong, "shown": self.problems[:1],
            "logit": round(self.logit, 4), "bit": round(self.bit, 4),
            "difference": None if math.isnan(self.difference) else self.difference,
        }  # fmt: skip


def certify(experiment: Experiment, model: Model, thorough: bool = True, before: Sequence[int] = ()) -> Report:
    """Check every case of a trained model. What rounding does takes longest to measure, and matters where nothing is
    wrong: elsewhere a check that is not thorough leaves it out. `before` has the codes that were said often at an
    earlier check."""
    began, task, speakers = time.monotonic(), experiment.task, cast(Speakers, model.finite())
    if task.claim not in CLAIMS:
        raise ValueError(f"nothing is stated about {type(task).__name__.lower()} that could be proven")
    speakers = copy.deepcopy(speakers).cpu().eval()
    wiring = speakers.prepare(_smallest(task))
    if (set(wiring.down_R), wiring.shift) != WIRED[task.claim]:
        raise ValueError(f"these cells are not wired as the theorem about a {task.claim} says: {experiment.encoding}")
    table = speakers.table(wiring)
    often = said_often(shares(table, experiment), before) if task.claim in WALKS else []
    walk = _walk(task.claim, table, often, thorough)
    practice = walk.problems
    if walk.wrong and not practice:
        practice = expose(table, task.claim, walk.wrong, generator(experiment.seed, "expose"))
    shown = [text for text in sorted(practice, key=len)[:FEW] if is_wrong(speakers, task, text)]
    logit, bit, difference, thin = margins(speakers, wiring, walk.used, rounding=thorough or not walk.wrong)
    if thin and not walk.wrong and not thorough and task.claim in WALKS:
        practice = expose(table, task.claim, thin, generator(experiment.seed, "expose"))
    safe = min(logit, bit) > SAFE * difference
    verdict = "refuted" if shown else "proven" if not walk.wrong and safe else "open"
    used = list(walk.used)
    table_of = dict(zip(used, table.tell(used), strict=True))
    return Report(
        task.claim, speakers.bits, verdict, len(used), len(walk.wrong), shown, practice, *_meanings(walk), logit, bit,
        difference, time.monotonic() - began, table_of, often,
    )  # fmt: skip


def shares(table: Table, experiment: Experiment) -> NDArray[np.float64]:
    """For each code the share of the cells that say it to the next row, in problems as training draws them."""
    problems = experiment.task.draw(experiment.data, generator(experiment.seed, "said"), DRAWN)
    layouts = (
        lay_out(table, kind, problems.numbers[chosen], problems.multipliers[chosen])
        for kind, chosen in problems.by_kind()
    )
    said = np.concatenate([table.across[row.numbers_BP].ravel() for layout in layouts for row in run(table, layout)])
    counts = np.bincount(said[said != NOTHING])
    return counts / counts.sum()


def said_often(share: NDArray[np.float64], before: Sequence[int]) -> list[int]:
    """Codes that enough cells say. Those of before need half as many, so that a code near the limit does not come and
    go. Of the others only a few of the rarest are left out at one check, at least one."""
    limits = np.where(np.isin(np.arange(len(share)), before), 0.5 * OFTEN, OFTEN)
    rarest_first = np.argsort(share)
    together = share[rarest_first].cumsum()
    now = np.empty(len(share), dtype=bool)
    now[rarest_first] = (together <= AT_ONCE) | (together == share[rarest_first])
    return np.flatnonzero((share > limits) | ~now).tolist()


def _walk(claim: str, table: Table, often: Sequence[int], thorough: bool) -> Walk:
    """Where rows hear rows, strays are wrong and not followed, unless the check is thorough: then, if any is said,
    they are followed into all that they can meet."""
    if claim in WALKS:
        walk = WALKS[claim](table.tell, often)
        if not (walk.wrong and thorough):
            return walk
    return CLAIMS[claim](table.tell)


def _smallest(task: Task) -> Any:
    """Coordinates of some problem: the wiring of one cell is that of all."""
    kind = max(task.kinds, key=lambda kind: kind.size)
    numbers = [np.ones((1, 1), dtype=np.uint8)] * (kind.drawn + bool(kind.factor))
    if kind.operator == "*":
        numbers[0] = np.ones((1, kind.factor), dtype=np.uint8)
    return task.write(task.pose(kind, numbers))[1]


def is_wrong(model: Speakers, task: Task, text: str) -> bool:
    """Whether the network, run cell by cell in the order of their dependence, gets this problem wrong."""
    batch = task.encode(task.fitting([text]).read([text]))
    with torch.inference_mode():
        written = model(torch.as_tensor(batch.tokens), batch.coordinates).argmax(-1).numpy()
    return bool((written != batch.targets).any())


def margins(
    model: Speakers, wiring: Wiring, used: dict[Situation, int], rounding: bool
) -> tuple[float, float, float, list[Situation]]:
    """The least margins of logits and bits that matter, the largest difference that rounding made, if asked for, and
    the situations in which a bit is near its threshold."""
    situations, flags = list(used), torch.tensor(list(used.values()))

    def asked(chosen: Sequence[Situation], network: Speakers = model) -> tuple[Tensor, list[Tensor]]:
        own, digits, along, across = (np.array(part) for part in zip(*chosen, strict=True))
        with torch.inference_mode():
            return network.situations(wiring, Situations(own, digits.reshape(len(chosen), -1), along, across))

    def whole(parts: Iterator[tuple[Tensor, list[Tensor]]]) -> Tensor:
        return torch.cat([torch.cat([logits, *raw], 1).double() for logits, raw in parts])

    logits, raw = asked(situations)
    first, second = logits.topk(2).values.T
    logit = float((first - second)[flags & READ > 0].min())
    heard = [
        torch.where(flags & flag > 0, z.abs().amin(1), math.inf) for z, flag in zip(raw, (ALONG, ACROSS), strict=False)
    ]
    bits = torch.stack(heard).amin(0)
    bit, thin = float(bits.min()), [situations[index] for index in torch.nonzero(bits < BIT).flatten().tolist()]
    if not rounding:
        return logit, bit, math.nan, thin
    found = whole(iter([(logits, raw)]))
    exact = whole(iter([asked(situations, copy.deepcopy(model).double())]))
    differences = [(exact - found).abs().max()]
    for size, threads in COMPARED:
        some = slice(None, None, -(-len(situations) // (64 * size)))
        chosen = situations[some]
        with _threads(threads):
            again = whole(asked(chosen[at : at + size]) for at in range(0, len(chosen), size))
        differences.append((again - found[some]).abs().max())
    return logit, bit, float(max(differences)), thin


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _meanings(walk: Walk) -> tuple[dict[str, dict[str, list[int]]], dict[str, list[int]]]:
    meanings: dict[str, dict[str, list[int]]] = {}
    for relation, codes in sorted(walk.meanings.items()):
        found: dict[str, list[int]] = {}
        for code, stands_for in sorted(codes.items()):
            for meaning in sorted(stands_for):
                found.setdefault(meaning, []).append(code)
        meanings[relation] = dict(sorted(found.items(), key=lambda item: (len(item[0]), item[0])))
    double = {name: [c for c, m in sorted(codes.items()) if len(m) > 1] for name, codes in walk.meanings.items()}
    return meanings, {name: codes for name, codes in double.items() if codes}
