"""An encoder whose work ripples from low places to high ones: few neighbours a token, rounds until nothing changes.

The distinct layers are applied once, to all tokens. Then the operands stay as they are, and the repeated layer goes on
with the answer's row alone: in every round each column looks at its digits again, and at the columns just below it as
they were a round ago. So a round costs the same for every column, and a column needs another round only while it, or
one that it looks at, still changes.

Shapes: T tokens of the whole batch, A columns (answer tokens) of the whole batch, K neighbours, W, H, D as in `model`.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from digitwise.coordinates import Coordinates, Extent
from digitwise.encodings import ByPlace, Neighbours, PlaceVectors
from digitwise.model import Architecture, Attention, Encoder, Layer, slot_positions

STILL = 0.02
"""A column is at rest when no entry of its normalised state moved by more than this in a round."""
EXTRA_ROUNDS = 30
"""Rounds beyond one for each column after which an answer is taken as it is."""


class Seen(NamedTuple):
    """Keys, values and score biases of what a token looks at."""

    keys_AKHD: Tensor
    values_AKHD: Tensor
    bias_AK: Tensor


class Columns(NamedTuple):
    """Everything about a batch that the rounds need and do not change."""

    start_AW: Tensor
    digits: Seen
    below_AK: Tensor  # the column itself, then those below it
    vectors_AKD: Tensor
    bias_AK: Tensor


class Settled(NamedTuple):
    symbols_BS: Tensor
    confidence_BS: Tensor
    rounds_B: Tensor
    """The round after which a problem's columns were all at rest."""


class Ripple(Encoder):
    """The parts of an encoder, put together for neighbours."""

    vectors: PlaceVectors
    layers: Sequence[Layer]  # type: ignore[assignment]

    def __init__(self, architecture: Architecture, encoding: ByPlace, extent: Extent, symbols: int, answers: int):
        if not isinstance(encoding, ByPlace):
            raise ValueError(
                f"arithmetic without a canvas needs --encoding place, not {type(encoding).__name__.lower()}"
            )
        if architecture.repeated != 1 or architecture.norm != "pre":
            raise ValueError("arithmetic without a canvas needs one repeated layer (--repeated 1) and --norm pre")
        super().__init__(architecture, encoding, extent, symbols, answers)

    def forward(
        self, tokens_BN: Tensor, coordinates: Coordinates, rounds: int | Sequence[int] | None = None, before: int = 0
    ) -> Tensor:
        """Logits `[B, S, V]` after the rounds, or `[R, B, S, V]` after each of several numbers of rounds.

        No gradient flows into the rounds that come `before`: they only bring the state where training is to hold it.
        """
        wanted = [rounds] if isinstance(rounds, int) else list(rounds or [self.architecture.rounds])
        columns = self._columns(tokens_BN, coordinates)
        state_AW, states = columns.start_AW, {}
        with torch.no_grad():
            for _ in range(before):
                state_AW = self._round(self.state_norm(state_AW), columns)
        for done in range(1, max(wanted) + 1):
            state_AW = self._round(self.state_norm(state_AW), columns)
            states[done] = state_AW
        logits = self.readout(self.state_norm(torch.stack([states[number] for number in wanted])))
        logits_RBSV = logits.unflatten(1, (len(tokens_BN), -1))
        return logits_RBSV if isinstance(rounds, Sequence) else logits_RBSV[0]

    def settle(self, tokens_BN: Tensor, coordinates: Coordinates, most: int | None = None) -> Settled:
        """Rounds until every column is at rest. Columns at rest whose neighbours below are too are left alone."""
        columns = self._columns(tokens_BN, coordinates)
        count, problems = len(columns.start_AW), len(tokens_BN)
        most = count // problems + EXTRA_ROUNDS if most is None else most
        state_AW = self.state_norm(columns.start_AW)
        keys_AW, values_AW = self._own_keys(state_AW + columns.start_AW)
        active_A = torch.arange(count, device=state_AW.device)
        rounds_B = torch.zeros(problems, dtype=torch.long, device=state_AW.device)
        seen_by = columns.below_AK
        for done in range(1, most + 1):
            some = len(active_A) < count
            now = _part(columns, active_A) if some else columns
            old_AW = state_AW[active_A] if some else state_AW
            new_AW = self.state_norm(self._round(old_AW, now, (keys_AW, values_AW)))
            moved_A = active_A[(new_AW - old_AW).abs().amax(-1) > STILL]
            state_AW[active_A] = new_AW
            keys_AW[active_A], values_AW[active_A] = self._own_keys(new_AW + now.start_AW)
            rounds_B[moved_A // (count // problems)] = done
            if not len(moved_A):
                break
            if done < MINIMUM:
                continue
            moved = torch.zeros(count, dtype=torch.bool, device=state_AW.device)
            moved[moved_A] = True
            active_A = moved[seen_by].logical_and(columns.bias_AK == 0).any(-1).nonzero()[:, 0]
        confidence_A, symbols_A = self.readout(state_AW).softmax(-1).max(-1)
        return Settled(symbols_A.unflatten(0, (problems, -1)), confidence_A.unflatten(0, (problems, -1)), rounds_B)

    def _columns(self, tokens_BN: Tensor, coordinates: Coordinates) -> Columns:
        neighbours: Neighbours = self._prepare(coordinates)
        problems, length = tokens_BN.shape
        x_TW = self.dropout(self.embedding_norm(self.embedding(tokens_BN.long().flatten())))
        every = torch.arange(length, device=tokens_BN.device)
        for number in range(self.architecture.layers):
            layer = self.layers[number]
            normed_TW = layer.norms[0](x_TW)
            seen = self._seen(number, normed_TW, neighbours, every, problems)
            x_TW = x_TW + self.dropout(look(layer.attention, normed_TW, [seen]))
            x_TW = x_TW + self.dropout(layer.feedforward(layer.norms[1](x_TW)))
        answers_S = slot_positions(coordinates)
        own = self.vectors.own_row
        number, layer = len(self.layers) - 1, self.layers[-1]
        others = Neighbours(*(part[:, own:] for part in neighbours))
        digits = self._seen(number, layer.norms[0](x_TW), others, answers_S, problems)
        below = Neighbours(*(part[answers_S, :own] for part in neighbours))
        column_of = torch.zeros(length, dtype=torch.long, device=tokens_BN.device)
        column_of[answers_S] = torch.arange(len(answers_S), device=tokens_BN.device)
        offset_B = torch.arange(problems, device=tokens_BN.device)
        return Columns(
            start_AW=x_TW.unflatten(0, (problems, length))[:, answers_S].flatten(0, 1),
            digits=digits,
            below_AK=(column_of[below.tokens] + (offset_B * len(answers_S))[:, None, None]).flatten(0, 1),
            vectors_AKD=self.vectors.vectors(number, below.classes).repeat(problems, 1, 1),
            bias_AK=below.bias.repeat(problems, 1),
        )

    def _seen(self, number: int, x_TW: Tensor, neighbours: Neighbours, queries: Tensor, problems: int) -> Seen:
        """What some tokens of every problem look at, gathered."""
        attention = self.layers[number].attention
        index, classes, bias = (part[queries] for part in neighbours)
        offset_B = torch.arange(problems, device=x_TW.device) * (len(x_TW) // problems)
        index_AK = (index + offset_B[:, None, None]).flatten(0, 1)
        keys, values = (
            nn.functional.embedding(index_AK, part(x_TW)).unflatten(-1, (attention.heads, -1))
            for part in (attention.key, attention.value)
        )
        vectors_NKD = self.vectors.vectors(number, classes)
        keys = (keys.unflatten(0, (problems, -1)) + vectors_NKD[:, :, None]).flatten(0, 1)
        return Seen(keys, values, bias.repeat(problems, 1))

    def _own_keys(self, x_AW: Tensor) -> tuple[Tensor, Tensor]:
        layer = self.layers[-1]
        normed_AW = layer.norms[0](x_AW)
        return layer.attention.key(normed_AW), layer.attention.value(normed_AW)

    def _round(self, state_AW: Tensor, columns: Columns, memory: tuple[Tensor, Tensor] | None = None) -> Tensor:
        """The repeated layer for some columns; `memory` holds the keys and values of all columns, theirs by default."""
        layer = self.layers[-1]
        x_AW = state_AW + columns.start_AW
        normed_AW = layer.norms[0](x_AW)
        if memory is None:
            memory = layer.attention.key(normed_AW), layer.attention.value(normed_AW)
        keys, values = (
            nn.functional.embedding(columns.below_AK, part).unflatten(-1, (layer.attention.heads, -1))
            for part in memory
        )
        own = Seen(keys + columns.vectors_AKD[:, :, None], values, columns.bias_AK)
        x_AW = x_AW + self.dropout(look(layer.attention, normed_AW, [own, columns.digits]))
        return x_AW + self.dropout(layer.feedforward(layer.norms[1](x_AW)))


MINIMUM = 3
"""Rounds before any column is left alone: information has not gone anywhere yet."""


def look(attention: Attention, x_AW: Tensor, seen: Sequence[Seen]) -> Tensor:
    """Eq. pairwise over a few keys: softmax over the neighbours of q (k + p) / sqrt(D)."""
    q_AHD = attention.query(x_AW).unflatten(-1, (attention.heads, -1))
    q_AHD = q_AHD / math.sqrt(q_AHD.shape[-1])
    scores = [(q_AHD[:, None] * part.keys_AKHD).sum(-1) + part.bias_AK[..., None] for part in seen]
    weights = attention.dropout(torch.cat(scores, dim=1).softmax(1)).split([part.shape[1] for part in scores], dim=1)
    out_AHD = sum((weight[..., None] * part.values_AKHD).sum(1) for weight, part in zip(weights, seen, strict=True))
    return attention.out(out_AHD.flatten(1))


def _part(columns: Columns, chosen: Tensor) -> Columns:
    return Columns(
        columns.start_AW[chosen],
        Seen(*(part[chosen] for part in columns.digits)),
        columns.below_AK[chosen],
        columns.vectors_AKD[chosen],
        columns.bias_AK[chosen],
    )
