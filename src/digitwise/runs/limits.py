"""Sizes that are refused before memory is taken for them, also those in the config.json of a stranger's run."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode

from digitwise.config import describe
from digitwise.models import Model
from digitwise.tables import flat

if TYPE_CHECKING:
    from digitwise.runs.experiment import Experiment

MEMORY = 2**36
"""Bytes that one problem, or all weights, may take in training."""
MOST_LAYERS = 1000
"""Layers and rounds: each layer costs time even if the model is built without memory."""
LAYERS = ("layers", "repeated", "rounds")
MOST = 2**31
"""Any other whole number that describes a model."""


class Unfilled(TorchFunctionMode):
    """Weights without memory are not filled. Torch would import its compiler for that, which takes longer than all else
    that `solve` does."""

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = kwargs or {}
        if getattr(func, "__module__", "") == "torch.nn.init":
            return given["tensor"] if "tensor" in given else args[0]
        return func(*args, **given)


def refuse_absurd(experiment: "Experiment") -> Model:
    """Return the model without memory for its weights, or refuse it: a size that is wrong, or too large to be meant."""
    described = describe(experiment.encoding), describe(experiment.architecture)
    parts = {**flat(described[0], "encoding"), **flat(described[1], "architecture")}
    numbers = {name: n for name, n in parts.items() if type(n) is int}
    for name, number in numbers.items():
        most = MOST_LAYERS if name.rpartition(".")[2] in LAYERS else MOST
        if number > most:
            raise ValueError(f"{name} must be at most {most:,}, not {number:,}")
    try:
        with torch.device("meta"), Unfilled():
            model = experiment.build()
    except (RuntimeError, IndexError, OverflowError) as error:
        wrong = [f"{name} must not be negative, and {n} is" for name, n in numbers.items() if n < 0]
        reason = "; ".join(wrong) or str(error)
        raise ValueError(
            f"{experiment.encoding} and {experiment.architecture} do not make a model: {reason}"
        ) from error
    # With gradients and two means.
    refuse_memory("the model", 4 * 4 * sum(weight.numel() for weight in model.parameters()))
    return model


def refuse_memory(what: str, size: int, when: str = " in training") -> None:
    if size > MEMORY:
        needed = f"{what} would take {size / 2**30:,.0f} GB{when}, beyond {MEMORY // 2**30} GB, the most"
        raise ValueError(f"{needed}: choose something smaller")
