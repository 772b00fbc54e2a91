"""A looped transformer over columns: every column looks at every other one, with classes of their difference in places.

The last rung below `lattice`: nothing states who hears whom, nor how far a column may look. The same layers are applied
in as many rounds as there are places, in training as at test, with the columns injected anew in each round. A test ends
when no column moves any more.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from digitwise.coordinates import Coordinates, Extent
from digitwise.encodings import Encoding, Relative
from digitwise.models.base import Blueprint, Model
from digitwise.models.encoder import Architecture, Layer, initialise
from digitwise.models.grid import Grid
from digitwise.models.ripple import STILL


@dataclass(frozen=True)
class Looped(Blueprint):
    """The size of a looped transformer over columns."""

    layers: int = 1  # applied in each round
    width: int = 96
    heads: int = 4
    feedforward: int = 0  # 0 stands for twice the width
    reach: int = 4
    """Differences in places beyond this share a class with it."""

    def __post_init__(self) -> None:
        self.encoder()  # refuses sizes that do not fit each other
        if self.layers < 1 or self.reach < 0:
            raise ValueError("a looped transformer needs at least one layer, and a reach that is not negative")

    def encoder(self) -> Architecture:
        return Architecture(self.layers, 0, 1, self.width, self.heads, self.feedforward or 2 * self.width)

    def smallest(self) -> Blueprint:
        return replace(self, width=16, heads=4, feedforward=32)

    def build(self, encoding: Encoding, extent: Extent, symbols: int, answers: int) -> Model:
        return LoopedNet(self, encoding, symbols, answers)


class LoopedNet(Grid):
    layers: Sequence[Layer]

    def __init__(self, blueprint: Looped, encoding: Encoding, symbols: int, answers: int):
        super().__init__(blueprint.width, encoding, symbols, answers)
        size = blueprint.encoder()
        self.blueprint = blueprint
        self.layers = nn.ModuleList(Layer(size, 1e-5) for _ in range(blueprint.layers))  # type: ignore[assignment]
        self.norm = nn.LayerNorm(blueprint.width)
        for layer in self.layers:
            layer.apply(initialise)
        self.classes = Relative(deviation=0.0, reach=blueprint.reach).build(size.shape, Extent(1, ()))

    def states(self, x_BRPW: Tensor) -> Tensor:
        x_BPW = x_BRPW[:, 0]
        place = torch.arange(x_BPW.shape[1], device=x_BPW.device)
        prepared = self.classes.prepare(Coordinates(place, place, place, place))
        state_BPW = torch.zeros_like(x_BPW)
        for _ in range(len(place)):
            new_BPW = state_BPW + x_BPW
            for number, layer in enumerate(self.layers):
                new_BPW = layer(new_BPW, lambda q_BHND, n=number: self.classes.scores(n, q_BHND, prepared))
            new_BPW = self.norm(new_BPW)
            if not self.training and bool(((new_BPW - state_BPW).abs() < STILL).all()):
                break
            state_BPW = new_BPW
        return state_BPW[:, None]

    def floats(self, num_tokens: int) -> int:
        columns = num_tokens // 3 + 1
        return 3 * self.blueprint.heads * columns**2 + 8 * self.width * columns
