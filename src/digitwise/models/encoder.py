"""The encoder embeds tokens, applies layers and reads out one symbol per answer slot. It depends on no task.

Shapes: B batch, N tokens, W width, H heads, D size of a head (W = H * D), S answer slots, V symbols.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from digitwise.coordinates import Coordinates, Extent
from digitwise.encodings import Encoding, Shape
from digitwise.encodings.base import total
from digitwise.models.attention import Attention, Positional
from digitwise.models.base import Answers, Blueprint, Model
from digitwise.models.picking import pick, spread, unseen

REMEMBERED = 8
"""For how many coordinates a model remembers what it has prepared."""


@dataclass(frozen=True)
class Architecture(Blueprint):
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

    @property
    def inner(self) -> int:
        return self.feedforward or 4 * self.width

    def smallest(self) -> Blueprint:
        return replace(self, layers=1, width=16, heads=4, feedforward=32)

    def build(self, encoding: Encoding, extent: Extent, symbols: int, answers: int) -> "Encoder":
        return Encoder(self, encoding, extent, symbols, answers)


class Layer(nn.Module):
    """Attention and a feed-forward part, each with its residual sum and its norm."""

    def __init__(self, architecture: Architecture, eps: float):
        super().__init__()
        width, inner = architecture.width, architecture.inner
        self.attention = Attention(width, architecture.heads, architecture.dropout)
        self.feedforward = nn.Sequential(nn.Linear(width, inner), nn.GELU(), nn.Linear(inner, width))
        self.norms = nn.ModuleList(nn.LayerNorm(width, eps=eps) for _ in range(2))
        self.dropout = nn.Dropout(architecture.dropout)
        self.pre = architecture.norm == "pre"

    def forward(
        self, x_BNW: Tensor, positional: Positional, only: Tensor | None = None, angles: Tensor | None = None
    ) -> Tensor:
        """Return the new states of all tokens, or of some `only`, which still look at all of them."""
        first, second = self.norms
        y_BNW = first(x_BNW) if self.pre else x_BNW
        query_BNW = pick(y_BNW, only)
        x_BNW = pick(x_BNW, only) if self.pre else query_BNW
        both = None if angles is None else (pick(angles, only, angles.ndim - 2), angles)
        attended_BNW, _ = self.attention(query_BNW, y_BNW, y_BNW, positional, both)
        if self.pre:
            x_BNW = x_BNW + self.dropout(attended_BNW)
            return x_BNW + self.dropout(self.feedforward(second(x_BNW)))
        x_BNW = first(x_BNW + self.dropout(attended_BNW))
        return second(x_BNW + self.dropout(self.feedforward(x_BNW)))


class Prepared(NamedTuple):
    """What coordinates alone decide."""

    vectors: Any
    """What the encoding made of them."""
    fillers: Tensor | None
    slots: Tensor


class Encoder(Model):
    """A transformer encoder with the positions of an encoding: `[B, N] -> [B, S, V]`."""

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
        self.apply(initialise)
        self.vectors = encoding.build(architecture.shape, extent)
        self._remembered: list[tuple[torch.device, Coordinates, Prepared]] = []

    def forward(self, tokens_BN: Tensor, coordinates: Coordinates, rounds: int | None = None) -> Tensor:
        return self.readout(self._states(tokens_BN, self.prepare(coordinates), rounds, slots_only=True))

    def hidden(self, tokens_BN: Tensor, coordinates: Coordinates, rounds: int | None = None) -> Tensor:
        """Return the last hidden states of all tokens, `[B, N, W]`."""
        return self._states(tokens_BN, self.prepare(coordinates), rounds)

    def _states(self, tokens_BN: Tensor, prepared: Prepared, rounds: int | None, slots_only: bool = False) -> Tensor:
        x_BNW = self.embedding(tokens_BN.long())
        where = self.vectors.vary(prepared.vectors, len(tokens_BN)) if self.training else prepared.vectors
        positions_NW = self.vectors.embed(where)
        if positions_NW is not None:
            x_BNW = x_BNW + positions_NW
        x_BNW = self.dropout(self.embedding_norm(x_BNW))

        def positional(index: int, only: Tensor | None, q_BHND: Tensor) -> Tensor | None:
            added_BHNN = self.vectors.scores(index, spread(q_BHND, only, tokens_BN.shape[1]), where)
            return total([None if added_BHNN is None else pick(added_BHNN, only, 2), prepared.fillers])

        once, repeated = self.architecture.layers, self.architecture.repeated
        plan = [range(once), *[range(once, once + repeated)] * (rounds or self.architecture.rounds if repeated else 0)]
        state_BNW = x_BNW
        for number, indices in enumerate(plan):
            if number:
                state_BNW = self.state_norm(state_BNW) + x_BNW
            for index in indices:
                # Nobody reads the other tokens after the last layer.
                last = number == len(plan) - 1 and index == indices[-1]
                only = prepared.slots if slots_only and last else None
                state_BNW = self.layers[index](
                    state_BNW, partial(positional, index, only), only, self.vectors.angles(index, where)
                )
        return self.state_norm(state_BNW)

    def prepare(self, coordinates: Coordinates) -> Prepared:
        """Work out once what coordinates decide; those that come again and again are one object per width."""
        for device, known, prepared in self._remembered:
            if device == self.device and known.same(coordinates):
                return prepared
        with torch.inference_mode(False):  # what is remembered in a test must do for training too
            found = coordinates.map(lambda array: torch.as_tensor(array, device=self.device))
            prepared = Prepared(self.vectors.prepare(found), unseen(found), slot_positions(found))
        self._remembered = [(self.device, coordinates, prepared), *self._remembered[: REMEMBERED - 1]]
        return prepared

    def answer(self, tokens_BN: Tensor, coordinates: Coordinates) -> Answers:
        found = super().answer(tokens_BN, coordinates)
        return found._replace(rounds_B=found.rounds_B * self.architecture.rounds)

    def grow_from(self, smaller: Model, before: Coordinates, now: Coordinates) -> None:
        other: Any = smaller
        for name, part in self.named_children():
            if part is not self.vectors:
                part.load_state_dict(other.get_submodule(name).state_dict())
        self.vectors.grow_from(other.vectors, before, now)

    def pairwise(self) -> list[Tensor]:
        return self.vectors.pairwise()

    def floats(self, num_tokens: int) -> int:
        """The scores of all pairs grow with the square of the tokens."""
        return 3 * self.architecture.heads * num_tokens**2 + self.linear_floats(num_tokens)

    def linear_floats(self, num_tokens: int) -> int:
        return num_tokens * (6 * self.architecture.width + 2 * self.architecture.inner)


def slot_positions(coordinates: Coordinates) -> Tensor:
    """Return the index of the token at which each answer symbol is read, slot 0 first: `[S]`, or `[B, S]`."""
    slots = int(coordinates.slot.max()) + 1
    if ((coordinates.slot >= 0).sum(-1) != slots).any():
        raise ValueError("the rows of a batch need equally many answer slots")
    return coordinates.slot.argsort(-1)[..., coordinates.slot.shape[-1] - slots :]


def initialise(module: nn.Module) -> None:
    """BERT's: normal weights of deviation 0.02, zero biases."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)
