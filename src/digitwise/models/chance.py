"""What is random in a forward pass of cells: whose bits are hard, and the noise on bits.

Cells that have a part of a batch draw for all cells of the batch and take their own, so that it does not matter into
how many parts the batch is split. Letters as in `wiring`: A cells of all batches.
"""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from digitwise.encodings.noise import Share
from digitwise.models.wiring import Graph


class Chance:
    """For cells of a whole batch."""

    def __init__(self, graph: Graph):
        self.graph = graph

    def problems(self) -> Tensor:
        """A number from 0 to 1 for each problem, `[problems, 1]`."""
        return torch.rand(int(self.graph.problem_A.max()) + 1, 1, device=self.graph.problem_A.device)

    def like(self, z: Tensor) -> Tensor:
        """Noise for what the cells of the next wave say."""
        return torch.randn_like(z)

    def share_of(self, count: int) -> float:
        """What a sum over this many bits is divided by, so that the mean of all parts is the mean of all bits."""
        return count


class SharedChance(Chance):
    """For cells of a part of a batch, whose whole has this graph; `bits` are those that a cell says, by relation."""

    def __init__(self, whole: Graph, share: Share, bits: Sequence[int]):
        super().__init__(whole)
        self.share, self.bits = share, bits
        row_A = whole.problem_A % share.count  # draws follow each other, all of the same size
        self.mine_A = (row_A >= share.rows.start) & (row_A < share.rows.stop)
        self.noise = self._noise()

    def problems(self) -> Tensor:
        count = self.share.count * len(self.share.whole)
        drawn = torch.rand(count, 1, device=self.graph.problem_A.device, generator=self.share.generator)
        return drawn.view(len(self.share.whole), -1, 1)[:, self.share.rows].reshape(-1, 1)

    def like(self, z: Tensor) -> Tensor:
        return next(self.noise)

    def _noise(self) -> Iterator[Tensor]:
        for now in map(slice, self.graph.bounds[:-1], self.graph.bounds[1:]):
            mine = self.mine_A[now]
            for count in self.bits:
                device, generator = mine.device, self.share.generator
                drawn = torch.randn(len(mine), count, device=device, generator=generator)[mine]
                if len(drawn):
                    yield drawn

    def share_of(self, count: int) -> float:
        return len(self.mine_A) * sum(self.bits) / self.share.parts
