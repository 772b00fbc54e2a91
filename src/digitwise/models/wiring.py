"""Who hears whom: the cells of a problem as a graph, in waves of cells that do not hear each other."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from digitwise.encodings import Neighbours
from digitwise.encodings.by_column import ABOVE, BELOW, HIGHER, SHIFTED

NOBODY = -1


@dataclass(frozen=True, eq=False)
class Wiring:
    """Cells are numbered by row and place, the answer's row last."""

    seen_CK: Tensor
    """Tokens: the cell itself and its digits."""
    digits: list[int]
    """The classes of these digits."""
    along_C: NDArray[np.int64]
    """The cell of its row that a cell hears, NOBODY for none."""
    across_C: NDArray[np.int64]
    """The cell of the row before that it hears."""
    slot_C: NDArray[np.int64]
    """The place of the answer that a cell writes, -1 for none."""
    down_R: list[bool]
    """Whether the cells of a row hear the next higher place, not the next lower one."""
    shift: int | None
    """Rows hear the row before at the same place (0), one place lower (1), or not at all."""

    @cached_property
    def wave_C(self) -> NDArray[np.int64]:
        """How many cells a cell has to wait for, one after the other."""
        wave_C = np.zeros(len(self.along_C), dtype=np.int64)
        for _ in range(len(wave_C) + 1):
            waits = (np.where(heard_C < 0, 0, wave_C[heard_C] + 1) for heard_C in (self.along_C, self.across_C))
            new_C = np.maximum(*waits)
            if (new_C == wave_C).all():
                return wave_C
            wave_C = new_C
        raise ValueError("cells wait for each other in a circle")

    @cached_property
    def writers(self) -> NDArray[np.int64]:
        """The cells that write the answer, lowest place first."""
        there = np.flatnonzero(self.slot_C >= 0)
        return there[np.argsort(self.slot_C[there])]


def wire(neighbours: Neighbours, slot_N: Tensor, looks: list[int]) -> Wiring:
    """`looks`: the classes of cells that the answer's row can look at, whether or not there are any in this problem."""
    cells_C, classes = neighbours.cells_RP.flatten(), neighbours.classes_K.tolist()
    tokens_CK = neighbours.tokens_NK[cells_C].where(neighbours.bias_NK[cells_C] == 0, NOBODY)
    static = [classes.index(number) for number in (0, *neighbours.digits)]
    if (tokens_CK[:, static] == NOBODY).any():
        raise ValueError("every cell must see as many digits as the others")
    number_N = torch.full((len(slot_N) + 1,), NOBODY, device=cells_C.device)  # the last entry for nobody
    number_N[cells_C] = torch.arange(len(cells_C), device=cells_C.device)

    def heard(*kinds: int) -> NDArray[np.int64]:
        found = torch.full_like(cells_C, NOBODY)
        for kind in kinds:
            if kind in classes:
                cell = number_N[tokens_CK[:, classes.index(kind)]]
                if ((found != NOBODY) & (cell != NOBODY)).any():
                    raise ValueError("a cell hears one cell of its row and one of the row before, not more")
                found = torch.where(cell == NOBODY, found, cell)
        return found.cpu().numpy()

    down_R = [False] * len(neighbours.cells_RP)
    if HIGHER in classes:
        looks_up = tokens_CK[:, classes.index(HIGHER)] != NOBODY
        down_R = looks_up.view(neighbours.cells_RP.shape).any(1).tolist()
    # A row that hears none before it must hear that nothing in the same way as others do.
    shift = 1 if SHIFTED in looks else 0 if ABOVE in looks else None
    slot_C = slot_N[cells_C].cpu().numpy()
    along_C, across_C = heard(BELOW, HIGHER), heard(ABOVE, SHIFTED)
    return Wiring(tokens_CK[:, static], neighbours.digits, along_C, across_C, slot_C, down_R, shift)


class Graph(NamedTuple):
    """All cells of several batches, each wave after those that it hears."""

    order_A: Tensor  # where the cells stand in the batches, one after the other, each by cell and problem
    problem_A: Tensor
    heard: list[Tensor]  # along and across: which cell is heard, counted from 1; 0 is silence
    down_A: Tensor
    bounds: list[int]  # where waves begin, and the end
    slots: list[Tensor]  # for each batch the cells that write the answers, `[B, S]`

    def only(self, kept_A: Tensor) -> "Graph":
        """The graph without some cells, which nobody hears any more."""
        there_A = torch.cat([kept_A.new_zeros(1), kept_A])  # silence first
        rank_A = there_A.cumsum(0)
        heard = [torch.where(there_A[index], rank_A[index], 0)[kept_A] for index in self.heard]
        bounds = list(dict.fromkeys(rank_A[self.bounds].tolist()))
        slots = [rank_A[slots_BS + 1] - 1 for slots_BS in self.slots]
        order_A, problem_A, down_A = (part[kept_A] for part in (self.order_A, self.problem_A, self.down_A))
        return Graph(order_A, problem_A, heard, down_A, bounds, slots)


def join(parts: list[tuple[Wiring, int]]) -> Graph:
    """The graph of batches that are wired alike in themselves, of so many problems each."""
    first = np.cumsum([0, *(len(wiring.along_C) * problems for wiring, problems in parts)])
    start = np.cumsum([0, *(problems for _, problems in parts)])
    wave_A = np.concatenate([np.repeat(wiring.wave_C, problems) for wiring, problems in parts])
    order_A = np.argsort(wave_A, kind="stable")
    rank_A = np.empty_like(order_A)
    rank_A[order_A] = np.arange(len(order_A))

    def cells(numbers: NDArray[np.int64], part: int) -> NDArray[np.int64]:
        """Where cells `[n]` of all problems of a part stand: `[n, problems]`."""
        problems = parts[part][1]
        return rank_A[first[part] + numbers[:, None] * problems + np.arange(problems)]

    def heard(name: str) -> Tensor:
        found = [(getattr(wiring, name), part) for part, (wiring, _) in enumerate(parts)]
        joined = [np.where(who[:, None] < 0, 0, cells(who.clip(0), part) + 1).ravel() for who, part in found]
        return torch.as_tensor(np.concatenate(joined)[order_A], device=device)

    def spread(values: list[NDArray]) -> Tensor:
        return torch.as_tensor(np.concatenate(values)[order_A], device=device)

    device = parts[0][0].seen_CK.device
    problem = [np.tile(start[n] + np.arange(count), len(w.along_C)) for n, (w, count) in enumerate(parts)]
    down = [np.repeat(np.repeat(w.down_R, len(w.along_C) // len(w.down_R)), count) for w, count in parts]
    slots = [torch.as_tensor(cells(wiring.writers, n).T, device=device) for n, (wiring, _) in enumerate(parts)]
    bounds = np.searchsorted(wave_A[order_A], np.arange(wave_A.max() + 2)).tolist()
    order = torch.as_tensor(order_A, device=device)
    return Graph(order, spread(problem), [heard("along_C"), heard("across_C")], spread(down), bounds, slots)
