"""Positional encodings: each states which pairs of positions are equivalent.

The seam is `base.Encoding`; an encoding needs a short file and one line here.
"""

from digitwise.encodings.base import Encoding, Pairwise, Shape, Vectors
from digitwise.encodings.by_column import ByColumn, Neighbours, PlaceVectors
from digitwise.encodings.by_place import ByPlace, UniformByPlace
from digitwise.encodings.standard import Absolute, HeadGroups, Nothing, Relative, Sum, Uniform
from digitwise.encodings.symmetry import (
    ByOperandAndPlace,
    NumbersOnly,
    Permutation,
    PlaceTranslation,
    SameForEveryQuery,
    Symmetry,
    Translation,
)

ENCODINGS = {
    "none": Nothing,
    "absolute": Absolute,
    "relative": Relative,
    "uniform": Uniform,
    "by-place": ByPlace,
    "uniform-by-place": UniformByPlace,
    "sum": Sum,
    "head-groups": HeadGroups,
    "by-column": ByColumn,
}

__all__ = [
    "ENCODINGS",
    "Absolute",
    "ByColumn",
    "ByOperandAndPlace",
    "ByPlace",
    "Encoding",
    "HeadGroups",
    "Neighbours",
    "Nothing",
    "NumbersOnly",
    "Pairwise",
    "Permutation",
    "PlaceTranslation",
    "PlaceVectors",
    "Relative",
    "SameForEveryQuery",
    "Shape",
    "Sum",
    "Symmetry",
    "Translation",
    "Uniform",
    "UniformByPlace",
    "Vectors",
]
