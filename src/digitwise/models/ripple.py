"""A network of cells whose work ripples from low places to high ones: few neighbours per cell, rounds until it rests.

The cells stand in rows, and the last row is the answer's (`encodings.by_column`). The distinct layers show each cell
its digits, once. The repeated layer starts from the result, and shows the cell its digits again and the cells that it
depends on: below it in its row, and in the row before. A cell keeps no memory of its own, so there is one state in
which all cells agree, and there are two ways to it. `forward`, for training, takes the cells in the order of their
dependence, each once. `answer`, for long numbers, takes windows of places, and all cells of a window at once, in
rounds: first as if there were no other cell, then again whenever a cell that it depends on has changed. Most cells are
soon at rest; a carry through a thousand nines takes a thousand rounds of a few cells.

Shapes: B problems, R rows, P places, C cells of a problem (C = R P, in the order of row, place), A cells of the whole
batch (A = B C), M combinations of a cell's own symbol and its digits, K neighbours, V symbols, W, H, D as in `encoder`.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from digitwise.coordinates import Coordinates, Extent
from digitwise.encodings import Encoding, Neighbours, PlaceVectors
from digitwise.encodings.by_column import ABOVE, BELOW, NOT_SEEN, SHIFTED
from digitwise.models.encoder import Answers, Architecture, Blueprint, Encoder, Layer

STILL = 0.01
"""A cell is at rest when no entry of its normalised state (of about 1) moved by more than this in a round. Over 960,000
digits of the bundled adder it moved no probability by more than 0.005: the one wrong digit is wrong in order too."""
WINDOW = 2**14
"""Tokens in a window of places: few enough for the caches of a processor."""
Memory = Iterable[Tensor]  # keys and values of cells, for those that depend on them
Seen = tuple[Tensor, ...]  # by queries: scores [A, K, H], and values [A, K, H, D] to be weighted


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
    bias_AK: Tensor  # of the cells that it depends on


class Cells(NamedTuple):
    """All cells. What a cell starts from depends on the combination of its own symbol and its digits alone."""

    combined: tuple[Tensor, ...]  # start, query, scores and values of each combination, [M, ...]
    combination_A: Tensor
    bias_AK: Tensor

    def part(self, chosen: Tensor | slice = slice(None)) -> Part:
        combination = self.combination_A[chosen]
        return Part._make((*(tensor[combination] for tensor in self.combined), self.bias_AK[chosen]))

    def waves(self, rows: int, places: int) -> Iterator[Part]:
        """Cells of equal row + place, one of each row. Beyond the ends of a row a cell stands in that nobody sees."""
        first_A = torch.arange(0, len(self.bias_AK), places, device=self.bias_AK.device)  # of each row and problem
        wave_L = torch.arange(rows + places - 1, device=self.bias_AK.device)
        cell_LA = first_A + (wave_L[:, None] - first_A // places % rows).clamp(0, places - 1)
        return map(Part._make, zip(*(tensor.unbind() for tensor in self.part(cell_LA)), strict=True))


class Ripple(Encoder):
    """The parts of an encoder, put together for cells and their neighbours."""

    vectors: PlaceVectors
    layers: Sequence[Layer]  # type: ignore[assignment]

    def __init__(self, columns: Columns, encoding: Encoding, extent: Extent, symbols: int, answers: int):
        if not encoding.columns:
            raise ValueError(
                f"models without a canvas need --encoding by-column, not {type(encoding).__name__.lower()}"
            )
        super().__init__(columns.encoder(), encoding, extent, symbols, answers)

    def forward(self, tokens_BN: Tensor, coordinates: Coordinates, rounds: int | None = None) -> Tensor:
        """Return the logits `[B, S, V]` with all cells at rest, or as they are after so many rounds."""
        neighbours: Neighbours = self.prepare(coordinates).vectors
        cells, (rows, places) = self._cells(tokens_BN, neighbours), neighbours.cells_RP.shape
        if rounds is not None:
            return self.readout(self._rounds(cells, neighbours, rounds)[0].unflatten(0, (-1, rows, places))[:, -1])
        classes, problems = neighbours.other_cells, len(tokens_BN)
        # Cells below, above and shifted were so many waves ago, and so many rows before.
        ago = {BELOW: (1, 0), ABOVE: (1, 1), SHIFTED: (2, 1)}
        states, remembered = list[Tensor](), list[tuple[Tensor, Tensor]]()
        for wave, now in enumerate(cells.waves(rows, places)):
            others = []
            if wave and classes:
                found = [(remembered[max(wave - ago[number][0], 0)], ago[number][1]) for number in classes]
                memory = (torch.stack([kept[i].roll(up, 1).flatten(0, 1) for kept, up in found], 1) for i in (0, 1))
                others = [self._scored(-1, now.query_AHD, memory, classes, now.bias_AK)]
            state_BRW = self._state(now, others).unflatten(0, (problems, rows))
            remembered.append(self._remember(state_BRW))
            states.append(state_BRW[:, -1])
        return self.readout(torch.stack(states[rows - 1 :], dim=1))

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
        self, cells: Cells, neighbours: Neighbours, most: int | None = None, below: Memory | None = None
    ) -> tuple[Tensor, Tensor, Memory]:
        """Return the states, the last round in which each problem moved, and what the highest place remembers. With the
        memory of the window `below`, whose highest place is the lowest here, that place is at rest from the start."""
        (rows, places), classes = neighbours.cells_RP.shape, neighbours.other_cells
        back = {BELOW: 1, ABOVE: places, SHIFTED: places + 1}  # so many cells before
        back_K = torch.tensor([back[number] for number in classes], dtype=torch.long, device=cells.bias_AK.device)
        start_MW, _, *alone = cells.combined  # first as if there were no other cell: one state per combination
        state_MW = self.state_norm(self._finish(self.layers[-1], start_MW, [tuple(alone)]))
        state_AW, keys_AW, values_AW = (x_MW[cells.combination_A] for x_MW in (state_MW, *self._remember(state_MW)))
        rounds_B = torch.ones(len(state_AW) // (rows * places), dtype=torch.long, device=state_AW.device)
        active_A, done = torch.arange(len(state_AW), device=state_AW.device), 1
        if below is not None:
            keys_AW[::places], values_AW[::places] = below
            active_A = active_A[active_A % places > 0]
        while done != most and len(active_A):
            done += 1
            now = cells.part(active_A)
            others_AK = (active_A[:, None] - back_K).clamp(min=0)  # the bias hides cells that are not there
            memory = (nn.functional.embedding(others_AK, part) for part in (keys_AW, values_AW))
            new_AW = self._state(now, [self._scored(-1, now.query_AHD, memory, classes, now.bias_AK)])
            moved = (new_AW - state_AW[active_A]).abs().amax(-1) > STILL
            # What stays within the tolerance keeps its old state too, so that small moves cannot add up unseen.
            moved_A, new_AW = active_A[moved], new_AW[moved]
            state_AW[moved_A], (keys_AW[moved_A], values_AW[moved_A]) = new_AW, self._remember(new_AW)
            rounds_B[moved_A // (rows * places)] = done
            next_AK = (moved_A[:, None] + back_K).clamp(max=len(state_AW) - 1)  # cells that look at one of these
            active_A = next_AK[cells.bias_AK.gather(0, next_AK) == 0].unique()
            # oneDNN keeps what it prepares per shape: a few cells come twice, so that there are few shapes.
            step = 256 if len(active_A) > 512 else 1
            active_A = torch.cat([active_A, active_A[-1:].expand(-len(active_A) % step)])
        return state_AW, rounds_B, (keys_AW[places - 1 :: places], values_AW[places - 1 :: places])

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
        others = [classes.index(number) for number in neighbours.other_cells]
        return Cells(self._start(symbols_MK, static), combination_A, bias_CK[:, others].repeat(len(tokens_BN), 1))

    def _start(self, symbols_MK: Tensor, classes: list[int]) -> tuple[Tensor, ...]:
        """The distinct layers, and what the repeated one needs of no other cell: start, query, scores and values."""
        bias_MK = torch.where(symbols_MK == self.embedding.num_embeddings, NOT_SEEN, 0.0)
        symbols_VW = self.dropout(self.embedding_norm(self.embedding.weight))
        digits_MK = symbols_MK[:, 1:].where(bias_MK[:, 1:] == 0, 0)
        x_MW = symbols_VW[symbols_MK[:, 0]]
        for number, layer in enumerate(self.layers[:-1]):
            _, seen = self._look(number, x_MW, symbols_VW, digits_MK, classes, bias_MK)
            x_MW = self._finish(layer, x_MW, [seen])
        query_MHD, seen = self._look(-1, x_MW, symbols_VW, digits_MK, classes, bias_MK)
        return (x_MW, query_MHD, *seen)

    def _look(
        self, number: int, x_AW: Tensor, symbols_VW: Tensor, digits_AK: Tensor, *rest: Any
    ) -> tuple[Tensor, Seen]:
        """The queries of cells in a layer, and what they see of themselves and of their digits."""
        layer, attention = self.layers[number], self.layers[number].attention
        normed_AW, normed_VW = layer.norms[0](x_AW), layer.norms[0](symbols_VW)
        query_AHD = attention.query(normed_AW).unflatten(-1, (attention.heads, -1))
        query_AHD = query_AHD / math.sqrt(query_AHD.shape[-1])
        memory = (
            torch.cat([part(normed_AW)[:, None], nn.functional.embedding(digits_AK, part(normed_VW))], dim=1)
            for part in (attention.key, attention.value)
        )
        return query_AHD, self._scored(number, query_AHD, memory, *rest)

    def _scored(self, layer: int, query_AHD: Tensor, memory: Memory, classes: list[int], bias_AK: Tensor) -> Seen:
        """Scores of the neighbours of each query: q (k + p), with p = table[class] as everywhere."""
        keys_AKHD, values_AKHD = (part.unflatten(-1, (query_AHD.shape[1], -1)) for part in memory)
        keys_AKHD = keys_AKHD + self.vectors.tables[layer][classes][:, None]
        return (query_AHD[:, None] * keys_AKHD).sum(-1) + bias_AK[..., None], values_AKHD

    def _remember(self, state_AW: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of cells for those that depend on them."""
        attention, normed_AW = self.layers[-1].attention, self.layers[-1].norms[0](state_AW)
        return attention.key(normed_AW), attention.value(normed_AW)

    def _state(self, cells: Part, others: list[Seen]) -> Tensor:
        """The repeated layer: normalised states of cells that see these others."""
        seen = [*others, (cells.scores_AKH, cells.values_AKHD)]
        return self.state_norm(self._finish(self.layers[-1], cells.start_AW, seen))

    def _finish(self, layer: Layer, x_AW: Tensor, parts: list[Seen]) -> Tensor:
        """The rest of a layer after its scores: eq. pairwise's softmax over few keys, and the feed-forward part."""
        scores_AKH, values_AKHD = (torch.cat(tensors, dim=1) for tensors in zip(*parts, strict=True))
        weights_AKH = layer.attention.dropout(scores_AKH.softmax(1))
        x_AW = x_AW + self.dropout(layer.attention.out((weights_AKH[..., None] * values_AKHD).sum(1).flatten(1)))
        return x_AW + self.dropout(layer.feedforward(layer.norms[1](x_AW)))
