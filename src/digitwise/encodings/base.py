"""What an encoding is: which pairs of positions share a vector, and how these vectors are learned.

An encoding comes in two halves. Its *statement* is a frozen dataclass that states which pairs of positions are
equivalent; it can be read, compared and written to a file. `build` turns it into its learned *vectors*, a module whose
hooks the encoder calls. A hook that is not overridden adds nothing.

Shapes: B batch, H heads, N tokens, D size of a head, W width of the model.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from digitwise.coordinates import Coordinates, Extent
from digitwise.encodings.symmetry import Symmetry


class Shape(NamedTuple):
    """What an encoding needs of the encoder: the sizes of its vectors."""

    layers: int
    heads: int
    head_size: int
    width: int


class Vectors(nn.Module):
    """The learned half."""

    def pairwise(self) -> list[Tensor]:
        """Return the table of pairwise vectors of each layer, `[classes, D]`."""
        raise ValueError("maps need a table of pairwise vectors: use a relative or a uniform encoding")

    def prepare(self, coordinates: Coordinates) -> Any:
        """What the other hooks need of the coordinates (tensors `[N]`, or `[B, N]` where rows differ), worked out and
        checked once for all layers."""
        return None

    def embed(self, prepared: Any) -> Tensor | None:
        """Added once to the token embeddings: `[N, W]` or `[B, N, W]`."""
        return None

    def scores(self, layer: int, q_BHND: Tensor, prepared: Any) -> Tensor | None:
        """Added to the attention scores of one layer; the queries come already scaled: `[B, H, N, N]`."""
        return None


@dataclass(frozen=True)
class Encoding:
    """The stated half."""

    #: Does it work on sequences longer than the extent it was built for?
    any_length: ClassVar[bool] = False
    #: Is it for the columns of arithmetic without a canvas, instead of a canvas or a text?
    columns: ClassVar[bool] = False
    #: What `digitwise.conformance` holds it to.
    symmetries: ClassVar[tuple[Symmetry, ...]] = ()

    def build(self, shape: Shape, extent: Extent) -> Vectors:
        return Vectors()


@dataclass(frozen=True)
class Pairwise(Encoding):
    """Encodings that are a choice of `classes`: the paper's eq. pairwise, with p[i, j] shared by equivalent pairs."""

    deviation: float = 0.02
    """Spread of the vectors before training: 0.02 is BERT's; from 0, a class that training never shows adds nothing."""

    def num_classes(self, extent: Extent) -> int:
        raise NotImplementedError

    def classes(self, coordinates: Coordinates, extent: Extent) -> Tensor:
        """The class of each pair (query i, key j) of one sequence, from 0 to num_classes - 1: `[N] -> [N, N]`."""
        raise NotImplementedError

    def build(self, shape: Shape, extent: Extent) -> Vectors:
        return PairwiseVectors(self, shape, extent)


class PairwiseVectors(Vectors):
    """One table of vectors per layer, shared by its heads, added to the keys (Shaw et al. 2018, key side only)."""

    def __init__(self, statement: Pairwise, shape: Shape, extent: Extent):
        super().__init__()
        self.statement, self.extent = statement, extent
        size = (statement.num_classes(extent), shape.head_size)
        self.tables = nn.ParameterList(statement.deviation * torch.randn(size) for _ in range(shape.layers))

    def pairwise(self) -> list[Tensor]:
        return list(self.tables)

    def prepare(self, coordinates: Coordinates) -> Tensor:
        if coordinates.position.ndim == 1:
            classes = self.statement.classes(coordinates, self.extent)
        else:
            rows = (Coordinates(*row) for row in zip(*coordinates, strict=True))
            classes = torch.stack([self.statement.classes(row, self.extent) for row in rows])
        return within(classes, len(self.tables[0]), "a pair of positions")

    def scores(self, layer: int, q_BHND: Tensor, prepared: Tensor) -> Tensor:
        if prepared.ndim == 3:  # classes differ from row to row: the product with the whole table, then each pair's own
            return torch.take_along_dim(q_BHND @ self.tables[layer].T, prepared[:, None], -1)
        p_NND = nn.functional.embedding(prepared, self.tables[layer])  # p[i, j] = table[classes(i, j)]
        return torch.einsum("bhid,ijd->bhij", q_BHND, p_NND)


def total(terms: Iterable[Tensor | None]) -> Tensor | None:
    """Return the sum of the terms that are there, if any is."""
    present = [term for term in terms if term is not None]
    return sum(present[1:], start=present[0]) if present else None


def within(index: Tensor, size: int, what: str, remedy: str = "a larger canvas") -> Tensor:
    """Refuse indices beyond a table, where torch would name neither the encoding nor the remedy."""
    if index.numel() and not 0 <= int(index.min()) <= int(index.max()) < size:
        raise ValueError(f"{what} is beyond the {size} vectors that this encoding was built with: it needs {remedy}")
    return index
