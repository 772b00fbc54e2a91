"""Randomised positions."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch

from digitwise.coordinates import Coordinates, Extent
from digitwise.encodings.base import Encoding, Shape, Vectors
from digitwise.encodings.standard import Relative
from digitwise.encodings.symmetry import OrderAlone

TIMES = 4
"""So many times the longest sequence is the range by default; the paper has 2,048 for tests of 500 tokens."""


@dataclass(frozen=True)
class Randomised(Encoding):
    """Ruoss et al. 2023: in training the positions of the N tokens are N of `most` numbers, drawn anew in every batch
    and sorted. Another encoding, in the paper best the relative one, reads these in place of 0 .. N - 1.

    At test the paper draws too. Here the positions are spread evenly over the range, as a draw is on average: an answer
    should not depend on chance.
    """

    base: Encoding = field(default_factory=lambda: Relative(deviation=0.0))
    most: int | None = None
    growing = True
    symmetries = (OrderAlone(),)

    def build(self, shape: Shape, extent: Extent) -> Vectors:
        most = TIMES * extent.positions if self.most is None else self.most
        if most < extent.positions:
            raise ValueError(f"{extent.positions} tokens need as many positions to draw from, not {most}")
        return RandomisedVectors(self.base.build(shape, extent._replace(positions=most)), most, extent.positions)


class Spread(NamedTuple):
    coordinates: Coordinates  # with the rank of each token for its position
    inner: Any  # what the other encoding made of positions


class RandomisedVectors(Vectors):
    def __init__(self, base: Vectors, most: int, longest: int):
        super().__init__()
        self.base, self.most, self.longest = base, most, longest

    def prepare(self, coordinates: Coordinates) -> Spread:
        position = coordinates.position
        count = position.shape[-1]
        if count > self.longest:
            raise ValueError(f"{count} tokens are beyond the {self.longest} that this encoding was built for")
        rank = torch.where(position < 0, -1, position.argsort(-1).argsort(-1) - (position < 0).sum(-1, keepdim=True))
        ranked = coordinates._replace(position=rank)
        tokens = (rank >= 0).sum(-1, keepdim=True)
        evenly = ((rank + 1) * (self.most + 1) // (tokens + 1) - 1).clamp(0, self.most - 1)
        return Spread(ranked, self.base.prepare(ranked._replace(position=torch.where(rank < 0, -1, evenly))))

    def vary(self, prepared: Spread, batch: int) -> Spread:
        rank = prepared.coordinates.position
        drawn = torch.randperm(self.most, device=rank.device)[: rank.shape[-1]].sort().values
        position = torch.where(rank < 0, -1, drawn[rank.clamp(min=0)])
        return prepared._replace(inner=self.base.prepare(prepared.coordinates._replace(position=position)))

    def embed(self, prepared: Spread) -> Any:
        return self.base.embed(prepared.inner)

    def scores(self, layer: int, q_BHND: torch.Tensor, prepared: Spread) -> Any:
        return self.base.scores(layer, q_BHND, prepared.inner)

    def angles(self, layer: int, prepared: Spread) -> Any:
        return self.base.angles(layer, prepared.inner)

    def pairwise(self) -> list[torch.Tensor]:
        return self.base.pairwise()
