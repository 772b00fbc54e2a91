"""Symmetries that an encoding can claim, each a test that it can fail.

A claim is checked on what the encoding really adds (`embed`, and `scores` of every layer for random queries), so it
holds for the vectors and not only for the class map.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from digitwise.coordinates import Coordinates

if TYPE_CHECKING:
    from digitwise.encodings.base import Shape, Vectors


@dataclass(frozen=True)
class Symmetry:
    def violation(self, vectors: "Vectors", shape: "Shape", coordinates: Coordinates) -> float:
        """The largest difference between what should be equal."""
        raise NotImplementedError


@dataclass(frozen=True)
class Permutation(Symmetry):
    """Reordering the tokens reorders the result: nothing that is added depends on where a token stands."""

    def violation(self, vectors: "Vectors", shape: "Shape", coordinates: Coordinates) -> float:
        order = torch.randperm(len(coordinates.position), generator=torch.Generator().manual_seed(0))

        def reordered(added: list[Tensor]) -> list[Tensor]:
            embedded, *scores = added
            return [embedded[order], *(score[:, :, order][..., order] for score in scores)]

        q = random_queries(shape, len(order))
        return _gap(what_is_added(vectors, shape, q[:, :, order], coordinates),
                    reordered(what_is_added(vectors, shape, q, coordinates)))  # fmt: skip


@dataclass(frozen=True)
class Translation(Symmetry):
    """Moving all positions by the same amount changes nothing."""

    def violation(self, vectors: "Vectors", shape: "Shape", coordinates: Coordinates) -> float:
        window = coordinates.map(lambda array: array[: len(array) // 2])
        q = random_queries(shape, len(window.position))
        here = what_is_added(vectors, shape, q, window)
        moves = range(1, len(coordinates.position) - len(window.position) + 1)
        return max(
            _gap(here, what_is_added(vectors, shape, q, window._replace(position=window.position + move)))
            for move in moves
        )


@dataclass(frozen=True)
class PlaceTranslation(Symmetry):
    """Moving the places of all digits by the same amount changes nothing."""

    def violation(self, vectors: "Vectors", shape: "Shape", coordinates: Coordinates) -> float:
        q = random_queries(shape, len(coordinates.position))
        here = what_is_added(vectors, shape, q, coordinates)
        moved = torch.where(coordinates.place < 0, -1, coordinates.place + 3)
        return _gap(here, what_is_added(vectors, shape, q, coordinates._replace(place=moved)))


@dataclass(frozen=True)
class SameForEveryQuery(Symmetry):
    """A digit of `operand` adds the same vector to its key whichever token looks at it."""

    operand: int = 0

    def violation(self, vectors: "Vectors", shape: "Shape", coordinates: Coordinates) -> float:
        count = len(coordinates.position)
        q = random_queries(shape, 1).expand(-1, -1, count, -1)  # the same query everywhere
        _, *scores = what_is_added(vectors, shape, q, coordinates)
        seen = [score[..., coordinates.operand == self.operand] for score in scores]
        return _gap(seen, [score[:, :, :1].expand_as(score) for score in seen])


def random_queries(shape: "Shape", count: int) -> Tensor:
    return torch.randn(2, shape.heads, count, shape.head_size, generator=torch.Generator().manual_seed(1))


def what_is_added(vectors: "Vectors", shape: "Shape", q_BHND: Tensor, coordinates: Coordinates) -> list[Tensor]:
    """The embedding term and each layer's score term, zeros where there is none."""
    count = len(coordinates.position)
    prepared = vectors.prepare(coordinates)
    embedded = vectors.embed(prepared)
    added = [torch.zeros(count, shape.width) if embedded is None else embedded]
    for layer in range(shape.layers):
        scores = vectors.scores(layer, q_BHND, prepared)
        added.append(torch.zeros(*q_BHND.shape[:2], count, count) if scores is None else scores)
    return added


def _gap(left: list[Tensor], right: list[Tensor]) -> float:
    return max(float((a - b).abs().max()) for a, b in zip(left, right, strict=True))
