"""An encoder whose work ripples from low places to high ones: few neighbours a cell, rounds until nothing changes.

The cells stand in rows, one for each number that is taken in, the last of them the answer's (`encodings.places`). The
distinct layers show each cell its digits, once. The repeated layer starts from what they made of it, and shows it
its digits again and the cells it depends on: below it in its row, and in the row before. A cell keeps no memory of its
own, so there is one state in which all cells agree, and two ways to it. `forward`, for training, takes the cells in the
order of their dependence, each once. `settle`, for long numbers, takes all of them at once, in rounds: first as if
there were no other cell, then again whenever a cell it depends on has changed. Most are soon at rest, since most do not
care what came in from far below; a carry through a thousand nines takes a thousand rounds of a few cells.

Shapes: B problems, R rows, P places, A cells of the whole batch (in the order of problem, row, place), K neighbours,
V symbols, W, H, D as in `model`.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from digitwise.coordinates import Coordinates, Extent
from digitwise.encodings import ByColumn, Neighbours, PlaceVectors
from digitwise.encodings.by_column import ABOVE, BELOW, NOT_SEEN, SHIFTED
from digitwise.models.encoder import Architecture, Encoder, Layer

STILL = 0.01
"""A cell is at rest when no entry of its normalised state (of about 1) moved by more than this in a round."""


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
    others_AK: Tensor  # numbers of the cells it depends on
    bias_AK: Tensor


class Cells(NamedTuple):
    """All cells. What a cell starts from depends on its own symbol and its digits alone, and of these there are few
    combinations: it is worked out once for each."""

    combined: tuple[Tensor, Tensor, Tensor, Tensor]  # start, query, scores and values of each combination
    combination_A: Tensor
    others_AK: Tensor
    bias_AK: Tensor

    def part(self, chosen: Tensor | slice = slice(None)) -> Part:
        combination = self.combination_A[chosen]
        start, query, scores, values = (tensor[combination] for tensor in self.combined)
        return Part(start, query, scores, values, self.others_AK[chosen], self.bias_AK[chosen])

    def waves(self, rows: int, places: int) -> Iterator[Part]:
        """Cells of equal row + place, which do not depend on each other: one of each row. Beyond the ends of a row its
        first or last cell stands in; nobody looks at that one."""
        device = self.bias_AK.device
        row_R, wave_L = torch.arange(rows, device=device), torch.arange(rows + places - 1, device=device)
        place_LR = (wave_L[:, None] - row_R).clamp(0, places - 1)
        problem_B = torch.arange(len(self.bias_AK) // (rows * places), device=device)
        cell_LA = (place_LR[:, None] + places * (row_R + rows * problem_B[:, None])).flatten(1)
        return map(Part._make, zip(*(tensor.unbind() for tensor in self.part(cell_LA)), strict=True))


class Settled(NamedTuple):
    symbols_BS: Tensor
    confidence_BS: Tensor
    rounds_B: Tensor
    """The last round in which anything of a problem moved."""


class Ripple(Encoder):
    """The parts of an encoder, put together for cells and their neighbours."""

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
        """Logits `[B, S, V]` with all cells at rest, or as they are after so many rounds."""
        neighbours: Neighbours = self._prepare(coordinates)[0]
        cells, (rows, places) = self._cells(tokens_BN, neighbours), neighbours.cells_RP.shape
        if rounds is not None:
            state_AW, _ = self._rounds(cells, neighbours, rounds)
            return self.readout(state_AW.unflatten(0, (-1, rows, places))[:, -1])
        kinds, problems = neighbours.other_cells, len(tokens_BN)
        states: list[Tensor] = []
        remembered: list[tuple[Tensor, Tensor]] = []
        for wave, now in enumerate(cells.waves(rows, places)):
            others = []
            if wave and kinds:
                # below, above and shifted were so many waves ago, and so many rows before
                ago = {BELOW: (1, 0), ABOVE: (1, 1), SHIFTED: (2, 1)}
                found = [(remembered[max(wave - ago[kind][0], 0)], ago[kind][1]) for kind in kinds]
                keys_AKW, values_AKW = (
                    torch.stack([part[which].roll(up, 1).flatten(0, 1) for part, up in found], dim=1)
                    for which in (0, 1)
                )
                others = [self._scored(-1, now.query_AHD, keys_AKW, values_AKW, kinds, now.bias_AK)]
            state_BRW = self._state(now, others).unflatten(0, (problems, rows))
            remembered.append(self._remembered(state_BRW))
            states.append(state_BRW[:, -1])
        return self.readout(torch.stack(states[rows - 1 :], dim=1))

    def settle(self, tokens_BN: Tensor, coordinates: Coordinates) -> Settled:
        """Rounds until every cell is at rest."""
        neighbours: Neighbours = self._prepare(coordinates)[0]
        state_AW, rounds_B = self._rounds(self._cells(tokens_BN, neighbours), neighbours)
        answers_BSW = state_AW.unflatten(0, (-1, *neighbours.cells_RP.shape))[:, -1]
        confidence_BS, symbols_BS = self.readout(answers_BSW).softmax(-1).max(-1)
        return Settled(symbols_BS, confidence_BS, rounds_B)

    def _rounds(self, cells: Cells, neighbours: Neighbours, most: int | None = None) -> tuple[Tensor, Tensor]:
        """States, and the last round in which each problem moved. Cells that depend only on others at rest are left
        alone, and after as many rounds as there are rows and places all of them are at rest."""
        rows, places = neighbours.cells_RP.shape
        kinds = neighbours.other_cells
        state_AW = self._state(cells.part(), [])
        keys_AW, values_AW = self._remembered(state_AW)
        problems, device = len(state_AW) // (rows * places), state_AW.device
        rounds_B = torch.ones(problems, dtype=torch.long, device=device)
        active_A = _dependent(torch.arange(len(state_AW), device=device), rows, places)
        for done in range(2, (rows + places - 1 if most is None else most) + 1):
            if not len(active_A):
                break
            now = cells.part(active_A)
            keys_AKW, values_AKW = (nn.functional.embedding(now.others_AK, part) for part in (keys_AW, values_AW))
            new_AW = self._state(now, [self._scored(-1, now.query_AHD, keys_AKW, values_AKW, kinds, now.bias_AK)])
            moved = (new_AW - state_AW[active_A]).abs().amax(-1) > STILL
            # What stays within the tolerance keeps its old state too, so that small moves cannot add up unseen.
            moved_A, new_AW = active_A[moved], new_AW[moved]
            state_AW[moved_A] = new_AW
            keys_AW[moved_A], values_AW[moved_A] = self._remembered(new_AW)
            rounds_B[moved_A // (rows * places)] = done
            active_A = _dependent(moved_A, rows, places)
        return state_AW, rounds_B

    def _cells(self, tokens_BN: Tensor, neighbours: Neighbours) -> Cells:
        """The distinct layers, and all of the repeated one that needs no other cell."""
        classes, kinds = neighbours.classes_K.tolist(), [0, *neighbours.digits]
        fixed, others = ([classes.index(kind) for kind in part] for part in (kinds, neighbours.other_cells))
        cells_C, absent = neighbours.cells_RP.flatten(), self.embedding.num_embeddings
        tokens_CK, bias_CK = (part[cells_C] for part in (neighbours.tokens_NK, neighbours.bias_NK))
        seen_AK = torch.where(bias_CK < 0, absent, tokens_BN.long()[:, tokens_CK])[..., fixed].flatten(0, 1)
        number_K = (absent + 1) ** torch.arange(len(fixed), device=seen_AK.device)
        numbers_A, combination_A = (seen_AK * number_K).sum(1).unique(return_inverse=True)
        symbols_AK = numbers_A[:, None] // number_K % (absent + 1)  # from here on A are the combinations
        bias_AK = torch.where(symbols_AK == absent, NOT_SEEN, 0.0)
        own_A, digits_AK = symbols_AK[:, 0], symbols_AK[:, 1:] * (symbols_AK[:, 1:] < absent)
        symbols_VW = self.dropout(self.embedding_norm(self.embedding.weight))
        x_AW = symbols_VW[own_A]
        for number, layer in enumerate(self.layers):
            normed_AW, normed_VW = layer.norms[0](x_AW), layer.norms[0](symbols_VW)
            query_AHD = layer.attention.query(normed_AW).unflatten(-1, (layer.attention.heads, -1))
            query_AHD = query_AHD / math.sqrt(query_AHD.shape[-1])
            keys_AKW, values_AKW = (
                torch.cat([part(normed_AW)[:, None], nn.functional.embedding(digits_AK, part(normed_VW))], dim=1)
                for part in (layer.attention.key, layer.attention.value)
            )
            seen = self._scored(number, query_AHD, keys_AKW, values_AKW, kinds, bias_AK)
            if number < self.architecture.layers:
                x_AW = self._finish(layer, x_AW, [seen])
        cell_of = torch.zeros(tokens_BN.shape[1], dtype=torch.long, device=tokens_BN.device)
        cell_of[cells_C] = torch.arange(len(cells_C), device=tokens_BN.device)
        offset_B = torch.arange(len(tokens_BN), device=tokens_BN.device) * len(cells_C)
        others_AK = (cell_of[tokens_CK[:, others]] + offset_B[:, None, None]).flatten(0, 1)
        return Cells((x_AW, query_AHD, *seen), combination_A, others_AK, bias_CK[:, others].repeat(len(tokens_BN), 1))

    def _scored(
        self, layer: int, query_AHD: Tensor, keys_AKW: Tensor, values_AKW: Tensor, kinds: list[int], bias_AK: Tensor
    ) -> Seen:
        """Scores of the neighbours of each query: q (k + p), with p = table[class] as everywhere."""
        heads = (query_AHD.shape[1], -1)
        keys_AKHD = keys_AKW.unflatten(-1, heads) + self.vectors.tables[layer][kinds][:, None]
        return Seen((query_AHD[:, None] * keys_AKHD).sum(-1) + bias_AK[..., None], values_AKW.unflatten(-1, heads))

    def _remembered(self, state_AW: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of cells for those that depend on them."""
        layer = self.layers[-1]
        normed_AW = layer.norms[0](state_AW)
        return layer.attention.key(normed_AW), layer.attention.value(normed_AW)

    def _state(self, cells: Part, others: list[Seen]) -> Tensor:
        """The repeated layer: normalised states of cells that see these others."""
        parts = [*others, Seen(cells.scores_AKH, cells.values_AKHD)]
        return self.state_norm(self._finish(self.layers[-1], cells.start_AW, parts))

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
