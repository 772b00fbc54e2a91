"""A network of cells whose work ripples from low places to high ones: few neighbours per cell, rounds until it rests.

The cells stand in rows, and the last row is the answer's (`encodings.by_column`). The distinct layers show each cell
its digits, once. The repeated layer starts from the result, and shows the cell its digits again and the cells that it
depends on: below it in its row, and in the row before. A cell keeps no memory of its own, so there is one state in
which all cells agree, and there are two ways to it. `forward`, for training, takes the cells in the order of their
dependence, each once. `answer`, for long numbers, takes windows of places, and all cells of a window at once, in
rounds: first as if there were no other cell, then again whenever a cell that it depends on has changed. Most cells are
soon at rest; a carry through a thousand nines takes a thousand rounds of a few cells.

Shapes: B problems, R rows, P places, C cells of a problem (C = R P, in the order of row, place), A cells, M
combinations of a cell's own symbol and its digits, K neighbours, V symbols, X = 2 W; W, H, D as in `encoder`.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor, nn

from digitwise.coordinates import Coordinates, Extent
from digitwise.encodings import Encoding, Neighbours, PlaceVectors
from digitwise.encodings.by_column import ABOVE, BELOW, NOT_SEEN, SHIFTED, Waves, in_waves
from digitwise.models.base import Answers, Blueprint
from digitwise.models.encoder import Architecture, Encoder, Layer

STILL = 0.01
"""A cell is at rest when no entry of its normalised state (of about 1) moved by more than this in a round."""
WINDOW = 2**14
"""Tokens in a window of places: few enough for the caches of a processor."""


@dataclass(frozen=True)
class Columns(Blueprint):
    """The size of a network of cells: distinct layers, then one that is repeated from cell to cell."""

    layers: int = 1  # distinct ones, each applied once
    width: int = 96
    heads: int = 4
    feedforward: int = 0  # 0 stands for four times the width
    dropout: float = 0.0

    def __post_init__(self) -> None:
        self.encoder()  # refuses sizes that do not fit each other

    def encoder(self) -> Architecture:
        """Return the encoder that the layers are taken from."""
        return Architecture(self.layers, 1, 1, self.width, self.heads, self.feedforward, "pre", self.dropout)

    def smallest(self) -> Blueprint:
        return replace(self, layers=1, width=16, heads=4, feedforward=32)

    def build(self, encoding: Encoding, extent: Extent, symbols: int, answers: int) -> "Ripple":
        return Ripple(self, encoding, extent, symbols, answers)


class Part(NamedTuple):
    """Some cells, with all that a round needs and does not change."""

    start_AW: Tensor
    query_AHD: Tensor
    scores_AKH: Tensor  # of the cell itself and of its digits
    values_AKHD: Tensor
    offset_AKH: Tensor  # added to the scores of the cells that it depends on


class Cells(NamedTuple):
    """All cells. What a cell starts from depends on the combination of its own symbol and its digits alone."""

    combined: Part  # of each combination, [M, ...]
    combination_A: Tensor
    bias_AK: Tensor

    def part(self, combination_A: Tensor, bias_AK: Tensor) -> Part:
        gathered = (nn.functional.embedding(combination_A, x.flatten(1)) for x in self.combined)
        part = Part._make(x.unflatten(1, like.shape[1:]) for x, like in zip(gathered, self.combined, strict=True))
        return part._replace(offset_AKH=part.offset_AKH + bias_AK[..., None])


class Ripple(Encoder):
    """The parts of an encoder, put together for cells and their neighbours."""

    vectors: PlaceVectors
    layers: Sequence[Layer]  # type: ignore[assignment]

    def __init__(self, columns: Columns, encoding: Encoding, extent: Extent, symbols: int, answers: int):
        if not encoding.columns:
            found = type(encoding).__name__.lower()
            raise ValueError(f"models without a canvas need --encoding by-column, not {found}")
        super().__init__(columns.encoder(), encoding, extent, symbols, answers)

    def forward(self, tokens_BN: Tensor, coordinates: Coordinates, rounds: int | None = None) -> Tensor:
        """Return the logits `[B, S, V]` with all cells at rest, or as they are after so many rounds."""
        neighbours: Neighbours = self.prepare(coordinates).vectors
        cells, (rows, places) = self._cells(tokens_BN, neighbours), neighbours.cells_RP.shape
        if rounds is not None:
            return self.readout(self._rounds(cells, neighbours, rounds)[0].unflatten(0, (-1, rows, places))[:, -1])
        once = not (self.training and self.dropout.p)  # dropout makes equal cells different
        waves = in_waves(cells.combination_A.view(-1, rows, places), neighbours.other_cells, once)
        return self.readout(nn.functional.embedding(waves.answer_BP, self._in_order(cells, waves)))

    def _in_order(self, cells: Cells, waves: Waves) -> Tensor:
        """The states of all cells, each worked out once, after those that it depends on."""
        part = cells.part(waves.combination_A, torch.where(waves.others_AK < 0, NOT_SEEN, 0.0))
        remember, states, memory, forgotten = self._remember(), list[Tensor](), list[Tensor](), 0
        for others_AK, *now in zip(*(tensor.split(waves.sizes) for tensor in (waves.others_AK, *part)), strict=True):
            # The bias hides cells that are not there.
            seen = ((others_AK - forgotten).clamp(min=0), torch.cat(memory)) if memory else None
            states.append(self._state(Part._make(now), seen))
            forgotten += sum(map(len, memory[:-1]))  # no cell looks further back than two waves
            memory = [*memory[-1:], remember(states[-1])]
        return torch.cat(states)

    def answer(self, tokens_BN: Tensor, coordinates: Coordinates) -> Answers:
        """Rounds until every cell is at rest, in windows of places to bound memory; rounds of the slowest window."""
        found, below = list[tuple[Tensor, ...]](), None
        for window_BN, neighbours in self._windows(tokens_BN, coordinates):
            state_AW, rounds_B, below = self._rounds(self._cells(window_BN, neighbours), neighbours, below=below)
            answers_BSW = state_AW.unflatten(0, (-1, *neighbours.cells_RP.shape))[:, -1, bool(found) :]
            found.append((*self.readout(answers_BSW).float().softmax(-1).max(-1), rounds_B))
        confidence, symbols, rounds = zip(*found, strict=True)
        return Answers(torch.cat(symbols, 1), torch.cat(confidence, 1), torch.stack(rounds).amax(0))

    def _windows(self, tokens_BN: Tensor, coordinates: Coordinates) -> Iterator[tuple[Tensor, Neighbours]]:
        """Tokens and neighbours of some places at a time. A window begins with the last place of the one before."""
        where = coordinates.map(lambda array: torch.as_tensor(array, device=tokens_BN.device))
        place_N, order_N = where.place.reshape(-1, tokens_BN.shape[1])[0].sort(stable=True)
        places = int(place_N[-1]) + 1
        width = max(8, WINDOW * places // max(tokens_BN.numel(), 1))
        if width >= places:
            yield tokens_BN, self.prepare(coordinates).vectors
            return
        starts = torch.searchsorted(place_N, torch.arange(places + 1, device=place_N.device)).tolist()
        for first in range(0, places, width):
            low, high = max(first - 1, 0), min(first + width, places)
            # Tokens without a place are in all windows. What is a neighbour of what does not depend on the place.
            chosen = torch.cat([order_N[: starts[0]], order_N[starts[low] : starts[high]]]).sort().values
            part = Coordinates(*(array[..., chosen] for array in where))
            yield tokens_BN[:, chosen], self.vectors.prepare(part._replace(place=(part.place - low).clamp(min=-1)))

    def floats(self, num_tokens: int) -> int:
        return self.linear_floats(num_tokens)

    def _rounds(
        self, cells: Cells, neighbours: Neighbours, most: int | None = None, below: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the states, the last round in which each problem moved, and what the highest place remembers. With the
        memory of the window `below`, whose highest place is the lowest here, that place is at rest from the start."""
        (rows, places), classes = neighbours.cells_RP.shape, neighbours.other_cells
        back = {BELOW: 1, ABOVE: places, SHIFTED: places + 1}  # so many cells before
        back_K = torch.tensor([back[number] for number in classes], dtype=torch.long, device=cells.bias_AK.device)
        start_MW, _, *alone, _ = cells.combined  # first as if there were no other cell: one state per combination
        state_MW = self.state_norm(self._finish(self.layers[-1], start_MW, [alone]))
        remember = self._remember()
        state_AW, memory_AX = state_MW[cells.combination_A], remember(state_MW)[cells.combination_A]
        rounds_B = torch.ones(len(state_AW) // (rows * places), dtype=torch.long, device=state_AW.device)
        active_A, done = torch.arange(len(state_AW), device=state_AW.device), 1
        if below is not None:
            memory_AX[::places] = below
            active_A = active_A[active_A % places > 0]
        while done != most and len(active_A):
            done += 1
            now = cells.part(cells.combination_A[active_A], cells.bias_AK[active_A])
            others_AK = (active_A[:, None] - back_K).clamp(min=0)  # the bias hides cells that are not there
            new_AW = self._state(now, (others_AK, memory_AX))
            moved = (new_AW - state_AW[active_A]).abs().amax(-1) > STILL
            # What stays within the tolerance keeps its old state too, so that small moves cannot add up unseen.
            moved_A, new_AW = active_A[moved], new_AW[moved]
            state_AW[moved_A], memory_AX[moved_A] = new_AW, remember(new_AW)
            rounds_B[moved_A // (rows * places)] = done
            next_AK = (moved_A[:, None] + back_K).clamp(max=len(state_AW) - 1)  # cells that look at one of these
            active_A = next_AK[cells.bias_AK.gather(0, next_AK) == 0].unique()
            # oneDNN keeps what it prepares per shape: a few cells come twice, so that there are few shapes.
            step = 256 if len(active_A) > 512 else 1
            active_A = torch.cat([active_A, active_A[-1:].expand(-len(active_A) % step)])
        return state_AW, rounds_B, memory_AX[places - 1 :: places]

    def _cells(self, tokens_BN: Tensor, neighbours: Neighbours) -> Cells:
        """What every cell starts from, and the cells that it depends on."""
        classes, cells_C = neighbours.classes_K.tolist(), neighbours.cells_RP.flatten()
        tokens_CK, bias_CK = neighbours.tokens_NK[cells_C], neighbours.bias_NK[cells_C]
        # The cell itself and its digits; a symbol beyond the vocabulary stands for a neighbour that is not there.
        static = [0, *neighbours.digits]
        absent, columns = self.embedding.num_embeddings, [classes.index(number) for number in static]
        seen_AK = torch.where(bias_CK < 0, absent, tokens_BN.long()[:, tokens_CK])[..., columns].flatten(0, 1)
        # Equal rows are one combination: each row is read as a number in base V + 1.
        base_K = (absent + 1) ** torch.arange(len(static), device=seen_AK.device)
        number_M, combination_A = (seen_AK * base_K).sum(1).unique(return_inverse=True)
        symbols_MK = number_M[:, None] // base_K % (absent + 1)
        bias_CK = bias_CK[:, [classes.index(number) for number in neighbours.other_cells]]
        start = self._start(symbols_MK, static, neighbours.other_cells)
        return Cells(start, combination_A, bias_CK.repeat(len(tokens_BN), 1))

    def _start(self, symbols_MK: Tensor, classes: list[int], others: list[int]) -> Part:
        """The distinct layers, and what the repeated one needs of no other cell."""
        absent_MK = symbols_MK == self.embedding.num_embeddings
        symbols_VW = self.dropout(self.embedding_norm(self.embedding.weight))
        x_MW = symbols_VW[symbols_MK[:, 0]]
        # A combination looks at itself and at its digits: rows of [x_MW, symbols_VW].
        seen_MK = len(x_MW) + symbols_MK.masked_fill(absent_MK, 0)
        seen_MK[:, 0] = torch.arange(len(x_MW), device=seen_MK.device)
        rest = (seen_MK, classes, torch.where(absent_MK, NOT_SEEN, 0.0))
        for number, layer in enumerate(self.layers[:-1]):
            _, *seen = self._look(number, x_MW, symbols_VW, *rest)
            x_MW = self._finish(layer, x_MW, [seen])
        query_MHD, *seen = self._look(-1, x_MW, symbols_VW, *rest)
        return Part._make((x_MW, query_MHD, *seen, (query_MHD @ self.vectors.tables[-1][others].T).mT))

    def _look(
        self, number: int, x_MW: Tensor, symbols_VW: Tensor, seen_MK: Tensor, classes: list[int], bias_MK: Tensor
    ) -> tuple[Tensor, ...]:
        """The queries of combinations in a layer, and scores and values of what they look at."""
        layer, attention = self.layers[number], self.layers[number].attention
        query_MHD = attention.query(layer.norms[0](x_MW)).unflatten(-1, (attention.heads, -1))
        query_MHD = query_MHD / math.sqrt(query_MHD.shape[-1])
        keys_MKHD, values_MKHD = _halves(seen_MK, self._remember(number)(torch.cat([x_MW, symbols_VW])), query_MHD)
        # The score of a neighbour is q (k + p), with p = table[class] as everywhere.
        keys_MKHD = keys_MKHD + self.vectors.tables[number][classes][:, None]
        return query_MHD, (query_MHD[:, None] * keys_MKHD).sum(-1) + bias_MK[..., None], values_MKHD

    def _remember(self, number: int = -1) -> Callable[[Tensor], Tensor]:
        """From states to their keys and values side by side, `[A, X]`, for all who see them."""
        norm, attention = self.layers[number].norms[0], self.layers[number].attention
        both = attention.key, attention.value
        weight_XW, bias_X = torch.cat([part.weight for part in both]), torch.cat([part.bias for part in both])
        return lambda state_AW: nn.functional.linear(norm(state_AW), weight_XW, bias_X)

    def _state(self, cells: Part, seen: tuple[Tensor, Tensor] | None = None) -> Tensor:
        """The repeated layer: normalised states of cells that see these others, given with what is remembered."""
        parts = [(cells.scores_AKH, cells.values_AKHD)]
        if seen:
            keys_AKHD, values_AKHD = _halves(*seen, cells.query_AHD)
            parts.insert(0, ((cells.query_AHD[:, None] * keys_AKHD).sum(-1) + cells.offset_AKH, values_AKHD))
        return self.state_norm(self._finish(self.layers[-1], cells.start_AW, parts))

    def _finish(self, layer: Layer, x_AW: Tensor, parts: Sequence[Sequence[Tensor]]) -> Tensor:
        """The rest of a layer after its scores: eq. pairwise's softmax over few keys, and the feed-forward part."""
        scores, values = zip(*parts, strict=True)
        weights_AKH = layer.attention.dropout(torch.cat(scores, 1).softmax(1))
        weights = weights_AKH.split([part.shape[1] for part in scores], 1)
        mixed = [(w[..., None] * v).sum(1).flatten(1) for w, v in zip(weights, values, strict=True)]
        x_AW = x_AW + self.dropout(layer.attention.out(sum(mixed[1:], start=mixed[0])))
        return x_AW + self.dropout(layer.feedforward(layer.norms[1](x_AW)))


def _halves(seen_AK: Tensor, memory_AX: Tensor, like_AHD: Tensor) -> tuple[Tensor, ...]:
    """Keys and values of what is seen, `[A, K, H, D]` each."""
    return nn.functional.embedding(seen_AK, memory_AX).unflatten(-1, (2, *like_AHD.shape[1:])).unbind(2)
