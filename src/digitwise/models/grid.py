"""Models over columns that are not built like an addition: what they share, and recurrent and convolutional ones.

All of them get what the cells of `ripple` get: the digits of a column, and of a product also the multiplier's digit of
the row, as one vector per cell. That numbers stand in columns is built in here too. How columns hear of each other is
where these models differ.

Shapes: B problems, R rows, P places, K symbols that a cell sees (its own first), W width, V symbols, S slots (S = P).
"""

from dataclasses import dataclass, replace
from typing import cast

import torch
from torch import Tensor, nn

from digitwise.coordinates import Coordinates, Extent
from digitwise.encodings import Encoding, PlaceVectors, Shape
from digitwise.encodings.by_column import CLASSES
from digitwise.models.base import Blueprint, Model
from digitwise.models.encoder import REMEMBERED


class Grid(Model):
    """Rows of cells, each the sum of the vectors of what it sees."""

    one_row = True

    def __init__(self, width: int, encoding: Encoding, symbols: int, answers: int):
        super().__init__()
        if not encoding.columns:
            raise ValueError(f"models over columns need --encoding by-column, not {type(encoding).__name__.lower()}")
        self.width, self.absent = width, symbols
        self.vectors = cast(PlaceVectors, encoding.build(Shape(0, 1, 1, width), Extent(0, ())))  # class maps alone
        self.embedding = nn.Embedding(len(CLASSES) * (symbols + 1), width)
        self.readout = nn.Linear(width, answers)
        nn.init.normal_(self.embedding.weight, std=0.3)
        self._remembered: list[tuple[Coordinates, tuple[Tensor, Tensor]]] = []

    def forward(self, tokens_BN: Tensor, coordinates: Coordinates) -> Tensor:
        tokens_RPK, starts_RPK = self.prepare(coordinates)
        there_BRPK = tokens_BN.long()[:, tokens_RPK] + starts_RPK
        seen_BRPK = torch.where(starts_RPK < 0, self.absent - 1 - starts_RPK, there_BRPK)
        states_BRPW = self.states(self.embedding(seen_BRPK).sum(-2))
        return self.readout(states_BRPW[:, -1])

    def states(self, x_BRPW: Tensor) -> Tensor:
        """The last states of all cells, from what each sees."""
        raise NotImplementedError

    def prepare(self, coordinates: Coordinates) -> tuple[Tensor, Tensor]:
        """Which tokens each cell sees, `[R, P, K]`, and where vectors of their classes start; -1 - start where there
        is no such token."""
        for known, prepared in self._remembered:
            if known.same(coordinates):
                return prepared
        with torch.inference_mode(False):
            found = self.vectors.prepare(coordinates.map(lambda array: torch.as_tensor(array, device=self.device)))
            classes, cells_RP = found.classes_K.tolist(), found.cells_RP
            static = [classes.index(number) for number in (0, *found.digits)]
            starts_K = found.classes_K[static] * (self.absent + 1)
            absent_RPK = found.bias_NK[cells_RP][..., static] < 0
            starts_RPK = torch.where(absent_RPK, -1 - starts_K, starts_K)
        if self.one_row and len(cells_RP) > 1:
            raise ValueError("this model has one row of columns: sums of two, or multipliers of one digit")
        prepared = found.tokens_NK[cells_RP][..., static], starts_RPK
        self._remembered = [(coordinates, prepared), *self._remembered[: REMEMBERED - 1]]
        return prepared

    def floats(self, num_tokens: int) -> int:
        return 8 * self.width * num_tokens


@dataclass(frozen=True)
class Recurrent(Blueprint):
    """A GRU or an LSTM that reads the columns from the ones upwards, and writes a symbol at each."""

    unit: str = "gru"
    layers: int = 1
    width: int = 96

    def __post_init__(self) -> None:
        if self.unit not in ("gru", "lstm"):
            raise ValueError(f"unit must be gru or lstm, not '{self.unit}'")
        if self.layers < 1 or self.width < 1:
            raise ValueError("a recurrent network needs at least one layer, and a width of at least 1")

    def smallest(self) -> Blueprint:
        return replace(self, width=16)

    def build(self, encoding: Encoding, extent: Extent, symbols: int, answers: int) -> Model:
        return RecurrentNet(self, encoding, symbols, answers)


class RecurrentNet(Grid):
    def __init__(self, blueprint: Recurrent, encoding: Encoding, symbols: int, answers: int):
        super().__init__(blueprint.width, encoding, symbols, answers)
        network = {"gru": nn.GRU, "lstm": nn.LSTM}[blueprint.unit]
        self.layers = network(blueprint.width, blueprint.width, blueprint.layers, batch_first=True)

    def states(self, x_BRPW: Tensor) -> Tensor:
        return self.layers(x_BRPW[:, 0])[0][:, None]


@dataclass(frozen=True)
class NeuralGPU(Blueprint):
    """Convolutional gates over columns, the same in each of as many rounds as there are places (Kaiser and Sutskever
    2016): s' = u s + (1 - u) tanh(U * (r s)), with gates u and r that are convolutions of s cut off at 0 and 1.

    Their image has a second direction, and their training adds noise, dropout and relaxed weights. These are left out.
    """

    layers: int = 2  # gates in each round
    width: int = 48
    kernel: int = 3

    def __post_init__(self) -> None:
        if self.layers < 1 or self.width < 1 or self.kernel < 1 or self.kernel % 2 == 0:
            raise ValueError("layers and width must be at least 1, and kernel an odd number")

    def smallest(self) -> Blueprint:
        return replace(self, layers=1, width=16)

    def build(self, encoding: Encoding, extent: Extent, symbols: int, answers: int) -> Model:
        return Convolutions(self, encoding, symbols, answers)


class Convolutions(Grid):
    def __init__(self, blueprint: NeuralGPU, encoding: Encoding, symbols: int, answers: int):
        super().__init__(blueprint.width, encoding, symbols, answers)
        self.layers = nn.ModuleList(Gate(blueprint.width, blueprint.kernel) for _ in range(blueprint.layers))

    def states(self, x_BRPW: Tensor) -> Tensor:
        s_BWP = x_BRPW[:, 0].mT
        for _ in range(s_BWP.shape[-1]):
            for gate in self.layers:
                s_BWP = gate(s_BWP)
        return s_BWP.mT[:, None]


class Gate(nn.Module):
    def __init__(self, width: int, kernel: int):
        super().__init__()
        self.gates = nn.Conv1d(width, 2 * width, kernel, padding=kernel // 2)
        self.new = nn.Conv1d(width, width, kernel, padding=kernel // 2)
        nn.init.ones_(self.gates.bias)  # type: ignore[arg-type]  # keep the state at first

    def forward(self, s_BWP: Tensor) -> Tensor:
        keep_BWP, reset_BWP = (1.2 * self.gates(s_BWP).sigmoid() - 0.1).clamp(0, 1).chunk(2, 1)
        return keep_BWP * s_BWP + (1 - keep_BWP) * self.new(reset_BWP * s_BWP).tanh()
