"""Cells of which it is stated who hears whom: the structure of `ripple`, to be taken away piece by piece.

A cell hears the cells at some offsets of place in its own row (`along`), and in the row before (`across`). In each
round all cells start anew from their digits and from what they heard:

    state' = norm(h + feedforward(norm(h))),   h = digits + sum over offsets of gate V state[place + offset]

There are as many rounds as places and rows, in training as at test: enough for a carry from one end to the other. A
test ends when no cell moves any more. Nothing refuses cells that wait for each other in a circle: whether training
copes with that is what is asked.

Gates are open unless they have a price. Then they are drawn, open or closed, in training, and training pays for the
chance that they are open (Louizos et al. 2018: a stretched and cut off binary concrete variable). A test takes their
most likely value, which is exactly 0 for a gate that was closed. Gates start nearly closed, so that training opens what
it needs: a network that hears eight places from the start comes to rely on all of them (LOG.md).

Shapes: as in `grid`, O offsets.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from digitwise.coordinates import Extent
from digitwise.encodings import Encoding
from digitwise.models.base import Blueprint, Model
from digitwise.models.grid import Grid
from digitwise.models.ripple import STILL
from digitwise.rng import generator

SHARP, LOW, HIGH = 2 / 3, -0.1, 1.1
"""Temperature of the gates' variable, and the ends between which it is stretched."""
FASTER = 20.0
"""A gate has to move much further than a weight within a training, so what is learned is its logit by this."""
START = -1.0
"""Logit of a gate before training: a quarter of the draws has it more than half open."""
FURTHEST = 4
"""Random wiring takes offsets up to this."""


@dataclass(frozen=True)
class Lattice(Blueprint):
    """Cells and who hears whom."""

    width: int = 96
    feedforward: int = 0  # 0 stands for twice the width
    along: tuple[int, ...] = (-1,)
    """Offsets of the places that a cell hears in its row: -1 is where a carry comes from."""
    across: tuple[int, ...] = ()
    """The same in the row before; -1 is ten times the result so far."""
    cells: int = 0
    """As many places have a cell of their own, the last one for all beyond; 0 stands for one cell for all places."""
    random: bool = False
    """Each place hears, for each offset, another one that is drawn once and for all."""
    price: float = 0.0
    """Of an open gate; 0 has no gates."""

    def __post_init__(self) -> None:
        if self.width < 1 or self.feedforward < 0 or self.cells < 0 or self.price < 0:
            raise ValueError("width must be at least 1, and feedforward, cells and price not negative")
        if not self.along:
            raise ValueError("a cell hears at least one place of its row: give --along an offset")

    @property
    def offsets(self) -> list[tuple[str, int]]:
        return [("along", offset) for offset in self.along] + [("across", offset) for offset in self.across]

    def smallest(self) -> Blueprint:
        return replace(self, width=16, feedforward=16)

    def build(self, encoding: Encoding, extent: Extent, symbols: int, answers: int) -> Model:
        return LatticeNet(self, encoding, symbols, answers)


class LatticeNet(Grid):
    one_row = False

    def __init__(self, blueprint: Lattice, encoding: Encoding, symbols: int, answers: int):
        super().__init__(blueprint.width, encoding, symbols, answers)
        self.blueprint, width = blueprint, blueprint.width
        inner, offsets = blueprint.feedforward or 2 * width, len(blueprint.offsets)
        self.hear = PlaceLinear(width, offsets * width, blueprint.cells, bias=False)
        self.grow = PlaceLinear(width, inner, blueprint.cells)
        self.shrink = PlaceLinear(inner, width, blueprint.cells)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.openness = nn.Parameter(torch.full((offsets,), START / FASTER)) if blueprint.price else None
        self._price: Tensor | float = 0.0

    def states(self, x_BRPW: Tensor) -> Tensor:
        _, rows, places, _ = x_BRPW.shape
        heard = self._heard()
        state_BRPW = torch.zeros_like(x_BRPW)
        for _ in range(rows + places - 1):
            new_BRPW = self._round(x_BRPW, state_BRPW, heard)
            if not self.training and bool(((new_BRPW - state_BRPW).abs() < STILL).all()):
                break
            state_BRPW = new_BRPW
        return state_BRPW

    def _heard(self) -> "Heard":
        """What is behind a closed gate costs nothing."""
        gates_O, weight = self._drawn(), self.hear.weight
        if gates_O is None:
            return Heard(list(range(len(self.blueprint.offsets))), None, weight)
        numbers = gates_O.nonzero().flatten().tolist()
        return Heard(numbers, gates_O, weight.unflatten(1, (-1, self.width))[:, numbers].flatten(1, 2))

    def _round(self, x_BRPW: Tensor, state_BRPW: Tensor, heard: "Heard") -> Tensor:
        told_BRPOW = by_place(state_BRPW, heard.weight).unflatten(-1, (len(heard.numbers), self.width))
        # The sum over no offsets is 0, and keeps the weights in the graph, which processes that share a batch need.
        h_BRPW = x_BRPW if heard.numbers else x_BRPW + told_BRPOW.sum(-2)
        for index, number in enumerate(heard.numbers):
            moved_BRPW = self._moved(told_BRPOW[..., index, :], *self.blueprint.offsets[number], number)
            h_BRPW = h_BRPW + (moved_BRPW if heard.gates_O is None else heard.gates_O[number] * moved_BRPW)
        first, second = self.norms
        return second(h_BRPW + self.shrink(nn.functional.gelu(self.grow(first(h_BRPW)))))

    def _moved(self, told_BRPW: Tensor, way: str, offset: int, number: int) -> Tensor:
        """What each cell hears, zeros beyond the ends. Rows stand in the order of their work."""
        if way == "across":
            told_BRPW = nn.functional.pad(told_BRPW, (0, 0, 0, 0, 1, 0))[:, :-1]
        places = told_BRPW.shape[2]
        if self.blueprint.random:
            from_P = torch.arange(places) + random_offsets(places, number)
            there_P = (from_P >= 0) & (from_P < places)
            return told_BRPW[:, :, from_P.clamp(0, places - 1)] * there_P[:, None]
        if abs(offset) >= places:
            return torch.zeros_like(told_BRPW)
        low, high = max(-offset, 0), max(offset, 0)
        return nn.functional.pad(told_BRPW[:, :, high : places - low], (0, 0, low, high))

    def _drawn(self) -> Tensor | None:
        if self.openness is None:
            return None
        logits_O: Tensor = FASTER * self.openness
        self._price = self.blueprint.price * (logits_O - SHARP * math.log(-LOW / HIGH)).sigmoid().sum()
        if self.training:
            noise_O = torch.rand_like(logits_O).clamp(1e-6, 1 - 1e-6)
            logits_O = (logits_O + noise_O.log() - (-noise_O).log1p()) / SHARP
        return (logits_O.sigmoid() * (HIGH - LOW) + LOW).clamp(0, 1)

    def pay(self) -> Tensor | float:
        price, self._price = self._price, 0.0
        return price

    def gates(self) -> dict[tuple[str, int], float]:
        """How far each gate is open at test, by way and offset."""
        open_O = [1.0] * len(self.blueprint.offsets) if self.openness is None else self.eval()._drawn().tolist()  # type: ignore
        return dict(zip(self.blueprint.offsets, open_O, strict=True))


def random_offsets(places: int, number: int) -> Tensor:
    """For each place an offset up to FURTHEST in either direction, neither 0 nor the carry's -1: always the same."""
    others = [offset for offset in range(-FURTHEST, FURTHEST + 1) if offset not in (0, -1)]
    rng = generator("random wiring", number)
    return torch.as_tensor(np.array(others)[rng.integers(0, len(others), 100_000)[:places]])


class PlaceLinear(nn.Module):
    """A linear map for all places, or one for each of the first ones."""

    def __init__(self, inputs: int, outputs: int, cells: int, bias: bool = True):
        super().__init__()
        count = max(cells, 1)
        self.weight = nn.Parameter(torch.randn(count, outputs, inputs) / math.sqrt(inputs))
        self.bias = nn.Parameter(torch.zeros(count, outputs)) if bias else None

    def forward(self, x_BRPW: Tensor) -> Tensor:
        return by_place(x_BRPW, self.weight, self.bias)


def by_place(x_BRPW: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """One linear map for all places, or the first ones for the first places and the last one for all beyond."""
    if len(weight) == 1:
        return nn.functional.linear(x_BRPW, weight[0], None if bias is None else bias[0])
    cell_P = torch.arange(x_BRPW.shape[2], device=x_BRPW.device).clamp(max=len(weight) - 1)
    out_BRPW = torch.einsum("brpi,poi->brpo", x_BRPW, weight[cell_P])
    return out_BRPW if bias is None else out_BRPW + bias[cell_P]


class Heard(NamedTuple):
    """The offsets that are heard in a forward pass, by number, with all gates and the weights of what is told there."""

    numbers: list[int]
    gates_O: Tensor | None
    weight: Tensor
