"""The encodings of the paper, and their sums. Each class map can be read against the paper."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from digitwise.coordinates import Coordinates, Extent
from digitwise.encodings import noise
from digitwise.encodings.base import Encoding, Pairwise, Shape, Vectors, total, within
from digitwise.encodings.symmetry import (
    ByOperandAndPlace,
    NumbersOnly,
    Permutation,
    SameForEveryQuery,
    Symmetry,
    Translation,
)


@dataclass(frozen=True)
class Nothing(Encoding):
    """No positions at all (NoPE, Kazemnejad et al. 2023): p_ij = 0, and the encoder sees a bag of symbols.

    The paper is about decoders, which can count the tokens that they are allowed to see. An encoder cannot.
    """

    any_length = True
    growing = True
    symmetries = (Permutation(), ByOperandAndPlace(), NumbersOnly())


@dataclass(frozen=True)
class Absolute(Encoding):
    """A learned vector for each position, added to the embedding: z_i = E x_i + p_i. Claims no symmetry."""

    room: int = 0
    """Positions beyond the longest problem. In training each problem starts at a random one of the first `room` + 1, so
    that the later vectors are learned too, and longer texts find positions that mean something."""
    text_only: bool = False
    """Digits and pads of numbers get none: their places are the business of another encoding."""

    def build(self, shape: Shape, extent: Extent) -> Vectors:
        return AbsoluteVectors(self, shape, extent)


class AbsoluteVectors(Vectors):
    def __init__(self, statement: Absolute, shape: Shape, extent: Extent):
        super().__init__()
        self.statement = statement
        size = (extent.positions + statement.room, shape.width)
        self.table = nn.Parameter(nn.init.normal_(torch.empty(size), std=0.02))

    @torch.no_grad()
    def grow_from(self, smaller: "AbsoluteVectors", before: Coordinates, now: Coordinates) -> None:
        """A place takes the vector of the same place of the same number, or of its highest one."""
        for number in range(-1, int(now.operand.max()) + 1):
            theirs, mine = (np.flatnonzero(tokens.operand == number) for tokens in (before, now))
            if number >= 0:
                theirs, mine = (t[np.argsort(c.place[t])] for t, c in ((theirs, before), (mine, now)))
            self.table[mine] = smaller.table[theirs[np.arange(len(mine)).clip(max=len(theirs) - 1)]]

    def prepare(self, coordinates: Coordinates) -> tuple[Tensor, Tensor | None]:
        position = coordinates.position.clamp(min=0)  # nobody looks at fillers
        within(position, len(self.table), "a position", "a larger canvas, or Absolute with more room")
        return position, coordinates.operand[..., None] < 0 if self.statement.text_only else None

    def embed(self, prepared: tuple[Tensor, Tensor | None]) -> Tensor:
        position, text = prepared
        if self.training and self.statement.room:
            starts = partial(torch.randint, self.statement.room + 1)
            start = noise.drawn(starts, (*position.shape[:-1], 1), position.device)
            position = position + start
        vectors = self.table[position]
        return vectors if text is None else vectors * text


@dataclass(frozen=True)
class Relative(Pairwise):
    """p[i, j] = p[i + t, j + t]: one vector for each distance i - j, as in `relative_key` of Hugging Face's BERT.

    `reach` clips distances, so that any length works; without it every distance on the canvas has its own vector.
    """

    reach: int | None = None
    symmetries = (Translation(),)

    @property
    def any_length(self) -> bool:  # type: ignore[override]
        return self.reach is not None

    def _furthest(self, extent: Extent) -> int:
        return extent.positions - 1 if self.reach is None else self.reach

    def num_classes(self, extent: Extent) -> int:
        return 2 * self._furthest(extent) + 1

    def classes(self, coordinates: Coordinates, extent: Extent) -> Tensor:
        distance = coordinates.position[:, None] - coordinates.position[None, :]
        furthest = self._furthest(extent)
        if self.reach is not None:
            distance = distance.clamp(-furthest, furthest)
        return distance + furthest

    def origins(self, before: Coordinates, now: Coordinates) -> Tensor:
        """Columns keep their meaning. A distance is near that of two numbers' ones (or 0, within a number), and takes
        the vector that was as far from it, at most half a number away: further ones were only seen on pads."""
        reach = (int(before.place.max()) + 2) // 2
        old, new = int(before.position.max()), int(now.position.max())
        distances = np.arange(-new, new + 1)
        centres = _between_ones(now)
        nearest = np.abs(distances[:, None] - centres).argmin(1)
        off = (distances - centres[nearest]).clip(-reach, reach)
        return torch.as_tensor((_between_ones(before)[nearest] + off).clip(-old, old) + old)


def _between_ones(tokens: Coordinates) -> NDArray[np.int64]:
    """The distances between the ones of every two numbers, which is 0 for a number and itself."""
    ones = tokens.position[tokens.place == 0]
    return np.array([0, *(a - b for a in ones for b in ones if a != b)])


@dataclass(frozen=True)
class Uniform(Pairwise):
    """Eq. upe: every query sees the same vector c_1..c_k for a digit of `operand` (the multiplier); relative elsewhere.

    The paper defines c_i for queries other than i itself. A multiplier digit that looks at itself gets its uniform
    vector too: that is the simplest choice, and the only one under which the key alone decides. `reach` clips the
    distances elsewhere.
    """

    operand: int = 0
    reach: int | None = None

    @property
    def symmetries(self) -> tuple[Symmetry, ...]:  # type: ignore[override]
        return (SameForEveryQuery(self.operand),)

    @property
    def any_length(self) -> bool:  # type: ignore[override]
        return self.reach is not None

    def num_classes(self, extent: Extent) -> int:
        return Relative(reach=self.reach).num_classes(extent) + extent.places[self.operand]

    def classes(self, coordinates: Coordinates, extent: Extent) -> Tensor:
        relative = Relative(reach=self.reach)
        uniform = relative.num_classes(extent) + coordinates.place
        return torch.where(coordinates.operand == self.operand, uniform, relative.classes(coordinates, extent))

    def origins(self, before: Coordinates, now: Coordinates) -> Tensor:
        """Distances move as those of `Relative` do, and uniform vectors stay what they are. Where the number itself
        grows, as in sums, its new places take the vector of the highest one."""
        relative = Relative(reach=self.reach).origins(before, now)
        first = 2 * int(before.position.max()) + 1
        places, known = (int((tokens.operand == self.operand).sum()) for tokens in (now, before))
        return torch.cat([relative, first + torch.arange(places).clamp(max=known - 1)])


@dataclass(frozen=True)
class Sum(Encoding):
    """Several encodings at once: what each adds is added up."""

    parts: tuple[Encoding, ...] = (Absolute(), Relative())

    @property
    def any_length(self) -> bool:  # type: ignore[override]
        return all(part.any_length for part in self.parts)

    def build(self, shape: Shape, extent: Extent) -> Vectors:
        return SumVectors([part.build(shape, extent) for part in self.parts])


class SumVectors(Vectors):
    def __init__(self, parts: Sequence[Vectors]):
        super().__init__()
        self.parts: Any = nn.ModuleList(parts)

    def prepare(self, coordinates: Coordinates) -> list[Any]:
        return [part.prepare(coordinates) for part in self.parts]

    def vary(self, prepared: list[Any], batch: int) -> list[Any]:
        return [part.vary(mine, batch) for part, mine in zip(self.parts, prepared, strict=True)]

    def embed(self, prepared: list[Any]) -> Tensor | None:
        return total([part.embed(mine) for part, mine in zip(self.parts, prepared, strict=True)])

    def angles(self, layer: int, prepared: list[Any]) -> Tensor | None:
        return total([part.angles(layer, mine) for part, mine in zip(self.parts, prepared, strict=True)])

    def scores(self, layer: int, q_BHND: Tensor, prepared: list[Any]) -> Tensor | None:
        return total([part.scores(layer, q_BHND, mine) for part, mine in zip(self.parts, prepared, strict=True)])
