"""Rotary positions."""

from dataclasses import dataclass

from torch import Tensor

from digitwise.coordinates import Coordinates, Extent
from digitwise.encodings.base import Encoding, Shape, Vectors
from digitwise.encodings.rotation import angles_of
from digitwise.encodings.symmetry import Translation


@dataclass(frozen=True)
class Rotary(Encoding):
    """RoPE (Su et al. 2021): q_i' R_(j - i) k_j, where R_t turns the k-th pair of entries by t base^(-2 k / D).

    Queries and keys are rotated by their own positions, so that their product depends on the distance alone.
    """

    base: float = 10_000.0
    any_length = True
    growing = True
    symmetries = (Translation(),)

    def build(self, shape: Shape, extent: Extent) -> Vectors:
        if shape.head_size % 2:
            raise ValueError(f"rotary positions turn pairs of entries: heads of {shape.head_size} must be of even size")
        return RotaryVectors(self.base, shape.head_size)


class RotaryVectors(Vectors):
    """Nothing is learned."""

    def __init__(self, base: float, head_size: int):
        super().__init__()
        self.base, self.head_size = base, head_size

    def prepare(self, coordinates: Coordinates) -> Tensor:
        angles = angles_of(coordinates.position, self.head_size, self.base)
        return angles[:, None] if angles.ndim == 3 else angles

    def angles(self, layer: int, prepared: Tensor) -> Tensor:
        return prepared
