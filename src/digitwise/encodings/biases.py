"""Encodings of other papers that add to the scores what depends on the distance alone, not on the query.

Shapes: as in `base`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from digitwise.coordinates import Coordinates, Extent
from digitwise.encodings.base import Classes, Encoding, Pairwise, PairwiseVectors, Shape, Vectors
from digitwise.encodings.symmetry import Reflection, Translation

HIDDEN = 32
"""Units of FIRE's function, as in its paper."""


@dataclass(frozen=True)
class Alibi(Encoding):
    """ALiBi (Press et al. 2022): -m_h |i - j| is added to the scores, with m_h = 2^(-8 h / H) for heads h = 1 .. H.

    The paper is about decoders, where j <= i. In an encoder this form treats both sides alike.
    """

    any_length = True
    growing = True
    symmetries = (Translation(), Reflection())

    def build(self, shape: Shape, extent: Extent) -> Vectors:
        return AlibiVectors(shape.heads)


class AlibiVectors(Vectors):
    """Nothing is learned."""

    slopes: Tensor

    def __init__(self, heads: int):
        super().__init__()
        self.register_buffer("slopes", torch.tensor(slopes(heads)), persistent=False)

    def prepare(self, coordinates: Coordinates) -> Tensor:
        return -self.slopes[:, None, None] * distances(coordinates).abs()[..., None, :, :]

    def scores(self, layer: int, q_BHND: Tensor, prepared: Tensor) -> Tensor:
        return prepared.expand(len(q_BHND), -1, -1, -1)


def slopes(heads: int) -> list[float]:
    """The paper's: a geometric sequence. Where heads are not a power of two, those of the next lower power, and every
    second one of the next higher."""
    lower = 2 ** int(math.log2(heads))
    first, finer = ([2 ** (-8 * (h + 1) / count) for h in range(count)] for count in (lower, 2 * lower))
    return (first + finer[::2])[:heads]


@dataclass(frozen=True)
class Buckets(Pairwise):
    """T5 (Raffel et al. 2020): b_h[bucket(i - j)] is added to the scores. A number per head and bucket, shared by all
    layers. On each side, half of the buckets are for exact distances, and half grow geometrically up to `furthest`.

    So it is the line p[i, j] = table[classes(i, j)] once more, with a number in place of a vector. The original does
    not divide scores by the root of the head's size, and we do.
    """

    deviation: float = 0.0
    buckets: int = 32
    furthest: int = 128
    any_length = True
    growing = True
    symmetries = (Translation(),)

    def __post_init__(self) -> None:
        if self.buckets < 4 or self.furthest <= self.buckets // 4:
            asked = f"{self.buckets} buckets up to a distance of {self.furthest}"
            raise ValueError(f"{asked}: there must be at least 4, and a quarter of them below that distance")

    def num_classes(self, extent: Extent) -> int:
        return self.buckets

    def classes(self, coordinates: Coordinates, extent: Extent) -> Tensor:
        ahead = -distances(coordinates)  # of the key
        side, exact = self.buckets // 2, self.buckets // 4
        growth = torch.log(ahead.abs().clamp(min=exact) / exact) / math.log(self.furthest / exact)
        binned = (exact + (growth * (side - exact)).long()).clamp(max=side - 1)
        return torch.where(ahead.abs() < exact, ahead.abs(), binned) + side * (ahead > 0)

    def build(self, shape: Shape, extent: Extent) -> Vectors:
        return BucketVectors(self, shape._replace(layers=1, head_size=shape.heads), extent)


class BucketVectors(PairwiseVectors):
    """A table of one number per head."""

    def scores(self, layer: int, q_BHND: Tensor, prepared: Classes) -> Tensor:
        bias = nn.functional.embedding(prepared.of_pairs, self.tables[0]).movedim(-1, -3)
        return bias.expand(len(q_BHND), -1, -1, -1)


@dataclass(frozen=True)
class Fire(Encoding):
    """FIRE (Li et al. 2024): f_h(psi(i - j) / psi(max(L, n))) is added to the scores, with psi(x) = log(|c x| + 1), f a
    network of one hidden layer, and c and L learned, in each layer.

    The paper is about decoders: its distances are positive, and n is the position of the query. In an encoder the sign
    of the distance is kept, and n is the largest distance in the sequence.
    """

    threshold: float | None = None
    """L at the start; None stands for twice the longest sequence, so that L is what counts and can be learned. The
    paper has 512, for sequences of 2,048 tokens."""
    any_length = True
    growing = True
    symmetries = (Translation(),)

    def build(self, shape: Shape, extent: Extent) -> Vectors:
        return FireVectors(shape, 2 * extent.positions if self.threshold is None else self.threshold)


class FireVectors(Vectors):
    def __init__(self, shape: Shape, threshold: float):
        super().__init__()
        self.threshold = threshold
        self.functions: Sequence[nn.Module] = nn.ModuleList(  # type: ignore[assignment]
            nn.Sequential(nn.Linear(1, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, shape.heads)) for _ in range(shape.layers)
        )
        self.stretch = nn.Parameter(torch.full((shape.layers,), 0.1))  # c
        self.share = nn.Parameter(torch.ones(shape.layers))  # of the threshold, which makes L

    def prepare(self, coordinates: Coordinates) -> tuple[Tensor, Tensor]:
        position = coordinates.position
        seen = position.masked_fill(position < 0, int(position.max()))  # without fillers
        return distances(coordinates), (position.amax(-1) - seen.amin(-1))[..., None, None]

    def scores(self, layer: int, q_BHND: Tensor, prepared: tuple[Tensor, Tensor]) -> Tensor:
        def psi(x: Tensor) -> Tensor:
            return (self.stretch[layer] * x).abs().log1p()

        distance, largest = prepared
        largest = torch.maximum(largest, (self.share[layer] * self.threshold).abs())
        progress = distance.sign() * psi(distance) / psi(largest)
        return self.functions[layer](progress[..., None]).movedim(-1, -3).expand(len(q_BHND), -1, -1, -1)


def distances(coordinates: Coordinates) -> Tensor:
    """Query minus key: `[N, N]`, or `[B, N, N]`."""
    position = coordinates.position
    return position[..., :, None] - position[..., None, :]
