"""What we are measured against: the expanded table of pairwise vectors, and the matrix products alone.

Shapes: B batch, N tokens, W width, H heads, D size of a head (W = H D), I inner width, V symbols, R rows and P places
of cells.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from digitwise.coordinates import Coordinates, Extent
from digitwise.encodings import Encoding, Shape
from digitwise.encodings.base import Vectors
from digitwise.models import Architecture, Columns
from digitwise.tasks import Batch
from digitwise.tasks.symbols import NUM_ANSWER_SYMBOLS


def expanded_scores(q_BHND: Tensor, table: Tensor, position_N: Tensor) -> Tensor:
    """The definition of `relative_key`, word for word: a vector for every pair `[N, N, D]`, and an einsum over it.

    Written from the definition (Shaw et al. 2018, eq. 3 and 4, keys only), as Hugging Face's BERT computed it until
    transformers 4.57.
    """
    distance_NN = position_N[:, None] - position_N[None, :] + len(table) // 2
    p_NND = nn.functional.embedding(distance_NN, table)
    return torch.einsum("bhid,ijd->bhij", q_BHND, p_NND)


@dataclass(frozen=True)
class Expanded(Encoding):
    """Relative positions by the expanded table, for the same encoder as ours."""

    def build(self, shape: Shape, extent: Extent) -> Vectors:
        return ExpandedVectors(shape, extent)


class ExpandedVectors(Vectors):
    def __init__(self, shape: Shape, extent: Extent):
        super().__init__()
        size = (2 * extent.positions - 1, shape.head_size)
        self.tables = nn.ParameterList(0.02 * torch.randn(size) for _ in range(shape.layers))

    def prepare(self, coordinates: Coordinates) -> Tensor:
        return coordinates.position

    def scores(self, layer: int, q_BHND: Tensor, prepared: Tensor) -> Tensor:
        return expanded_scores(q_BHND, self.tables[layer], prepared)


class Products:
    """The matrix products of a model, and nothing else: no sums, no norms, no softmax, no optimizer.

    They have the shapes and layouts in which a plain implementation needs them, inputs that stay as they are, and
    outputs whose memory is used again. So no step of such a model, in the same precision and on the same machine, takes
    less time, unless it avoids products.
    """

    def __init__(self) -> None:
        self.products: list[tuple[Tensor, Tensor, Tensor]] = []
        self.known: dict[tuple[str | int, ...], Tensor] = {}

    def __call__(self) -> None:
        for a, b, out in self.products:
            torch.matmul(a, b, out=out)

    def add(self, a: Tensor, b: Tensor) -> None:
        self.products.append((a, b, self._shared(*a.shape[:-1], b.shape[-1], role="output")))

    def linear(self, rows: int, width_in: int, width_out: int, weight: Tensor | None = None) -> Tensor:
        """A linear layer for so many rows: forward. The weights are returned, for `backward`."""
        weight = torch.randn(width_out, width_in) if weight is None else weight
        self.add(self._shared(rows, width_in), weight.T)
        return weight

    def backward(self, rows: int, weight: Tensor, inputs: bool = True, weights: bool = True) -> None:
        """Its gradients, of its inputs and of its weights."""
        gradient = self._shared(rows, weight.shape[0])
        if inputs:
            self.add(gradient, weight)
        if weights:
            self.add(gradient.T, self._shared(rows, weight.shape[1]))

    def attention(self, count: int, tokens: int, size: int) -> None:
        """Scores and values of so many heads, and the gradients of queries, keys, weights and values."""
        q, weights = self._shared(count, tokens, size), self._shared(count, tokens, tokens)
        k, v, gradient = (self._shared(count, tokens, size, role=role) for role in ("key", "value", "gradient"))
        for a, b in ((q, k.mT), (weights, v), (gradient, v.mT), (weights.mT, gradient), (weights, k), (weights.mT, q)):
            self.add(a, b)

    def _shared(self, *shape: int, role: str = "input") -> Tensor:
        """One tensor for all that have a shape and a role."""
        if (role, *shape) not in self.known:
            self.known[role, *shape] = torch.randn(shape)
        return self.known[role, *shape]


def encoder_floor(architecture: Architecture, batch: Batch) -> Products:
    """Forward and backward of a plain encoder without positions, all its layers at all tokens: queries, keys and values
    in one product, scores and values of attention, the output, the feed-forward part, and the readout at the slots."""
    products = Products()
    (problems, tokens), slots = batch.tokens.shape, batch.targets.shape[1]
    width, inner, heads = architecture.width, architecture.inner, architecture.heads
    rows = problems * tokens
    for _ in range(architecture.layers):
        for size_in, size_out in ((width, 3 * width), (width, width), (width, inner), (inner, width)):
            products.backward(rows, products.linear(rows, size_in, size_out))
        products.attention(problems * heads, tokens, width // heads)
    products.backward(problems * slots, products.linear(problems * slots, width, NUM_ANSWER_SYMBOLS))
    return products


def columns_floor(columns: Columns, batch: Batch) -> Products:
    """Forward and backward of the repeated layer, every cell once, in the order of their dependence: as many waves as
    rows and places ask for, since a cell waits for the one below. Gradients of weights wait for nothing, and are one
    product each over all cells.

    Per cell: key and value in one product, the output, the feed-forward part; and the readout. Left out is what a cell
    starts from, since there are only a few hundred different starts.
    """
    products, problems = Products(), len(batch.tokens)
    where, places = batch.coordinates, batch.targets.shape[1]
    rows = int(((where.operand < 0) & (where.row >= 0)).sum()) // places
    width, inner = columns.width, columns.encoder().inner
    weights = [torch.randn(o, i) for i, o in _repeated(width, inner)]
    waves = [problems * min(wave + 1, rows, places, rows + places - 1 - wave) for wave in range(rows + places - 1)]
    for cells in waves:
        for weight in weights:
            products.linear(cells, weight.shape[1], weight.shape[0], weight)
    products.backward(problems * places, products.linear(problems * places, width, NUM_ANSWER_SYMBOLS))
    for cells in reversed(waves):
        for weight in reversed(weights):
            products.backward(cells, weight, weights=False)
    for weight in weights:
        products.backward(sum(waves), weight, inputs=False)
    return products


def _repeated(width: int, inner: int) -> Iterator[tuple[int, int]]:
    """Inputs and outputs of the products that each cell needs in the repeated layer."""
    yield from ((width, width), (width, inner), (inner, width), (width, 2 * width))


def answer_floor(columns: Columns, cells: int, at_once: int = 2**14) -> Products:
    """Forward alone, every cell once, in parts that suit the caches."""
    products, width = Products(), columns.width
    weights = [torch.randn(o, i) for i, o in (*_repeated(width, columns.encoder().inner), (width, NUM_ANSWER_SYMBOLS))]
    for first in range(0, cells, at_once):
        for weight in weights:
            products.linear(min(at_once, cells - first), weight.shape[1], weight.shape[0], weight)
    return products
