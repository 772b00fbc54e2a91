"""digitwise: transformers that learn arithmetic on short numbers and get long ones right.

Names are loaded when they are first used, so that importing the package, and every --help, costs nothing.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "digitwise.tasks": "Addition Multiplication UniformValues UniformLengths ExactLength Shifted NoCarry Mixture TASKS"
    " Cascade UniformComplexity MixedComplexity NinesRun ConsecutiveCarries Practice Arithmetic Kind DISTRIBUTIONS"
    " TextAddition TextMultiplication",
    "digitwise.encodings": "Nothing Absolute Relative Uniform Sum Encoding Pairwise ENCODINGS"
    " ByPlace UniformByPlace HeadGroups ByColumn",
    "digitwise.coordinates": "Coordinates Extent",
    "digitwise.text": "find_numbers answered_at_last pad_numbers",
    "digitwise.model": "Architecture Encoder",
    "digitwise.experiment": "Experiment Training Testing",
    "digitwise.runs": "Run find_runs",
    "digitwise.training": "train",
    "digitwise.evaluation": "evaluate answer load_model",
    "digitwise.solver": "Solver Solution load",
    "digitwise.hub": "bundle from_pretrained push_to_hub",
    "digitwise.suites": "SUITES",
    "digitwise.counts": "Count merge wilson",
    "digitwise.recipes": "RECIPES arms",
    "digitwise.reproduction": "reproduce",
    "digitwise.prediction": "predict predict_run",
    "digitwise.exchange": "problems score",
    "digitwise.laws": "law",
    "digitwise.levels": "levels_law",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'digitwise' has no attribute '{name}'")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return __all__
