"""An encoder whose work ripples from low places to high ones: few neighbours a token, rounds until nothing changes.

The distinct layers are applied once, to all tokens. Then the operands stay as they are, and the repeated layer goes on
with the answer's row alone: in every round each column begins anew from what the distinct layers made of it, and looks
at its digits and at the columns just below it as they were a round ago. A column keeps no memory of its own, so it
changes only if one below it did: the lowest is at rest after one round, and all are after as many rounds as there are
columns. Most are much sooner, since most columns do not care what came in from far below.

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

STILL = 0.01
"""A column is at rest when no entry of its normalised state (of about 1) moved by more than this in a round."""


class Seen(NamedTuple):
    """What queries look at, gathered: their scores, and the values to be weighted."""

    scores_AKH: Tensor
    values_AKHD: Tensor


class Columns(NamedTuple):
    """All that the rounds need and do not change."""

    start_AW: Tensor
    query_AHD: Tensor
    digits: Seen
    below_AK: Tensor  # numbers of the columns below, the next one first
    vectors_AKD: Tensor
    bias_AK: Tensor


class Settled(NamedTuple):
    symbols_BS: Tensor
    confidence_BS: Tensor
    rounds_B: Tensor
    """After how many rounds nothing of a problem moved any more."""


class Ripple(Encoder):
    """The parts of an encoder, put together for neighbours."""

    vectors: PlaceVectors
    layers: Sequence[Layer]  # type: ignore[assignment]

    def __init__(self, architecture: Architecture, encoding: ByPlace, extent: Extent, symbols: int, answers: int):
        if not isinstance(encoding, ByPlace):
            given = type(encoding).__name__.lower()
            raise ValueError(f"arithmetic without a canvas needs --encoding place, not {given}")
        if architecture.repeated != 1 or architecture.norm != "pre":
            raise ValueError("arithmetic without a canvas needs one repeated layer (--repeated 1) and --norm pre")
        super().__init__(architecture, encoding, extent, symbols, answers)

    def forward(self, tokens_BN: Tensor, coordinates: Coordinates, rounds: int | Sequence[int] | None = None) -> Tensor:
        """Logits `[B, S, V]` after the rounds, or `[R, B, S, V]` after each of several numbers of rounds."""
        wanted = [rounds] if isinstance(rounds, int) else list(rounds or [self.architecture.rounds])
        columns = self._columns(tokens_BN, coordinates)
        states = [self.state_norm(columns.start_AW)]
        for _ in range(max(wanted)):
            states.append(self._round(columns, *self._remembered(states[-1])))
        logits_RAV = self.readout(torch.stack([states[number] for number in wanted]))
        logits_RBSV = logits_RAV.unflatten(1, (len(tokens_BN), -1))
        return logits_RBSV if isinstance(rounds, Sequence) else logits_RBSV[0]

    def settle(self, tokens_BN: Tensor, coordinates: Coordinates) -> Settled:
        """Rounds until every column is at rest. A column above others at rest is left alone."""
        columns = self._columns(tokens_BN, coordinates)
        places = len(columns.start_AW) // len(tokens_BN)
        state_AW = self.state_norm(columns.start_AW)
        keys_AW, values_AW = self._remembered(state_AW)
        rounds_B = torch.zeros(len(tokens_BN), dtype=torch.long, device=state_AW.device)
        active_A = torch.arange(len(state_AW), device=state_AW.device)
        done = 0
        while len(active_A) and done <= places:
            done += 1
            new_AW = self._round(_part(columns, active_A), keys_AW, values_AW)
            moved = (new_AW - state_AW[active_A]).abs().amax(-1) > STILL
            # What stays within the tolerance keeps its old state too, so that small moves cannot add up unseen.
            moved_A, new_AW = active_A[moved], new_AW[moved]
            state_AW[moved_A] = new_AW
            keys_AW[moved_A], values_AW[moved_A] = self._remembered(new_AW)
            rounds_B[moved_A // places] = done
            active_A = _above(moved_A, places, columns.below_AK.shape[1])
        confidence_A, symbols_A = self.readout(state_AW).softmax(-1).max(-1)
        return Settled(symbols_A.unflatten(0, (-1, places)), confidence_A.unflatten(0, (-1, places)), rounds_B)

    def _columns(self, tokens_BN: Tensor, coordinates: Coordinates) -> Columns:
        neighbours: Neighbours = self._prepare(coordinates)
        x_TW = self.dropout(self.embedding_norm(self.embedding(tokens_BN.long().flatten())))
        every = torch.arange(tokens_BN.shape[1], device=tokens_BN.device)
        for number, layer in enumerate(self.layers[: self.architecture.layers]):
            normed_TW = layer.norms[0](x_TW)
            query_THD = scaled_query(layer.attention, normed_TW)
            x_TW = self._finish(layer, x_TW, [self._seen(number, query_THD, normed_TW, neighbours, every)])
        answers_S, problems = slot_positions(coordinates), len(tokens_BN)
        own, layer = self.vectors.own_row, self.layers[-1]
        number = len(self.layers) - 1
        # The lower places of the answer's row change from round to round; the column itself and its digits do not.
        fixed = Neighbours(*(torch.cat([part[:, :1], part[:, own:]], dim=1) for part in neighbours))
        below = Neighbours(*(part[answers_S, 1:own] for part in neighbours))
        column_of = torch.zeros_like(every)
        column_of[answers_S] = every[: len(answers_S)]
        offset_B = torch.arange(problems, device=tokens_BN.device) * len(answers_S)
        start_AW = x_TW.unflatten(0, (problems, -1))[:, answers_S].flatten(0, 1)
        query_AHD = scaled_query(layer.attention, layer.norms[0](start_AW))
        return Columns(
            start_AW=start_AW,
            query_AHD=query_AHD,
            digits=self._seen(number, query_AHD, layer.norms[0](x_TW), fixed, answers_S),
            below_AK=(column_of[below.tokens] + offset_B[:, None, None]).flatten(0, 1),
            vectors_AKD=self.vectors.vectors(number, below.classes).repeat(problems, 1, 1),
            bias_AK=below.bias.repeat(problems, 1),
        )

    def _seen(self, number: int, query_AHD: Tensor, x_TW: Tensor, neighbours: Neighbours, queries_N: Tensor) -> Seen:
        """What some tokens of every problem look at."""
        attention = self.layers[number].attention
        tokens_NK, classes_NK, bias_NK = (part[queries_N] for part in neighbours)
        problems = len(query_AHD) // len(queries_N)
        offset_B = torch.arange(problems, device=x_TW.device) * (len(x_TW) // problems)
        seen_AK = (tokens_NK + offset_B[:, None, None]).flatten(0, 1)
        vectors_AKD = self.vectors.vectors(number, classes_NK).repeat(problems, 1, 1)
        keys_TW, values_TW = attention.key(x_TW), attention.value(x_TW)
        return seen(query_AHD, keys_TW, values_TW, seen_AK, vectors_AKD, bias_NK.repeat(problems, 1))

    def _remembered(self, state_AW: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of columns for those above them."""
        layer = self.layers[-1]
        normed_AW = layer.norms[0](state_AW)
        return layer.attention.key(normed_AW), layer.attention.value(normed_AW)

    def _round(self, columns: Columns, keys_AW: Tensor, values_AW: Tensor) -> Tensor:
        """The repeated layer for some columns, given the keys and values of all: their new normalised states."""
        below = seen(columns.query_AHD, keys_AW, values_AW, columns.below_AK, columns.vectors_AKD, columns.bias_AK)
        return self.state_norm(self._finish(self.layers[-1], columns.start_AW, [below, columns.digits]))

    def _finish(self, layer: Layer, x_AW: Tensor, parts: list[Seen]) -> Tensor:
        """The rest of a layer after its scores: eq. pairwise's softmax over few keys, and the feed-forward part."""
        weights_AKH = layer.attention.dropout(torch.cat([part.scores_AKH for part in parts], dim=1).softmax(1))
        weights = weights_AKH.split([part.scores_AKH.shape[1] for part in parts], dim=1)
        mixed_AHD = torch.stack(
            [(w[..., None] * part.values_AKHD).sum(1) for w, part in zip(weights, parts, strict=True)]
        )
        x_AW = x_AW + self.dropout(layer.attention.out(mixed_AHD.sum(0).flatten(1)))
        return x_AW + self.dropout(layer.feedforward(layer.norms[1](x_AW)))


def scaled_query(attention: Attention, x_AW: Tensor) -> Tensor:
    q_AHD = attention.query(x_AW).unflatten(-1, (attention.heads, -1))
    return q_AHD / math.sqrt(q_AHD.shape[-1])


def seen(
    query_AHD: Tensor, keys_TW: Tensor, values_TW: Tensor, index_AK: Tensor, vectors_AKD: Tensor, bias_AK: Tensor
) -> Seen:
    """Gather the neighbours, and score them: q (k + p), with p = table[class] as everywhere."""
    heads = (query_AHD.shape[1], -1)
    keys_AKHD = nn.functional.embedding(index_AK, keys_TW).unflatten(-1, heads) + vectors_AKD[:, :, None]
    values_AKHD = nn.functional.embedding(index_AK, values_TW).unflatten(-1, heads)
    return Seen((query_AHD[:, None] * keys_AKHD).sum(-1) + bias_AK[..., None], values_AKHD)


def _part(columns: Columns, chosen_A: Tensor) -> Columns:
    if len(chosen_A) == len(columns.start_AW):
        return columns
    start, query, digits, *rest = columns
    return Columns(start[chosen_A], query[chosen_A], Seen(*(x[chosen_A] for x in digits)), *(x[chosen_A] for x in rest))


def _above(moved_A: Tensor, places: int, window: int) -> Tensor:
    """The columns of the same problem that look at one of these."""
    up = torch.arange(1, window + 1, device=moved_A.device)
    looking = (moved_A[:, None] + up).flatten()
    return looking[(looking % places >= up.repeat(len(moved_A)))].unique()
