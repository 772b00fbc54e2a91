"""Encodings turn "where" into attention. One seam: a statement in a short file, one line here."""

from digitwise.encodings.base import Encoding, Pairwise, Shape, Vectors
from digitwise.encodings.standard import Absolute, Nothing, Relative, Sum, Uniform
from digitwise.encodings.symmetry import Permutation, SameForEveryQuery, Symmetry, Translation

ENCODINGS = {"none": Nothing, "absolute": Absolute, "relative": Relative, "uniform": Uniform, "sum": Sum}

__all__ = [
    "ENCODINGS",
    "Absolute",
    "Encoding",
    "Nothing",
    "Pairwise",
    "Permutation",
    "Relative",
    "SameForEveryQuery",
    "Shape",
    "Sum",
    "Symmetry",
    "Translation",
    "Uniform",
    "Vectors",
]
