"""One cell: from its own symbol, the digits that it sees and the messages that it hears to what it writes and says.

The distinct layers show the cell its digits. The last one shows them again, and the messages: each message is a few
bits (+1, -1, or all 0 for hearing nothing), from which its key and value come. All of that depends on nothing else, so
a cell has finitely many situations, and `situations` works them out.

Shapes: A cells, M combinations of own symbol and digits, K digits or messages, the rest as in `encoder`.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn

from digitwise.coordinates import Extent
from digitwise.encodings import Encoding, PlaceVectors
from digitwise.encodings.by_column import ABOVE, BELOW, HIGHER, SHIFTED
from digitwise.machines.table import NOTHING, Situations
from digitwise.models.base import Model
from digitwise.models.encoder import Architecture, Layer, initialise
from digitwise.models.wiring import Wiring
from digitwise.tasks.symbols import EQUAL


class Started(NamedTuple):
    """What the layer that hears messages needs of combinations of own symbol and digits."""

    x_MW: Tensor
    query_MHD: Tensor
    scores_MKH: Tensor
    values_MKHD: Tensor


class Cell(Model):
    """The parts of an encoder, put together for one cell."""

    vectors: PlaceVectors
    layers: Sequence[Layer]

    def __init__(self, cell: Architecture, bits: tuple[int, int], encoding: Encoding, symbols: int, answers: int):
        super().__init__()
        if not encoding.columns:
            raise ValueError(f"cells need --encoding by-column, not {type(encoding).__name__.lower()}")
        self.architecture, self.bits, eps = cell, bits, 1e-12
        self.embedding = nn.Embedding(symbols, cell.width)
        self.embedding_norm = nn.LayerNorm(cell.width, eps=eps)
        self.layers = nn.ModuleList(Layer(cell, eps) for _ in range(cell.shape.layers))  # type: ignore[assignment]
        self.state_norm = nn.LayerNorm(cell.width, eps=eps)
        self.readout = nn.Linear(cell.width, answers)
        used = [count for count in bits if count]
        self.say = nn.ModuleList(nn.Linear(cell.width, count) for count in used)
        self.hear = nn.ModuleList(nn.Linear(count, cell.width) for count in used)
        self.hear_norms = nn.ModuleList(nn.LayerNorm(cell.width, eps=eps) for _ in used)
        self.apply(initialise)
        self.vectors = cast(PlaceVectors, encoding.build(cell.shape, Extent(0, ())))

    def start(self, symbols_MK: Tensor, classes: list[int]) -> Started:
        """Own symbols first, then digits of these classes."""
        symbols_VW = self.embedding_norm(self.embedding.weight)
        x_MW, digits_MK = symbols_VW[symbols_MK[:, 0]], symbols_MK[:, 1:]
        for number, layer in enumerate(self.layers):
            attention = layer.attention
            normed_MW, normed_VW = layer.norms[0](x_MW), layer.norms[0](symbols_VW)
            query_MHD = self._heads(attention.query(normed_MW)) / math.sqrt(self._head_size)
            keys_MKHD, values_MKHD = (
                self._heads(torch.cat([part(normed_MW)[:, None], part(normed_VW)[digits_MK]], dim=1))
                for part in (attention.key, attention.value)
            )
            scores_MKH = self._scores(query_MHD, keys_MKHD, self.vectors.tables[number][[0, *classes]])
            if number < len(self.layers) - 1:
                x_MW = self._finish(layer, x_MW, scores_MKH, values_MKHD)
        return Started(x_MW, query_MHD, scores_MKH, values_MKHD)

    def state(self, started: Started, heard: list[Tensor], classes_AK: Tensor) -> Tensor:
        """Normalised states of cells that hear these bits, one tensor `[A, bits]` for each kind of message."""
        layer = self.layers[-1]
        parts = zip(self.hear_norms, self.hear, heard, strict=True)
        told_AKW = torch.stack([norm(hear(bits)) for norm, hear, bits in parts], 1)
        keys_AKHD, values_AKHD = (self._heads(part(told_AKW)) for part in (layer.attention.key, layer.attention.value))
        scores_AKH = self._scores(started.query_MHD, keys_AKHD, self.vectors.tables[-1][classes_AK])
        scores_AKH = torch.cat([started.scores_MKH, scores_AKH], dim=1)
        values_AKHD = torch.cat([started.values_MKHD, values_AKHD], dim=1)
        return self.state_norm(self._finish(layer, started.x_MW, scores_AKH, values_AKHD))

    @property
    def _head_size(self) -> int:
        return self.architecture.width // self.architecture.heads

    def _heads(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.architecture.heads, -1))

    def _scores(self, query_AHD: Tensor, keys_AKHD: Tensor, vectors_KD: Tensor) -> Tensor:
        """q (k + p), with p = table[class] as everywhere: `[A, K, H]`."""
        return (query_AHD[:, None] * (keys_AKHD + vectors_KD.unsqueeze(-2))).sum(-1)

    def _finish(self, layer: Layer, x_AW: Tensor, scores_AKH: Tensor, values_AKHD: Tensor) -> Tensor:
        attended_AW = (scores_AKH.softmax(1)[..., None] * values_AKHD).sum(1).flatten(1)
        x_AW = x_AW + layer.attention.out(attended_AW)
        return x_AW + layer.feedforward(layer.norms[1](x_AW))

    def _classes(self, down_A: Tensor, shift: int | None) -> Tensor:
        """Classes of the messages that cells hear: `[A, kinds of messages]`."""
        along_A = torch.where(down_A, HIGHER, BELOW)
        across_A = torch.full_like(along_A, SHIFTED if shift else ABOVE)
        return torch.stack([along_A, across_A][: len(self.say)], 1)

    def situations(self, wiring: Wiring, situations: Situations) -> tuple[Tensor, list[Tensor]]:
        """Logits, and messages before the signs of their bits are taken, of cells in these situations."""
        symbols = np.concatenate([situations.own_A[:, None], situations.digits_AK], axis=1)
        # The rows before the answer's differ in their direction only where they have a symbol of their own.
        inner, last = wiring.down_R[0], wiring.down_R[-1]
        down_A = torch.as_tensor(np.where(situations.own_A == EQUAL, inner, last), device=self.device)
        heard = []
        for count, code in zip(self.bits, (situations.along_A, situations.across_A), strict=True):
            if count:
                code_A1 = torch.as_tensor(code, device=self.device).long()[:, None]
                bits_AL = bits_of(code_A1[:, 0], count)
                heard.append(torch.where(code_A1 == NOTHING, 0.0, bits_AL).to(self.readout.weight.dtype))
        started = self.start(torch.as_tensor(symbols, device=self.device).long(), wiring.digits)
        state_AW = self.state(started, heard, self._classes(down_A, wiring.shift))
        return self.readout(state_AW), [say(state_AW) for say in self.say]


def bits_of(codes_A: Tensor, count: int) -> Tensor:
    """Codes as bits, +1 or -1: `[A, count]`."""
    return (codes_A[:, None] >> torch.arange(count, device=codes_A.device) & 1) * 2.0 - 1.0
