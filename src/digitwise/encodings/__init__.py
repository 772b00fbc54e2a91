"""Encodings turn "where" into attention. One seam: a statement in a short file, one line here."""

from digitwise.encodings.base import Encoding, Pairwise, Shape, Vectors
from digitwise.encodings.numbers import ByPlace, HeadGroups, UniformByPlace
from digitwise.encodings.standard import Absolute, Nothing, Relative, Sum, Uniform
from digitwise.encodings.symmetry import (
    ByOperandAndPlace,
    NumbersOnly,
    Permutation,
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
}

__all__ = [
    "ENCODINGS",
    "Absolute",
    "ByOperandAndPlace",
    "ByPlace",
    "Encoding",
    "HeadGroups",
    "Nothing",
    "NumbersOnly",
    "Pairwise",
    "Permutation",
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
