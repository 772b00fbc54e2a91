"""The encoder embeds tokens, applies layers, reads out a symbol for each answer slot. It knows no task, no encoding.

Shapes: B batch, N tokens, W width, H heads, D size of a head (W = H * D), S answer slots, V symbols.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from digitwise.coordinates import Coordinates, Extent
from digitwise.encodings import Encoding, Shape
from digitwise.encodings.standard import total

#: From scaled queries to what the encoding adds to the scores of one layer, if anything.
Positional = Callable[[Tensor], Tensor | None]


@dataclass(frozen=True)
class Architecture:
    """The size of an encoder and the order of its parts."""

    layers: int = 3
    """Distinct layers, each applied once."""
    repeated: int = 0
    """Further layers that are applied again and again, the embedded input injected at the start of every round."""
    rounds: int = 1
    """How often the repeated layers are applied, unless the caller says otherwise."""
    width: int = 96
    heads: int = 4
    feedforward: int = 0
    """Inner width of the feed-forward part; 0 stands for four times the width."""
    norm: str = "pre"
    """`post` normalises after each residual sum, as BERT does; `pre` before each part, with one more at the end."""
    dropout: float = 0.0

    def __post_init__(self) -> None:
        if self.norm not in ("pre", "post"):
            raise ValueError(f"norm must be 'pre' or 'post', not '{self.norm}'")
        if self.heads < 1 or self.width < 1 or self.width % self.heads:
            raise ValueError(f"width must be a multiple of heads, and {self.width} is not one of {self.heads}")
        if self.layers < 0 or self.repeated < 0 or self.layers + self.repeated < 1 or self.rounds < 1:
            raise ValueError("an encoder needs at least one layer, and at least one round")
        if self.feedforward < 0:
            raise ValueError(f"feedforward must not be negative, and {self.feedforward} is")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be from 0 to below 1, not {self.dropout}")

    @property
    def shape(self) -> Shape:
        return Shape(self.layers + self.repeated, self.heads, self.width // self.heads, self.width)


class Attention(nn.Module):
    """Eq. pairwise: softmax over j of q_i (k_j + p_ij) / sqrt(D); the encoding supplies the second product."""

    def __init__(self, width: int, heads: int, dropout: float = 0.0):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, query_BNW: Tensor, key_BNW: Tensor, value_BNW: Tensor, positional: Positional
    ) -> tuple[Tensor, Tensor]:
        """The output `[B, N, W]`, and the weights `[B, H, N, N]`."""
        parts = ((self.query, query_BNW), (self.key, key_BNW), (self.value, value_BNW))
        q_BHND, k_BHND, v_BHND = (part(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for part, x in parts)
        q_BHND = q_BHND / math.sqrt(q_BHND.shape[-1])
        scores_BHNN = q_BHND @ k_BHND.transpose(-1, -2)
        added_BHNN = positional(q_BHND)
        if added_BHNN is not None:
            scores_BHNN = scores_BHNN + added_BHNN
        attention_BHNN = self.dropout(scores_BHNN.softmax(-1))
        return self.out((attention_BHNN @ v_BHND).transpose(1, 2).flatten(-2)), attention_BHNN


class Layer(nn.Module):
    """Attention and a feed-forward part, each with its residual sum and its norm."""

    def __init__(self, architecture: Architecture, eps: float):
        super().__init__()
        width = architecture.width
        inner = architecture.feedforward or 4 * width
        self.attention = Attention(width, architecture.heads, architecture.dropout)
        self.feedforward = nn.Sequential(nn.Linear(width, inner), nn.GELU(), nn.Linear(inner, width))
        self.norms = nn.ModuleList(nn.LayerNorm(width, eps=eps) for _ in range(2))
        self.dropout = nn.Dropout(architecture.dropout)
        self.pre = architecture.norm == "pre"

    def forward(self, x_BNW: Tensor, positional: Positional) -> Tensor:
        first, second = self.norms
        y_BNW = first(x_BNW) if self.pre else x_BNW
        attended_BNW, _ = self.attention(y_BNW, y_BNW, y_BNW, positional)
        if self.pre:
            x_BNW = x_BNW + self.dropout(attended_BNW)
            return x_BNW + self.dropout(self.feedforward(second(x_BNW)))
        x_BNW = first(x_BNW + self.dropout(attended_BNW))
        return second(x_BNW + self.dropout(self.feedforward(x_BNW)))


class Encoder(nn.Module):
    """`symbols` go in, one of `answers` comes out for each slot: `[B, N] -> [B, S, V]`."""

    def __init__(self, architecture: Architecture, encoding: Encoding, extent: Extent, symbols: int, answers: int):
        super().__init__()
        self.architecture = architecture
        eps = 1e-12  # BERT's
        self.embedding = nn.Embedding(symbols, architecture.width)
        self.embedding_norm = nn.LayerNorm(architecture.width, eps=eps)
        self.dropout = nn.Dropout(architecture.dropout)
        self.layers = nn.ModuleList(Layer(architecture, eps) for _ in range(architecture.shape.layers))
        # Normalises the state wherever it is read whole: before it is repeated with pre-norm layers, and at the end.
        pre = architecture.norm == "pre"
        self.state_norm = nn.LayerNorm(architecture.width, eps=eps) if pre else nn.Identity()
        self.readout = nn.Linear(architecture.width, answers)
        self.apply(_initialise)
        self.vectors = encoding.build(architecture.shape, extent)
        self._prepared: tuple[Coordinates, tuple[Any, Tensor | None]] | None = None

    def forward(self, tokens_BN: Tensor, coordinates: Coordinates, rounds: int | None = None) -> Tensor:
        hidden_BNW = self.hidden(tokens_BN, coordinates, rounds)
        positions = slot_positions(coordinates)
        if positions.ndim == 1:
            return self.readout(hidden_BNW[:, positions])
        return self.readout(torch.take_along_dim(hidden_BNW, positions[..., None], 1))

    def hidden(self, tokens_BN: Tensor, coordinates: Coordinates, rounds: int | None = None) -> Tensor:
        """The last hidden states, `[B, N, W]`."""
        prepared, fillers = self._prepare(coordinates)
        x_BNW = self.embedding(tokens_BN.long())
        positions_NW = self.vectors.embed(prepared)
        if positions_NW is not None:
            x_BNW = x_BNW + positions_NW
        x_BNW = self.dropout(self.embedding_norm(x_BNW))

        def positional(index: int, q_BHND: Tensor) -> Tensor | None:
            return total([self.vectors.scores(index, q_BHND, prepared), fillers])

        def apply(indices: range, state_BNW: Tensor) -> Tensor:
            for index in indices:
                state_BNW = self.layers[index](state_BNW, partial(positional, index))
            return state_BNW

        once = self.architecture.layers
        state_BNW = apply(range(once), x_BNW)
        if self.architecture.repeated:
            for _ in range(rounds or self.architecture.rounds):
                state_BNW = apply(range(once, len(self.layers)), self.state_norm(state_BNW) + x_BNW)
        return self.state_norm(state_BNW)

    def _prepare(self, coordinates: Coordinates) -> tuple[Any, Tensor | None]:
        """Class maps are worked out once for coordinates that are used again and again."""
        if self._prepared is None or self._prepared[0] is not coordinates:
            self._prepared = (coordinates, (self.vectors.prepare(coordinates), unseen(coordinates)))
        return self._prepared[1]


def unseen(coordinates: Coordinates) -> Tensor | None:
    """What is added to the scores so that nobody looks at fillers, `[B, 1, 1, N]`: an answer must not depend on the
    length of the other rows of its batch. All that is text or number stays visible to all."""
    filler = coordinates.position < 0
    if not filler.any():
        return None
    return torch.zeros(filler.shape, device=filler.device).masked_fill(filler, -torch.inf)[..., None, None, :]


def slot_positions(coordinates: Coordinates) -> Tensor:
    """Index of the token at which each answer symbol is read, slot 0 first: `[S]`, or `[B, S]` where rows differ."""
    slots = int(coordinates.slot.max()) + 1
    if ((coordinates.slot >= 0).sum(-1) != slots).any():
        raise ValueError("the rows of a batch need equally many answer slots")
    return coordinates.slot.argsort(-1)[..., coordinates.slot.shape[-1] - slots :]


def _initialise(module: nn.Module) -> None:
    """BERT's: normal weights of deviation 0.02, zero biases."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)
