"""Positional encodings: each states which pairs of positions are equivalent.

The seam is `base.Encoding`; an encoding needs a short file and one line here.
"""

from digitwise.encodings.added import Abacus, Coupled, Sinusoidal
from digitwise.encodings.base import Encoding, Pairwise, Shape, Vectors
from digitwise.encodings.biases import Alibi, Buckets, Fire
from digitwise.encodings.by_column import ByColumn, Neighbours, PlaceVectors
from digitwise.encodings.by_place import ByPlace, UniformByPlace
from digitwise.encodings.groups import HeadGroups
from digitwise.encodings.randomised import Randomised
from digitwise.encodings.rotary import Rotary
from digitwise.encodings.standard import Absolute, Nothing, Relative, Sum, Uniform
from digitwise.encodings.symmetry import (
    ByOperandAndPlace,
    EqualPlaces,
    NumbersOnly,
    OrderAlone,
    Permutation,
    PlaceTranslation,
    ProductsByDistance,
    Reflection,
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
    "sinusoidal": Sinusoidal,
    "rope": Rotary,
    "alibi": Alibi,
    "t5": Buckets,
    "fire": Fire,
    "abacus": Abacus,
    "coupled": Coupled,
    "randomised": Randomised,
}

__all__ = [
    "ENCODINGS",
    "Abacus",
    "Absolute",
    "Alibi",
    "Buckets",
    "ByColumn",
    "ByOperandAndPlace",
    "ByPlace",
    "Coupled",
    "Encoding",
    "EqualPlaces",
    "Fire",
    "HeadGroups",
    "Neighbours",
    "Nothing",
    "NumbersOnly",
    "OrderAlone",
    "Pairwise",
    "Permutation",
    "PlaceTranslation",
    "PlaceVectors",
    "ProductsByDistance",
    "Randomised",
    "Reflection",
    "Relative",
    "Rotary",
    "SameForEveryQuery",
    "Shape",
    "Sinusoidal",
    "Sum",
    "Symmetry",
    "Translation",
    "Uniform",
    "UniformByPlace",
    "Vectors",
]
