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
from torch.autograd.function import once_differentiable

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

    def vary(self, prepared: Any, batch: int) -> Any:
        """What was prepared, with what is drawn anew in each forward of training, such as a random offset. It is drawn
        from torch, which the training loop seeds by (seed, step)."""
        return prepared

    def embed(self, prepared: Any) -> Tensor | None:
        """Added once to the token embeddings: `[N, W]` or `[B, N, W]`."""
        return None

    def scores(self, layer: int, q_BHND: Tensor, prepared: Any) -> Tensor | None:
        """Added to the attention scores of one layer; the queries come already scaled: `[B, H, N, N]`."""
        return None

    def angles(self, layer: int, prepared: Any) -> Tensor | None:
        """The angles by which pairs of entries of queries and keys are rotated: `[N, D / 2]`, or with the batch and the
        heads before, where these differ: `[B or 1, H or 1, N, D / 2]`."""
        return None

    def grow_from(self, smaller: Any, before: Coordinates, now: Coordinates) -> None:
        """Take what the vectors of a smaller canvas have learned. Coordinates are those of its tokens, and of ours."""
        try:
            self.load_state_dict(smaller.state_dict())
        except RuntimeError:
            raise ValueError("these positional vectors cannot be moved to another canvas") from None


@dataclass(frozen=True)
class Encoding:
    """The stated half."""

    #: Does it work on sequences longer than the extent it was built for?
    any_length: ClassVar[bool] = False
    #: Is it for the columns of arithmetic without a canvas, instead of a canvas or a text?
    columns: ClassVar[bool] = False
    #: Was it made for sequences that grow with their numbers? Then it is compared in that format too.
    growing: ClassVar[bool] = False
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

    def origins(self, before: Coordinates, now: Coordinates) -> Tensor:
        """For each class on a canvas, the class on a smaller one whose vector it takes when a model grows."""
        raise ValueError(f"{type(self).__name__} does not say how its vectors move to another canvas")

    def build(self, shape: Shape, extent: Extent) -> Vectors:
        return PairwiseVectors(self, shape, extent)


class Classes(NamedTuple):
    """Which pairs share a vector."""

    of_pairs: Tensor  # [N, N], or [B, N, N] where rows differ
    firsts: list[int] | None  # each query's class of the first key, if classes fall by one from key to key


class PairwiseVectors(Vectors):
    """One table of vectors per layer, shared by its heads, added to the keys (Shaw et al. 2018, key side only)."""

    def __init__(self, statement: Pairwise, shape: Shape, extent: Extent):
        super().__init__()
        self.statement, self.extent = statement, extent
        size = (statement.num_classes(extent), shape.head_size)
        self.tables = nn.ParameterList(statement.deviation * torch.randn(size) for _ in range(shape.layers))

    def pairwise(self) -> list[Tensor]:
        return list(self.tables)

    @torch.no_grad()
    def grow_from(self, smaller: "PairwiseVectors", before: Coordinates, now: Coordinates) -> None:
        same = len(self.tables[0]) == len(smaller.tables[0])
        rows = slice(None) if same else self.statement.origins(before, now)
        for mine, theirs in zip(self.tables, smaller.tables, strict=True):
            mine.copy_(theirs[rows])

    def prepare(self, coordinates: Coordinates) -> Classes:
        if coordinates.position.ndim == 1:
            classes = self.statement.classes(coordinates, self.extent)
        else:
            rows = (Coordinates(*row) for row in zip(*coordinates, strict=True))
            classes = torch.stack([self.statement.classes(row, self.extent) for row in rows])
        within(classes, len(self.tables[0]), "a pair of positions")
        sliding = classes.ndim == 2 and bool((classes[:, :-1] - classes[:, 1:] == 1).all())
        return Classes(classes, classes[:, 0].tolist() if sliding else None)

    def scores(self, layer: int, q_BHND: Tensor, prepared: Classes) -> Tensor:
        (classes, firsts), table = prepared, self.tables[layer]
        if classes.ndim == 3:  # classes differ from row to row: the product with the whole table, then each pair's own
            return torch.take_along_dim(q_BHND @ table.T, classes[:, None], -1)
        batch, heads, count, _ = q_BHND.shape
        if firsts is not None and count > batch * heads:
            return SlidingScores.apply(q_BHND, table.to(q_BHND.dtype), firsts)
        p_NND = nn.functional.embedding(classes, table)  # p[i, j] = table[classes(i, j)]
        return torch.einsum("bhid,ijd->bhij", q_BHND, p_NND)


class SlidingScores(torch.autograd.Function):
    """The same from a slice of the table for each query, in place of a vector for each pair.

    That saves the memory of the vectors, and time where they are larger than the queries of the whole batch.
    """

    @staticmethod
    def forward(ctx: Any, q_BHND: Tensor, table: Tensor, firsts: list[int]) -> Tensor:
        batch, heads, count, size = q_BHND.shape
        ctx.shape, ctx.starts = q_BHND.shape, [len(table) - 1 - first for first in firsts]
        q_AND, backwards = q_BHND.reshape(-1, count, size), table.flip(0)  # A = B H; classes fall from key to key
        scores_ANN = q_AND.new_empty(batch * heads, count, count)
        for query, start in enumerate(ctx.starts):
            torch.mm(q_AND[:, query], backwards[start : start + count].T, out=scores_ANN[:, query])
        ctx.save_for_backward(q_AND, backwards)
        return scores_ANN.view(batch, heads, count, count)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient_BHNN: Tensor) -> tuple[Tensor, Tensor, None]:
        q_AND, backwards = ctx.saved_tensors
        gradient_ANN, count = gradient_BHNN.flatten(0, 1), q_AND.shape[1]
        of_q_AND, of_table = torch.empty_like(q_AND), torch.zeros_like(backwards)
        for query, start in enumerate(ctx.starts):
            torch.mm(gradient_ANN[:, query], backwards[start : start + count], out=of_q_AND[:, query])
            of_table[start : start + count].addmm_(gradient_ANN[:, query].T, q_AND[:, query])
        return of_q_AND.view(ctx.shape), of_table.flip(0), None


def total(terms: Iterable[Tensor | None]) -> Tensor | None:
    """Return the sum of the terms that are there, if any is."""
    present = [term for term in terms if term is not None]
    return sum(present[1:], start=present[0]) if present else None


def within(index: Tensor, size: int, what: str, remedy: str = "a larger canvas") -> Tensor:
    """Refuse indices beyond a table, where torch would name neither the encoding nor the remedy."""
    if index.numel() and not 0 <= int(index.min()) <= int(index.max()) < size:
        raise ValueError(f"{what} is beyond the {size} vectors that this encoding was built with: it needs {remedy}")
    return index
