"""A network of cells whose work ripples from low places to high ones: few neighbours per cell, rounds until it rests.

The cells stand in rows, and the last row is the answer's (`encodings.by_column`). The distinct layers show each cell
its digits, once. The repeated layer starts from the result, and shows the cell its digits again and the cells that it
depends on: below it in its row, and in the row before. A cell keeps no memory of its own, so there is one state in
which all cells agree, and there are two ways to it. `forward`, for training, takes the cells in the order of their
dependence, each once. `answer`, for long numbers, takes all of them at once, in rounds: first as if there were no
other cell, then again whenever a cell that it depends on has changed. Most cells are soon at rest, since most do not
depend on what comes in from far below; a carry through a thousand nines takes a thousand rounds of a few cells.

Shapes: B problems, R rows, P places, C cells of a problem (C = R P, in the order of row, place), A cells of the whole
batch (A = B C), M combinations of a cell's own symbol and its digits, K neighbours, V symbols, W, H, D as in `encoder`.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor, nn

from digitwise.coordinates import Coordinates, Extent
from digitwise.encodings import Encoding, Neighbours, PlaceVectors
from digitwise.encodings.by_column import ABOVE, BELOW, NOT_SEEN, SHIFTED
from digitwise.models.encoder import Answers, Architecture, Blueprint, Encoder, Layer

STILL = 0.01
"""A cell is at rest when no entry of its normalised state (of about 1) moved by more than this in a round."""


@dataclass(frozen=True)
class Columns(Blueprint):
    """The size of a network of cells: distinct layers, then one that is repeated from cell to cell."""

    layers: int = 1
    """Distinct layers, each applied once."""
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


class Seen(NamedTuple):
    """What queries look at: the scores, and the values to be weighted."""

    scores_AKH: Tensor
    values_AKHD: Tensor


class Part(NamedTuple):
    """Some cells, with all that a round needs and does not change."""

    start_AW: Tensor
    query_AHD: Tensor
    scores_AKH: Tensor  # of the cell itself and of its digits
    values_AKHD: Tensor
    others_AK: Tensor  # numbers of the cells that it depends on
    bias_AK: Tensor


class Cells(NamedTuple):
    """All cells. What a cell starts from depends on the combination of its own symbol and its digits alone."""

    combined: tuple[Tensor, ...]  # start, query, scores and values of each combination, [M, ...]
    combination_A: Tensor
    others_AK: Tensor
    bias_AK: Tensor

    def part(self, chosen: Tensor | slice = slice(None)) -> Part:
        combination = self.combination_A[chosen]
        start, query, scores, values = (tensor[combination] for tensor in self.combined)
        return Part(start, query, scores, values, self.others_AK[chosen], self.bias_AK[chosen])

    def waves(self, rows: int, places: int) -> Iterator[Part]:
        """Cells of equal row + place, one of each row, which do not depend on each other. Beyond the ends of a row its
        first or last cell stands in; no cell looks at that one."""
        device = self.bias_AK.device
        row_R, wave_L = torch.arange(rows, device=device), torch.arange(rows + places - 1, device=device)
        place_LR = (wave_L[:, None] - row_R).clamp(0, places - 1)
        problem_B = torch.arange(len(self.bias_AK) // (rows * places), device=device)
        cell_LA = (place_LR[:, None] + places * (row_R + rows * problem_B[:, None])).flatten(1)
        return map(Part._make, zip(*(tensor.unbind() for tensor in self.part(cell_LA)), strict=True))


class Ripple(Encoder):
    """The parts of an encoder, put together for cells and their neighbours."""

    vectors: PlaceVectors
    layers: Sequence[Layer]  # type: ignore[assignment]

    def __init__(self, columns: Columns, encoding: Encoding, extent: Extent, symbols: int, answers: int):
        if not encoding.columns:
            given = type(encoding).__name__.lower()
            raise ValueError(f"models without a canvas need --encoding by-column, not {given}")
        super().__init__(columns.encoder(), encoding, extent, symbols, answers)

    def forward(self, tokens_BN: Tensor, coordinates: Coordinates, rounds: int | None = None) -> Tensor:
        """Return the logits `[B, S, V]` with all cells at rest, or as they are after so many rounds."""
        neighbours: Neighbours = self.prepare(coordinates).vectors
        cells, (rows, places) = self._cells(tokens_BN, neighbours), neighbours.cells_RP.shape
        if rounds is not None:
            state_AW, _ = self._rounds(cells, neighbours, rounds)
            return self.readout(state_AW.unflatten(0, (-1, rows, places))[:, -1])
        classes, problems = neighbours.other_cells, len(tokens_BN)
        # Cells below, above and shifted were so many waves ago, and so many rows before.
        ago = {BELOW: (1, 0), ABOVE: (1, 1), SHIFTED: (2, 1)}
        states: list[Tensor] = []
        remembered: list[tuple[Tensor, Tensor]] = []
        for wave, now in enumerate(cells.waves(rows, places)):
            others = []
            if wave and classes:
                found = [(remembered[max(wave - ago[number][0], 0)], ago[number][1]) for number in classes]
                keys_AKW, values_AKW = (
                    torch.stack([part[i].roll(up, 1).flatten(0, 1) for part, up in found], dim=1) for i in (0, 1)
                )
                others = [self._scored(-1, now.query_AHD, keys_AKW, values_AKW, classes, now.bias_AK)]
            state_BRW = self._state(now, others).unflatten(0, (problems, rows))
            remembered.append(self._remember(state_BRW))
            states.append(state_BRW[:, -1])
        return self.readout(torch.stack(states[rows - 1 :], dim=1))

    def answer(self, tokens_BN: Tensor, coordinates: Coordinates) -> Answers:
        """Rounds until every cell is at rest."""
        neighbours: Neighbours = self.prepare(coordinates).vectors
        state_AW, rounds_B = self._rounds(self._cells(tokens_BN, neighbours), neighbours)
        answers_BSW = state_AW.unflatten(0, (-1, *neighbours.cells_RP.shape))[:, -1]
        confidence_BS, symbols_BS = self.readout(answers_BSW).float().softmax(-1).max(-1)
        return Answers(symbols_BS, confidence_BS, rounds_B)

    def floats(self, num_tokens: int) -> int:
        return self.linear_floats(num_tokens)

    def _rounds(self, cells: Cells, neighbours: Neighbours, most: int | None = None) -> tuple[Tensor, Tensor]:
        """Return the states, and the last round in which each problem moved. After as many rounds as there are rows and
        places all cells are at rest."""
        rows, places = neighbours.cells_RP.shape
        classes = neighbours.other_cells
        state_AW = self._state(cells.part(), [])
        keys_AW, values_AW = self._remember(state_AW)
        problems, device = len(state_AW) // (rows * places), state_AW.device
        rounds_B = torch.ones(problems, dtype=torch.long, device=device)
        active_A = _dependent(torch.arange(len(state_AW), device=device), rows, places)
        for done in range(2, (rows + places - 1 if most is None else most) + 1):
            if not len(active_A):
                break
            now = cells.part(active_A)
            keys_AKW, values_AKW = (nn.functional.embedding(now.others_AK, part) for part in (keys_AW, values_AW))
            new_AW = self._state(now, [self._scored(-1, now.query_AHD, keys_AKW, values_AKW, classes, now.bias_AK)])
            moved = (new_AW - state_AW[active_A]).abs().amax(-1) > STILL
            # What stays within the tolerance keeps its old state too, so that small moves cannot add up unseen.
            moved_A, new_AW = active_A[moved], new_AW[moved]
            state_AW[moved_A] = new_AW
            keys_AW[moved_A], values_AW[moved_A] = self._remember(new_AW)
            rounds_B[moved_A // (rows * places)] = done
            active_A = _dependent(moved_A, rows, places)
        return state_AW, rounds_B

    def _cells(self, tokens_BN: Tensor, neighbours: Neighbours) -> Cells:
        """What every cell starts from, and the cells that it depends on."""
        classes = neighbours.classes_K.tolist()
        cells_C, problems = neighbours.cells_RP.flatten(), len(tokens_BN)
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
        cell_of_N = torch.zeros(tokens_BN.shape[1], dtype=torch.long, device=tokens_BN.device)
        cell_of_N[cells_C] = torch.arange(len(cells_C), device=tokens_BN.device)
        first_B = torch.arange(problems, device=tokens_BN.device) * len(cells_C)
        others_AK = (cell_of_N[tokens_CK[:, others]] + first_B[:, None, None]).flatten(0, 1)
        return Cells(self._start(symbols_MK, static), combination_A, others_AK, bias_CK[:, others].repeat(problems, 1))

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
        self, number: int, x_AW: Tensor, symbols_VW: Tensor, digits_AK: Tensor, classes: list[int], bias_AK: Tensor
    ) -> tuple[Tensor, Seen]:
        """The queries of cells in a layer, and what they see of themselves and of their digits."""
        layer = self.layers[number]
        normed_AW, normed_VW = layer.norms[0](x_AW), layer.norms[0](symbols_VW)
        query_AHD = layer.attention.query(normed_AW).unflatten(-1, (layer.attention.heads, -1))
        query_AHD = query_AHD / math.sqrt(query_AHD.shape[-1])
        keys_AKW, values_AKW = (
            torch.cat([part(normed_AW)[:, None], nn.functional.embedding(digits_AK, part(normed_VW))], dim=1)
            for part in (layer.attention.key, layer.attention.value)
        )
        return query_AHD, self._scored(number, query_AHD, keys_AKW, values_AKW, classes, bias_AK)

    def _scored(
        self, layer: int, query_AHD: Tensor, keys_AKW: Tensor, values_AKW: Tensor, classes: list[int], bias_AK: Tensor
    ) -> Seen:
        """Scores of the neighbours of each query: q (k + p), with p = table[class] as everywhere."""
        heads = (query_AHD.shape[1], -1)
        keys_AKHD = keys_AKW.unflatten(-1, heads) + self.vectors.tables[layer][classes][:, None]
        return Seen((query_AHD[:, None] * keys_AKHD).sum(-1) + bias_AK[..., None], values_AKW.unflatten(-1, heads))

    def _remember(self, state_AW: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of cells for those that depend on them."""
        layer = self.layers[-1]
        normed_AW = layer.norms[0](state_AW)
        return layer.attention.key(normed_AW), layer.attention.value(normed_AW)

    def _state(self, cells: Part, others: list[Seen]) -> Tensor:
        """The repeated layer: normalised states of cells that see these others."""
        seen = [*others, Seen(cells.scores_AKH, cells.values_AKHD)]
        return self.state_norm(self._finish(self.layers[-1], cells.start_AW, seen))

    def _finish(self, layer: Layer, x_AW: Tensor, parts: list[Seen]) -> Tensor:
        """The rest of a layer after its scores: eq. pairwise's softmax over few keys, and the feed-forward part."""
        weights_AKH = layer.attention.dropout(torch.cat([part.scores_AKH for part in parts], dim=1).softmax(1))
        values_AKHD = torch.cat([part.values_AKHD for part in parts], dim=1)
        x_AW = x_AW + self.dropout(layer.attention.out((weights_AKH[..., None] * values_AKHD).sum(1).flatten(1)))
        return x_AW + self.dropout(layer.feedforward(layer.norms[1](x_AW)))


def _dependent(moved_A: Tensor, rows: int, places: int) -> Tensor:
    """The cells of the same problem that look at one of these: those they are below, above or shifted to."""
    place_A, row_A = moved_A % places, moved_A // places % rows
    higher, later = place_A < places - 1, row_A < rows - 1
    parts = [moved_A[higher] + 1, moved_A[later] + places, moved_A[higher & later] + places + 1]
    return torch.cat(parts).unique()
