"""Which problems are drawn, to train and to test."""

from digitwise.data.carries import (
    CONDITIONAL,
    Cascade,
    ConsecutiveCarries,
    MixedComplexity,
    NinesRun,
    Practice,
    UniformComplexity,
)
from digitwise.data.distributions import (
    PLAIN,
    Distribution,
    ExactLength,
    Mixture,
    NoCarry,
    Shifted,
    ShortMultipliers,
    UniformLengths,
    UniformValues,
)

DISTRIBUTIONS = PLAIN | CONDITIONAL | {"practice": Practice}

__all__ = [
    "DISTRIBUTIONS",
    "Cascade",
    "ConsecutiveCarries",
    "Distribution",
    "ExactLength",
    "MixedComplexity",
    "Mixture",
    "NinesRun",
    "NoCarry",
    "Practice",
    "Shifted",
    "ShortMultipliers",
    "UniformComplexity",
    "UniformLengths",
    "UniformValues",
]
