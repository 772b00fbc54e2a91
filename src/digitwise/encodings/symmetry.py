"""Symmetries that an encoding can claim, each a test that it can fail.

A claim is checked on what the encoding really adds (`embed`, and `scores` of every layer for random queries; where it
rotates queries and keys, what that adds to their products), so it holds for the vectors and not only for the class map.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from digitwise.coordinates import Coordinates
from digitwise.encodings.rotation import rotated

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
        order = _any_order(coordinates)
        q = random_queries(shape, coordinates)
        embedded, *scores = what_is_added(vectors, shape, q, coordinates)
        return _gap(what_is_added(vectors, shape, q[:, :, order], coordinates),
                    [embedded[..., order, :], *(_reordered(score, order) for score in scores)])  # fmt: skip


@dataclass(frozen=True)
class ByOperandAndPlace(Symmetry):
    """A token's number and place alone decide what its pairs get: move the tokens about, each with its number and
    place, and the scores move with them. So a number may stand anywhere in a text."""

    def violation(self, vectors: "Vectors", shape: "Shape", coordinates: Coordinates) -> float:
        order = _any_order(coordinates)
        q = random_queries(shape, coordinates)
        moved = coordinates.map(lambda array: array[..., order])._replace(position=coordinates.position)
        _, *here = what_is_added(vectors, shape, q, coordinates)
        _, *there = what_is_added(vectors, shape, q[:, :, order], moved)
        return _gap(there, [_reordered(score, order) for score in here])


@dataclass(frozen=True)
class NumbersOnly(Symmetry):
    """Pairs with a token that belongs to no number get nothing."""

    def violation(self, vectors: "Vectors", shape: "Shape", coordinates: Coordinates) -> float:
        _, *scores = what_is_added(vectors, shape, random_queries(shape, coordinates), coordinates)
        text = (coordinates.operand < 0).expand(scores[0].shape[0], -1)
        outside = text[:, None, :, None] | text[:, None, None, :]
        return max(float((score * outside).abs().max()) for score in scores)


@dataclass(frozen=True)
class Translation(Symmetry):
    """Moving all positions by the same amount changes nothing."""

    def violation(self, vectors: "Vectors", shape: "Shape", coordinates: Coordinates) -> float:
        count = coordinates.position.shape[-1]
        window = coordinates.map(lambda array: array[..., : count // 2])
        q = random_queries(shape, window)
        here = what_is_added(vectors, shape, q, window)
        moves = range(1, count - count // 2 + 1)
        return max(
            _gap(here, what_is_added(vectors, shape, q, window._replace(position=window.position + move)))
            for move in moves
        )


@dataclass(frozen=True)
class Reflection(Symmetry):
    """Counting positions from the other end changes nothing: left and right are alike."""

    def violation(self, vectors: "Vectors", shape: "Shape", coordinates: Coordinates) -> float:
        q, position = random_queries(shape, coordinates), coordinates.position
        turned = position.amax(-1, keepdim=True) - position
        here, there = (what_is_added(vectors, shape, q, coordinates._replace(position=p)) for p in (position, turned))
        return _gap(here, there)


@dataclass(frozen=True)
class ProductsByDistance(Symmetry):
    """The product of the vectors of two positions depends on their distance alone."""

    def violation(self, vectors: "Vectors", shape: "Shape", coordinates: Coordinates) -> float:
        q = random_queries(shape, coordinates)
        here, *_ = what_is_added(vectors, shape, q, coordinates)
        there, *_ = what_is_added(vectors, shape, q, coordinates._replace(position=coordinates.position + 5))
        seen = (coordinates.position >= 0).expand(here.shape[:-1])[..., None]
        here, there = here * seen, there * seen
        return _gap([here @ here.mT], [there @ there.mT])


@dataclass(frozen=True)
class OrderAlone(Symmetry):
    """Only the order of positions counts: moving them apart changes nothing."""

    def violation(self, vectors: "Vectors", shape: "Shape", coordinates: Coordinates) -> float:
        q, position = random_queries(shape, coordinates), coordinates.position
        apart = torch.where(position < 0, position, position**2 + 3)
        here, there = (what_is_added(vectors, shape, q, coordinates._replace(position=p)) for p in (position, apart))
        return _gap(here, there)


@dataclass(frozen=True)
class EqualPlaces(Symmetry):
    """Digits of equal places get equal vectors, in whichever number and wherever in the sequence they stand."""

    def violation(self, vectors: "Vectors", shape: "Shape", coordinates: Coordinates) -> float:
        q, count = random_queries(shape, coordinates), coordinates.position.shape[-1]
        moved = torch.where(coordinates.position < 0, coordinates.position, count - 1 - coordinates.position)
        here, *scores = what_is_added(vectors, shape, q, coordinates)
        there, *others = what_is_added(vectors, shape, q, coordinates._replace(position=moved))
        rows, places = here.reshape(-1, count, shape.width), coordinates.place.reshape(-1, count)
        digits = (coordinates.operand >= 0).reshape(-1, count)
        equal = (places[:, :, None] == places[:, None, :]) & digits[:, :, None] & digits[:, None, :]
        apart = (rows[:, :, None] - rows[:, None, :]).abs().amax(-1) * equal
        return max(float(apart.max()), _gap([here, *scores], [there, *others]))


@dataclass(frozen=True)
class PlaceTranslation(Symmetry):
    """Moving the places of all digits by the same amount changes nothing; tokens without a place stay."""

    def violation(self, vectors: "Vectors", shape: "Shape", coordinates: Coordinates) -> float:
        q = random_queries(shape, coordinates)
        here = what_is_added(vectors, shape, q, coordinates)
        moved = torch.where(coordinates.place < 0, coordinates.place, coordinates.place + 3)
        return _gap(here, what_is_added(vectors, shape, q, coordinates._replace(place=moved)))


@dataclass(frozen=True)
class SameForEveryQuery(Symmetry):
    """A digit of `operand` adds the same vector to its key whichever token looks at it, or whichever digit does."""

    operand: int = 0
    numbers_only: bool = False

    def violation(self, vectors: "Vectors", shape: "Shape", coordinates: Coordinates) -> float:
        q = random_queries(shape, coordinates)
        q = q[:, :, :1].expand_as(q)  # the same query everywhere
        _, *scores = what_is_added(vectors, shape, q, coordinates)
        largest = 0.0
        for row, operand in enumerate(coordinates.operand.expand(len(q), -1)):
            looking = operand >= 0 if self.numbers_only else torch.ones_like(operand, dtype=torch.bool)
            seen = [score[row][:, looking][..., operand == self.operand] for score in scores]
            largest = max(largest, _gap(seen, [score[:, :1].expand_as(score) for score in seen]))
        return largest


def random_queries(shape: "Shape", coordinates: Coordinates) -> Tensor:
    """For each row of the coordinates; two rows for coordinates that all rows share."""
    *batch, count = coordinates.position.shape
    size = (*(batch or [2]), shape.heads, count, shape.head_size)
    return torch.randn(size, generator=torch.Generator().manual_seed(1))


def what_is_added(vectors: "Vectors", shape: "Shape", q_BHND: Tensor, coordinates: Coordinates) -> list[Tensor]:
    """The embedding term and each layer's score term, zeros where there is none."""
    count = coordinates.position.shape[-1]
    prepared = vectors.prepare(coordinates)
    embedded = vectors.embed(prepared)
    added = [torch.zeros(*coordinates.position.shape, shape.width) if embedded is None else embedded]
    for layer in range(shape.layers):
        scores = vectors.scores(layer, q_BHND, prepared)
        scores = torch.zeros(*q_BHND.shape[:2], count, count) if scores is None else scores
        angles = vectors.angles(layer, prepared)
        if angles is not None:
            k_BHND = q_BHND.flip(-1)  # any keys, that are reordered as the queries are
            scores = scores + rotated(q_BHND, angles) @ rotated(k_BHND, angles).mT - q_BHND @ k_BHND.mT
        added.append(scores)
    return added


def _any_order(coordinates: Coordinates) -> Tensor:
    return torch.randperm(coordinates.position.shape[-1], generator=torch.Generator().manual_seed(0))


def _reordered(score: Tensor, order: Tensor) -> Tensor:
    return score[:, :, order][..., order]


def _gap(left: list[Tensor], right: list[Tensor]) -> float:
    return max(float((a - b).abs().max()) for a, b in zip(left, right, strict=True))
