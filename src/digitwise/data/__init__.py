"""Distributions and suites: which problems are drawn, to train and to test.

The seams are `tasks.base.Distribution` and `suites.Suite`. A distribution, or a suite, needs one line here or in the
list of its family.
"""

from digitwise.data import chains, edges, suites
from digitwise.data.ablations import ABLATIONS, FewExamples, WithoutPairs
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
    ExactLength,
    GrowingLengths,
    ManyNines,
    Mixture,
    NoCarry,
    Shifted,
    ShortMultipliers,
    UniformLengths,
    UniformValues,
)
from digitwise.data.downward import Compared, ShortFirst
from digitwise.data.suites import Suite
from digitwise.tasks.base import Distribution

DISTRIBUTIONS = PLAIN | CONDITIONAL | {"practice": Practice, "compared": Compared, "short-first": ShortFirst}
DISTRIBUTIONS |= ABLATIONS
SUITES: dict[str, Suite] = {suite.name: suite for suite in [*suites.SUITES, *chains.SUITES, *edges.SUITES]}

__all__ = [
    "DISTRIBUTIONS",
    "SUITES",
    "Cascade",
    "Compared",
    "ConsecutiveCarries",
    "Distribution",
    "ExactLength",
    "FewExamples",
    "GrowingLengths",
    "ManyNines",
    "MixedComplexity",
    "Mixture",
    "NinesRun",
    "NoCarry",
    "Practice",
    "Shifted",
    "ShortFirst",
    "ShortMultipliers",
    "Suite",
    "UniformComplexity",
    "UniformLengths",
    "UniformValues",
    "WithoutPairs",
]
