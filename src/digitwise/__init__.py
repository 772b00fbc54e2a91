"""digitwise: transformers that learn arithmetic on short numbers and get long ones right.

Names are loaded when they are first used, so that importing the package, and every --help, costs nothing.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "digitwise.tasks": "Addition Multiplication Arithmetic Kind TASKS TextAddition TextMultiplication"
    " Batch Distribution Problems Task Growing",
    "digitwise.data": "UniformValues UniformLengths ExactLength Shifted NoCarry Mixture Cascade UniformComplexity"
    " MixedComplexity NinesRun ConsecutiveCarries Practice DISTRIBUTIONS SUITES ShortMultipliers",
    "digitwise.encodings": "Nothing Absolute Relative Uniform Sum Encoding Pairwise ENCODINGS"
    " ByPlace UniformByPlace HeadGroups ByColumn Sinusoidal Rotary Alibi Buckets Fire Abacus Coupled Randomised",
    "digitwise.coordinates": "Coordinates Extent",
    "digitwise.models.attention": "PairwiseAttention standing_at",
    "digitwise.tasks.text": "find_numbers answered_at_last pad_numbers",
    "digitwise.models": "Architecture Encoder Columns Blueprint Model Answers ARCHITECTURES",
    "digitwise.runs.experiment": "Experiment Training Testing",
    "digitwise.runs.folder": "Run find_runs",
    "digitwise.runs.training": "train",
    "digitwise.runs.evaluation": "evaluate answer load_model",
    "digitwise.answers.solver": "Solver Solution load",
    "digitwise.answers.hub": "bundle from_pretrained push_to_hub",
    "digitwise.data.suites": "Suite Stratum",
    "digitwise.counts": "Count merge wilson",
    "digitwise.paper": "RECIPES Recipe arms",
    "digitwise.paper.reproduction": "reproduce",
    "digitwise.paper.prediction": "predict predict_run",
    "digitwise.answers.exchange": "problems score",
    "digitwise.numbers.sums": "law",
    "digitwise.numbers.products": "levels_law",
}
_MODULES = {"conformance": "digitwise.models.conformance", "nn": "digitwise.models.attention"}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted([*_HOME_OF, *_MODULES])


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name not in _HOME_OF:
        raise AttributeError(f"module 'digitwise' has no attribute '{name}'")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return __all__
