"""The suite of problems that random ones miss: zeros, ones, equal numbers, nines, powers of ten."""

from collections.abc import Callable, Sequence

import numpy as np

from digitwise.counts import Case
from digitwise.data.distributions import ExactLength, fits
from digitwise.data.suites import Stratum, Suite, drawn, named_kinds
from digitwise.numbers import digits as dg
from digitwise.tasks import Kind, Problems, Task

Cases = dict[str, list[tuple[str, str]]]


def sums(length: int) -> Cases:
    nines, power = "9" * length, "1" + "0" * (length - 1)
    return {
        "zero": [("0", "0"), ("0", nines), (nines, "0"), (power, "0"), ("0", power)],
        "nines + 1": [(nines, "1")],
        "1 + nines": [("1", nines)],
        "all nines": [(nines, nines)],
        "equal": [(str(digit) * length,) * 2 for digit in range(1, 10)] + [(power, power)],
    }


def differences(length: int) -> Cases:
    nines, power = "9" * length, "1" + "0" * (length - 1)
    return {
        "minus 0": [(nines, "0"), (power, "0"), ("0", "0")],
        "power - 1": [(power, "1"), (power + "0", nines)],
        "equal": [(str(digit) * length,) * 2 for digit in range(1, 10)] + [(power, power)],
    }


def products(length: int, multiplier: int) -> Cases:
    """Multipliers have exactly k digits, so 0 and 1 exist for k = 1 only, and the smallest is 10^(k-1)."""
    others = [str(digit) * length for digit in range(1, 10)] + ["1" + "0" * (length - 1)]
    largest, smallest = "9" * multiplier, "1" + "0" * (multiplier - 1)
    return {
        "smallest multiplier": [(smallest, other) for other in others],
        "largest multiplier": [(largest, other) for other in others],
        "multiplicand 0": [(largest, "0"), (smallest, "0")],
        "multiplicand 1": [(largest, "1"), (smallest, "1")],
        **({"multiplier 0": [("0", other) for other in [*others, "0"]]} if multiplier == 1 else {}),
    }


def edges(task: Task, lengths: Sequence[int]) -> list[Stratum]:
    """What random problems miss: zeros, ones, equal numbers, all nines, very unequal lengths, the full canvas."""
    out = []
    for length in lengths:
        fits(length, task.longest)
        for label, kind in named_kinds(task):
            for case, pairs in cases(length, kind).items():
                out.append(Stratum(length, str(Case(label, case)), _listed(task, kind, pairs), task))
            out.append(Stratum(length, str(Case(label, "much shorter")), _much_shorter(task, kind, length), task))
    if task.longest is not None:
        out.append(drawn(task, task.longest, "full canvas", ExactLength(task.longest), task.kinds[0]))
    return out


def cases(length: int, kind: Kind) -> Cases:
    if kind.operator == "*":
        return products(length, kind.size)
    return {"+": sums, "-": differences}[kind.operator](length)


def _listed(task: Task, kind: Kind, pairs: list[tuple[str, str]]) -> Callable[[np.random.Generator, int], Problems]:
    numbers = [dg.parse(side) for side in zip(*pairs, strict=True)]
    return lambda rng, count: task.pose(kind, numbers)


def _much_shorter(task: Task, kind: Kind, length: int) -> Callable[[np.random.Generator, int], Problems]:
    """A number of L digits and one of a single digit, in sums on either side; for products a single digit."""

    def draw(rng: np.random.Generator, count: int) -> Problems:
        if kind.operator == "*":
            return task.draw(ExactLength(1), rng, count, kind)
        long, _ = ExactLength(length).draw(rng, count, 2, task.longest).swapaxes(0, 1)
        few, _ = dg.widen(ExactLength(1).draw(rng, count, 2, task.longest), length).swapaxes(0, 1)
        swap = rng.integers(0, 2, count).astype(bool)[:, None]
        if kind.operator == "-":
            swap[:] = dg.compare(long, few)[:, None] >= 0
        return task.pose(kind, [np.where(swap, long, few), np.where(swap, few, long)])

    return draw


SUITES = [Suite("edges", 1, edges)]
