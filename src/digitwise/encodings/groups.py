"""Groups of heads, each with an encoding of its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from digitwise.coordinates import Extent
from digitwise.encodings.base import Encoding, Shape, Vectors
from digitwise.encodings.by_place import ByPlace
from digitwise.encodings.standard import Nothing, SumVectors
from digitwise.encodings.symmetry import Symmetry


@dataclass(frozen=True)
class HeadGroups(Encoding):
    """Groups of heads, each with an encoding of its own: `HeadGroups(((4, ByPlace()), (4, Nothing())))`.

    The numbers are heads of a model that has as many, and shares of the heads of any other model.
    """

    groups: tuple[tuple[int, Encoding], ...] = ((1, ByPlace()), (1, Nothing()))

    def __post_init__(self) -> None:
        groups = tuple((heads, encoding) for heads, encoding in self.groups)  # lists would not compare equal
        object.__setattr__(self, "groups", groups)
        if not groups or any(heads < 1 for heads, _ in groups):
            raise ValueError("groups of heads need at least one head each")

    @property
    def any_length(self) -> bool:  # type: ignore[override]
        return all(encoding.any_length for _, encoding in self.groups)

    @property
    def symmetries(self) -> tuple[Symmetry, ...]:  # type: ignore[override]
        """What all groups claim."""
        (_, first), *others = self.groups
        return tuple(claim for claim in first.symmetries if all(claim in other.symmetries for _, other in others))

    def build(self, shape: Shape, extent: Extent) -> Vectors:
        whole = sum(heads for heads, _ in self.groups)
        if any(heads * shape.heads % whole for heads, _ in self.groups):
            shares = ", ".join(str(heads) for heads, _ in self.groups)
            raise ValueError(f"groups of {shares} heads do not divide the {shape.heads} heads of the model")
        heads = [share * shape.heads // whole for share, _ in self.groups]
        parts = [
            encoding.build(shape._replace(heads=number), extent)
            for number, (_, encoding) in zip(heads, self.groups, strict=True)
        ]
        return GroupVectors(heads, parts)


class GroupVectors(SumVectors):
    """What is added to the embeddings is added up; what is added to the scores stays with its heads."""

    def __init__(self, heads: Sequence[int], parts: Sequence[Vectors]):
        super().__init__(parts)
        self.heads = list(heads)

    def scores(self, layer: int, q_BHND: Tensor, prepared: list[Any]) -> Tensor | None:
        queries = q_BHND.split(self.heads, dim=1)
        added = [part.scores(layer, q, mine) for part, q, mine in zip(self.parts, queries, prepared, strict=True)]
        if all(scores is None for scores in added):
            return None
        count = q_BHND.shape[2]
        return torch.cat(
            [q.new_zeros(*q.shape[:2], count, count) if a is None else a for q, a in zip(queries, added, strict=True)],
            dim=1,
        )

    def angles(self, layer: int, prepared: list[Any]) -> Tensor | None:
        found = [part.angles(layer, mine) for part, mine in zip(self.parts, prepared, strict=True)]
        first = next((angles for angles in found if angles is not None), None)
        if first is None:
            return None
        each = [torch.zeros_like(first) if angles is None else angles for angles in found]
        each = [angles.reshape(-1, 1, *first.shape[-2:]) for angles in each]
        return torch.cat([a.expand(-1, heads, -1, -1) for a, heads in zip(each, self.heads, strict=True)], dim=1)
