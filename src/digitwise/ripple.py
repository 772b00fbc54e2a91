"""An encoder whose work ripples from low places to high ones: few neighbours a token, rounds until nothing changes.

The distinct layers are applied once, to all tokens. Then the operands stay as they are, and the repeated layer goes on
with the answer's row alone: a column begins from what the distinct layers made of it, and looks at its digits and at
the columns just below it. It keeps no memory of its own, so there is one state in which all columns agree, and two ways
to it. `forward`, for training, takes the columns in their order, each once. `settle`, for long numbers, takes all of
them at once, in rounds: in round r a column knows r - 1 columns below it, as if the numbers began there, so every state
on the way is that of some shorter problem. A column changes only if one below it did. Most are soon at rest, since most
do not care what came in from far below; a carry through a thousand nines takes a thousand rounds of a few columns.

Shapes: T tokens of the whole batch, A columns (answer tokens) of the whole batch, K neighbours, W, H, D as in `model`.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from digitwise.coordinates import Coordinates, Extent
from digitwise.encodings import ByColumn, Neighbours, PlaceVectors
from digitwise.encodings.places import NOT_SEEN
from digitwise.model import Architecture, Attention, Encoder, Layer, slot_positions

STILL = 0.01
"""A column is at rest when no entry of its normalised state (of about 1) moved by more than this in a round."""


class Seen(NamedTuple):
    """What queries look at: the scores, and the values to be weighted."""

    scores_AKH: Tensor
    values_AKHD: Tensor


class Columns(NamedTuple):
    """All that the rounds need and do not change."""

    start_AW: Tensor
    query_AHD: Tensor
    scores_AKH: Tensor  # of the column itself and of its digits
    values_AKHD: Tensor
    below_AK: Tensor  # numbers of the columns below, the next one first
    vectors_AKD: Tensor
    bias_AK: Tensor

    def part(self, chosen_A: Tensor) -> "Columns":
        return Columns(*(tensor[chosen_A] for tensor in self))

    def by_place(self, problems: int) -> Iterator["Columns"]:
        """The columns of each place, lowest first."""
        return map(Columns._make, zip(*(x.unflatten(0, (problems, -1)).unbind(1) for x in self), strict=True))


class Settled(NamedTuple):
    symbols_BS: Tensor
    confidence_BS: Tensor
    rounds_B: Tensor
    """The last round in which anything of a problem moved."""


class Ripple(Encoder):
    """The parts of an encoder, put together for neighbours."""

    vectors: PlaceVectors
    layers: Sequence[Layer]  # type: ignore[assignment]

    def __init__(self, architecture: Architecture, encoding: ByColumn, extent: Extent, symbols: int, answers: int):
        if not isinstance(encoding, ByColumn):
            given = type(encoding).__name__.lower()
            raise ValueError(f"arithmetic without a canvas needs --encoding by-column, not {given}")
        if architecture.repeated != 1 or architecture.norm != "pre":
            raise ValueError("arithmetic without a canvas needs one repeated layer (--repeated 1) and --norm pre")
        super().__init__(architecture, encoding, extent, symbols, answers)

    def forward(self, tokens_BN: Tensor, coordinates: Coordinates, rounds: int | None = None) -> Tensor:
        """Logits `[B, S, V]` with all columns at rest, or as they are after so many rounds."""
        columns, problems = self._columns(tokens_BN, coordinates), len(tokens_BN)
        if rounds is not None:
            return self.readout(self._rounds(columns, problems, rounds)[0]).unflatten(0, (problems, -1))
        states: list[Tensor] = []
        remembered: list[tuple[Tensor, Tensor]] = []  # keys and values, of the next lower column first
        for column in columns.by_place(problems):
            below = []
            if remembered:
                keys_BKW, values_BKW = (torch.stack(part, dim=1) for part in zip(*remembered, strict=True))
                below = [scored(column.query_AHD, keys_BKW, values_BKW, column.vectors_AKD[:, : len(remembered)])]
            states.append(self._state(column, below))
            remembered = [self._remembered(states[-1]), *remembered][: self.vectors.own_row - 1]
        return self.readout(torch.stack(states, dim=1))

    def settle(self, tokens_BN: Tensor, coordinates: Coordinates) -> Settled:
        """Rounds until every column is at rest."""
        state_AW, rounds_B = self._rounds(self._columns(tokens_BN, coordinates), len(tokens_BN))
        confidence_A, symbols_A = self.readout(state_AW).softmax(-1).max(-1)
        shape = (len(tokens_BN), -1)
        return Settled(symbols_A.unflatten(0, shape), confidence_A.unflatten(0, shape), rounds_B)

    def _rounds(self, columns: Columns, problems: int, most: int | None = None) -> tuple[Tensor, Tensor]:
        """States, and the last round in which each problem moved. Columns above others at rest are left alone, and
        after as many rounds as there are places all of them are at rest."""
        places, window = len(columns.start_AW) // problems, columns.below_AK.shape[1]
        state_AW = self._state(columns, [])  # the first round: as if nothing were below
        keys_AW, values_AW = self._remembered(state_AW)
        rounds_B = torch.ones(problems, dtype=torch.long, device=state_AW.device)
        active_A = _above(torch.arange(len(state_AW), device=state_AW.device), places, window)
        for done in range(2, (places if most is None else most) + 1):
            if not len(active_A):
                break
            now = columns.part(active_A)
            keys_AKW, values_AKW = (nn.functional.embedding(now.below_AK, part) for part in (keys_AW, values_AW))
            # A column further down than this round reaches is not known yet, in any of the problems.
            known_K = torch.arange(1, window + 1, device=state_AW.device) < done
            bias_AK = torch.where(known_K, now.bias_AK, NOT_SEEN)
            new_AW = self._state(now, [scored(now.query_AHD, keys_AKW, values_AKW, now.vectors_AKD, bias_AK)])
            moved = (new_AW - state_AW[active_A]).abs().amax(-1) > STILL
            # What stays within the tolerance keeps its old state too, so that small moves cannot add up unseen.
            moved_A, new_AW = active_A[moved], new_AW[moved]
            state_AW[moved_A] = new_AW
            keys_AW[moved_A], values_AW[moved_A] = self._remembered(new_AW)
            rounds_B[moved_A // places] = done
            active_A = _above(moved_A, places, window)
        return state_AW, rounds_B

    def _columns(self, tokens_BN: Tensor, coordinates: Coordinates) -> Columns:
        neighbours, _ = self._prepare(coordinates)  # there are no fillers: a batch has one width
        x_TW = self.dropout(self.embedding_norm(self.embedding(tokens_BN.long().flatten())))
        every = torch.arange(tokens_BN.shape[1], device=tokens_BN.device)
        for number, layer in enumerate(self.layers[: self.architecture.layers]):
            normed_TW = layer.norms[0](x_TW)
            query_THD = scaled_query(layer.attention, normed_TW)
            x_TW = self._finish(layer, x_TW, [self._seen(number, query_THD, normed_TW, neighbours, every)])
        answers_S, problems = slot_positions(coordinates), len(tokens_BN)
        own, number, layer = self.vectors.own_row, len(self.layers) - 1, self.layers[-1]
        # The lower places of the answer's row are what the rounds change; the column itself and its digits stay.
        fixed = Neighbours(*(torch.cat([part[:, :1], part[:, own:]], dim=1) for part in neighbours))
        below = Neighbours(*(part[answers_S, 1:own] for part in neighbours))
        column_of = torch.zeros_like(every)
        column_of[answers_S] = every[: len(answers_S)]
        offset_B = torch.arange(problems, device=tokens_BN.device) * len(answers_S)
        start_AW = x_TW.unflatten(0, (problems, -1))[:, answers_S].flatten(0, 1)
        query_AHD = scaled_query(layer.attention, layer.norms[0](start_AW))
        digits = self._seen(number, query_AHD, layer.norms[0](x_TW), fixed, answers_S)
        return Columns(
            start_AW,
            query_AHD,
            *digits,
            below_AK=(column_of[below.tokens] + offset_B[:, None, None]).flatten(0, 1),
            vectors_AKD=self.vectors.vectors(number, below.classes).repeat(problems, 1, 1),
            bias_AK=below.bias.repeat(problems, 1),
        )

    def _seen(self, number: int, query_AHD: Tensor, x_TW: Tensor, neighbours: Neighbours, queries_N: Tensor) -> Seen:
        """What some tokens of every problem look at, gathered."""
        attention = self.layers[number].attention
        tokens_NK, classes_NK, bias_NK = (part[queries_N] for part in neighbours)
        problems = len(query_AHD) // len(queries_N)
        offset_B = torch.arange(problems, device=x_TW.device) * (len(x_TW) // problems)
        seen_AK = (tokens_NK + offset_B[:, None, None]).flatten(0, 1)
        keys_AKW, values_AKW = (
            nn.functional.embedding(seen_AK, part(x_TW)) for part in (attention.key, attention.value)
        )
        vectors_AKD = self.vectors.vectors(number, classes_NK).repeat(problems, 1, 1)
        return scored(query_AHD, keys_AKW, values_AKW, vectors_AKD, bias_NK.repeat(problems, 1))

    def _remembered(self, state_AW: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of columns for those above them."""
        layer = self.layers[-1]
        normed_AW = layer.norms[0](state_AW)
        return layer.attention.key(normed_AW), layer.attention.value(normed_AW)

    def _state(self, columns: Columns, below: list[Seen]) -> Tensor:
        """The repeated layer: normalised states of columns that see this below them."""
        parts = [*below, Seen(columns.scores_AKH, columns.values_AKHD)]
        return self.state_norm(self._finish(self.layers[-1], columns.start_AW, parts))

    def _finish(self, layer: Layer, x_AW: Tensor, parts: list[Seen]) -> Tensor:
        """The rest of a layer after its scores: eq. pairwise's softmax over few keys, and the feed-forward part."""
        weights_AKH = layer.attention.dropout(torch.cat([part.scores_AKH for part in parts], dim=1).softmax(1))
        weights = weights_AKH.split([part.scores_AKH.shape[1] for part in parts], dim=1)
        mixed = [(weight[..., None] * part.values_AKHD).sum(1) for weight, part in zip(weights, parts, strict=True)]
        x_AW = x_AW + self.dropout(layer.attention.out(sum(mixed[1:], start=mixed[0]).flatten(1)))
        return x_AW + self.dropout(layer.feedforward(layer.norms[1](x_AW)))


def scaled_query(attention: Attention, x_AW: Tensor) -> Tensor:
    q_AHD = attention.query(x_AW).unflatten(-1, (attention.heads, -1))
    return q_AHD / math.sqrt(q_AHD.shape[-1])


def scored(
    query_AHD: Tensor, keys_AKW: Tensor, values_AKW: Tensor, vectors_AKD: Tensor, bias_AK: Tensor | None = None
) -> Seen:
    """Scores of the neighbours of each query: q (k + p), with p = table[class] as everywhere."""
    heads = (query_AHD.shape[1], -1)
    keys_AKHD = keys_AKW.unflatten(-1, heads) + vectors_AKD[:, :, None]
    scores_AKH = (query_AHD[:, None] * keys_AKHD).sum(-1)
    return Seen(scores_AKH if bias_AK is None else scores_AKH + bias_AK[..., None], values_AKW.unflatten(-1, heads))


def _above(moved_A: Tensor, places: int, window: int) -> Tensor:
    """The columns of the same problem that look at one of these."""
    up_K = torch.arange(1, window + 1, device=moved_A.device)
    looking = (moved_A[:, None] + up_K).flatten()
    return looking[looking % places >= up_K.repeat(len(moved_A))].unique()
