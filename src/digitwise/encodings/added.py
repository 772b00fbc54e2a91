"""Encodings of other papers that add a vector to each embedding: of its position, or of the place of its digit.

Random offsets are drawn in training alone. A test starts at the first vector.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from digitwise.coordinates import Coordinates, Extent
from digitwise.encodings.base import Encoding, Shape, Vectors, within
from digitwise.encodings.rotation import angles_of
from digitwise.encodings.symmetry import EqualPlaces, ProductsByDistance

SIZE = 0.02
"""Deviation of the embeddings of symbols at the start."""


@dataclass(frozen=True)
class Sinusoidal(Encoding):
    """Vaswani et al. 2017: z_i = E x_i + c p_i, with sin(i base^(-2 k / W)) and cos of the same as entries of p_i.

    Their embeddings are of the size of p_i, ours are much smaller at the start. So c is learned, from a value at which
    both are of one size. Entries are the sines first, then the cosines.
    """

    base: float = 10_000.0
    any_length = True
    growing = True
    symmetries = (ProductsByDistance(),)

    def build(self, shape: Shape, extent: Extent) -> Vectors:
        if shape.width % 2:
            raise ValueError(f"sines and cosines need an even width, not {shape.width}")
        return SinusoidalVectors(self.base, shape.width)


class SinusoidalVectors(Vectors):
    def __init__(self, base: float, width: int):
        super().__init__()
        self.base, self.width = base, width
        self.size = nn.Parameter(torch.full((), SIZE * 2**0.5))

    def prepare(self, coordinates: Coordinates) -> Tensor:
        angles = angles_of(coordinates.position, self.width, self.base)
        return torch.cat([angles.sin(), angles.cos()], dim=-1)

    def embed(self, prepared: Tensor) -> Tensor:
        return self.size * prepared


@dataclass(frozen=True)
class Abacus(Encoding):
    """McLeish et al. 2024: z_i = E x_i + t[place_i + s] for the digits of numbers, with s uniform from 0 to `room` in
    training and 0 at test. All problems of a batch share s; tokens outside of numbers get nothing."""

    room: int | None = None
    """None stands for as many as the longest number has places."""
    growing = True
    symmetries = (EqualPlaces(),)

    def build(self, shape: Shape, extent: Extent) -> Vectors:
        return PlaceTable(shape, extent, self.room, each=False, slots=False)


@dataclass(frozen=True)
class Coupled(Encoding):
    """Position coupling (Cho et al. 2024): z_i = E x_i + t[s + id_i], digits of equal significance sharing an id, also
    with the answer's. s is uniform from 0 to `room` in training, drawn for each problem, and 0 at test.

    The answer is read at tokens that are there already, so an operator that is read as an overflow digit has the id of
    that digit. Other tokens get nothing.
    """

    room: int | None = None
    growing = True
    symmetries = (EqualPlaces(),)

    def build(self, shape: Shape, extent: Extent) -> Vectors:
        return PlaceTable(shape, extent, self.room, each=True, slots=True)


class Places(NamedTuple):
    rows: Tensor  # of the table, [N], or [B, N]; -1 for none
    start: Tensor | int


class PlaceTable(Vectors):
    """A vector per place, and room for random starts."""

    def __init__(self, shape: Shape, extent: Extent, room: int | None, each: bool, slots: bool):
        super().__init__()
        self.places = max(extent.places, default=1) + slots
        self.room = self.places if room is None else room
        self.each, self.slots = each, slots
        self.table = nn.Parameter(SIZE * torch.randn(self.places + self.room, shape.width))

    def prepare(self, coordinates: Coordinates) -> Places:
        place = coordinates.place
        if self.slots:
            place = torch.where(place < 0, coordinates.slot, place)
        within(place.clamp(min=0), self.places, "a place")
        return Places(place, 0)

    def vary(self, prepared: Places, batch: int) -> Places:
        size = (batch, 1) if self.each else (1,)
        return prepared._replace(start=torch.randint(self.room + 1, size, device=prepared.rows.device))

    def embed(self, prepared: Places) -> Tensor:
        rows, start = prepared
        return self.table[rows.clamp(min=0) + start] * (rows >= 0)[..., None]
