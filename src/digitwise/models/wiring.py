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


class Heard(NamedTuple):
    """Where the cells of a wave hear a message from: earlier waves, and an index into silence followed by these."""

    waves: list[int]
    index: Tensor


class Wave(NamedTuple):
    cells: Tensor
    along: Heard
    across: Heard


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
    def waves(self) -> list[Wave]:
        """Cells that do not hear each other, each wave after those that it hears."""
        numbers, device = [np.flatnonzero(self.wave_C == n) for n in range(self.wave_C.max() + 1)], self.seen_CK.device

        def wave(cells: NDArray[np.int64]) -> Wave:
            sources = (_heard(heard_C[cells], self.wave_C, device) for heard_C in (self.along_C, self.across_C))
            return Wave(torch.as_tensor(cells, device=device), *sources)

        return [wave(cells) for cells in numbers]

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
    def slots_S(self) -> Tensor:
        """The cells that write the answer, lowest place first, as they stand when the waves are joined."""
        rank_C = np.argsort(np.argsort(self.wave_C, kind="stable"))
        writers = np.flatnonzero(self.slot_C >= 0)
        return torch.as_tensor(rank_C[writers[np.argsort(self.slot_C[writers])]], device=self.seen_CK.device)

    @cached_property
    def down_C(self) -> Tensor:
        down_R = torch.tensor(self.down_R, device=self.seen_CK.device)
        return down_R.repeat_interleave(len(self.along_C) // len(self.down_R))


def wire(neighbours: Neighbours, slot_N: Tensor) -> Wiring:
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
    shift = 1 if SHIFTED in classes else 0 if ABOVE in classes else None
    slot_C = slot_N[cells_C].cpu().numpy()
    along_C, across_C = heard(BELOW, HIGHER), heard(ABOVE, SHIFTED)
    return Wiring(tokens_CK[:, static], neighbours.digits, along_C, across_C, slot_C, down_R, shift)


def _heard(heard_A: NDArray[np.int64], wave_C: NDArray[np.int64], device: torch.device) -> Heard:
    waves = np.unique(wave_C[heard_A[heard_A >= 0]]).tolist()
    index, start = np.zeros(len(heard_A), dtype=np.int64), 1  # 0 is silence
    for wave in waves:
        cells = np.flatnonzero(wave_C == wave)
        mine = np.isin(heard_A, cells)
        index[mine] = start + np.searchsorted(cells, heard_A[mine])
        start += len(cells)
    return Heard(waves, torch.as_tensor(index, device=device))
