"""Attention with pairwise positions, queries, keys and values given: ours, the expanded table, and no positions.

Shapes: B batch, N tokens, W width, H heads, D size of a head (W = H D).
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from digitwise.bench.measure import Row, Session, row
from digitwise.bench.references import expanded_scores
from digitwise.coordinates import Coordinates, Extent
from digitwise.data import ExactLength
from digitwise.encodings import Relative
from digitwise.models.attention import attend
from digitwise.paper import PAPER
from digitwise.rng import generator
from digitwise.tasks import Addition

CANVASES = ((20, 64), (50, 64), (200, 8), (1000, 1))  # with their batches


def scores(session: Session) -> list[Row]:
    """Forward and backward with the paper's heads, 8 of size 96: seconds, and peak memory in a fresh process."""
    rows, ratios = [], [("ours", "expanded table"), ("ours", "no positions")]
    for canvas, batch in session.chosen(CANVASES, CANVASES[:3], ((3, 2),)):
        case = f"canvas {canvas}, batch {batch}"
        seconds = session.seconds(case, {side: attention(side, canvas, batch) for side in SIDES})
        rows.append(row(case, "seconds", seconds, ratios))
        if session.size == "quick" and canvas < 200:
            continue  # a few megabytes differ too much from process to process
        peaks = {
            side: partial(session.peak, f"{__name__}:attention", [side, 2, 1], [side, canvas, batch]) for side in SIDES
        }
        rows.append(row(case, "peak MB", session.turns(f"{case}, memory", peaks), ratios))
    return rows


def attention(side: str, canvas: int, batch: int) -> Callable[[], Any]:
    """Return a call of one side: the output, then the gradients of queries, keys, values and the table."""
    task = Addition(canvas)
    _, coordinates = task.write(task.draw(ExactLength(canvas), generator(0, "scores"), 1))
    module = SIDES[side](coordinates.map(torch.as_tensor), task.extent)
    shape_BNW = (batch, len(coordinates.position), PAPER.width)
    given = [torch.randn(shape_BNW, requires_grad=True) for _ in range(3)]
    gradient_BNW, wanted = torch.randn(shape_BNW), [*given, *module.parameters()]
    return lambda: torch.autograd.grad(module(*given), wanted, gradient_BNW)


class Ours(nn.Module):
    """The encoder's own attention, without its projections, which also scale the queries at no cost of their own."""

    def __init__(self, coordinates: Coordinates, extent: Extent):
        super().__init__()
        self.vectors = Relative().build(PAPER.shape._replace(layers=1), extent)
        self.prepared = self.vectors.prepare(coordinates)

    def forward(self, q_BNW: Tensor, k_BNW: Tensor, v_BNW: Tensor) -> Tensor:
        q_BHND, k_BHND, v_BHND = map(by_head, (q_BNW, k_BNW, v_BNW))
        positional = partial(self.vectors.scores, 0, prepared=self.prepared)
        return attend(q_BHND, k_BHND, v_BHND, positional, nn.Identity())[0]


class ExpandedTable(nn.Module):
    """As Hugging Face's BERT computed it with `relative_key`: the vector of every pair, anew in every call."""

    def __init__(self, coordinates: Coordinates, extent: Extent):
        super().__init__()
        self.position_N = coordinates.position
        self.table = nn.Parameter(0.02 * torch.randn(2 * extent.positions - 1, PAPER.shape.head_size))

    def forward(self, q_BNW: Tensor, k_BNW: Tensor, v_BNW: Tensor) -> Tensor:
        q_BHND, k_BHND, v_BHND = map(by_head, (q_BNW, k_BNW, v_BNW))
        scores_BHNN = q_BHND @ k_BHND.mT + expanded_scores(q_BHND, self.table, self.position_N)
        weights_BHNN = (scores_BHNN / math.sqrt(q_BHND.shape[-1])).softmax(-1)
        return (weights_BHNN @ v_BHND).transpose(1, 2).flatten(2)


class NoPositions(nn.Module):
    """Torch's own attention, which knows no order: what positions cost is what we have above it."""

    def __init__(self, coordinates: Coordinates, extent: Extent):
        super().__init__()

    def forward(self, q_BNW: Tensor, k_BNW: Tensor, v_BNW: Tensor) -> Tensor:
        q_BHND, k_BHND, v_BHND = map(by_head, (q_BNW, k_BNW, v_BNW))
        return nn.functional.scaled_dot_product_attention(q_BHND, k_BHND, v_BHND).transpose(1, 2).flatten(2)


def by_head(x_BNW: Tensor) -> Tensor:
    return x_BNW.unflatten(-1, (PAPER.heads, -1)).transpose(1, 2)


SIDES: dict[str, type[nn.Module]] = {"ours": Ours, "expanded table": ExpandedTable, "no positions": NoPositions}
