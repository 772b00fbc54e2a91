"""Encodings turn "where" into attention. One seam: a statement in a short file, one line here."""

from digitwise.encodings.base import Encoding, Pairwise, Shape, Vectors
from digitwise.encodings.places import ByPlace, Neighbours, PlaceVectors
from digitwise.encodings.standard import Absolute, Nothing, Relative, Sum, Uniform
from digitwise.encodings.symmetry import Permutation, PlaceTranslation, SameForEveryQuery, Symmetry, Translation

ENCODINGS = {
    "none": Nothing,
    "absolute": Absolute,
    "relative": Relative,
    "uniform": Uniform,
    "sum": Sum,
    "place": ByPlace,
}

__all__ = [
    "ENCODINGS",
    "Absolute",
    "ByPlace",
    "Encoding",
    "Neighbours",
    "Nothing",
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
    "Vectors",
]
