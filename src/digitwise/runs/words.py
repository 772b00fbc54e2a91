"""Experiments in words, for legends and titles: what was trained, not the name of a folder."""

import re
from collections.abc import Sequence

from digitwise.config import describe
from digitwise.runs.experiment import Experiment
from digitwise.tables import flat

MOST = 60
"""Letters of what differs between experiments, in a legend."""


def in_words(experiment: Experiment) -> str:
    """How a model sees where digits stand, in a word or two: `relative positions`, `columns`."""
    if experiment.task.longest is None:
        return "columns"
    parts = getattr(experiment.encoding, "parts", (experiment.encoding,))
    names = [re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(part).__name__).lower() for part in parts]
    return f"{' and '.join(names)} positions"


def told_apart(experiments: Sequence[Experiment]) -> list[str]:
    """One label per experiment: its positions and, where these are not enough, the fields in which they differ. Seeds
    alone make no difference: they are the same experiment again."""
    labels = [in_words(experiment) for experiment in experiments]
    described = [flat(describe(experiment)) for experiment in experiments]
    paths = dict.fromkeys(path for one in described for path in one if path not in ("seed", "name"))
    differ = [path for path in paths if len({str(one.get(path)) for one in described}) > 1]
    if len(set(labels)) == len({str([one.get(path) for path in differ]) for one in described}):
        return labels
    objects = tuple(path.removesuffix("kind") for path in differ if path.endswith(".kind"))
    told = [path for path in differ if path.endswith(".kind") or not path.startswith(objects)]
    told = [path for path in told if not path.startswith("encoding.kind")]
    more = [
        ", ".join(f"{path.removesuffix('.kind').rpartition('.')[2].replace('_', ' ')} {one.get(path)}" for path in told)
        for one in described
    ]
    if len(set(zip(labels, more, strict=True))) == len(set(labels)) or max(map(len, more)) > MOST:
        more = [experiment.name for experiment in experiments]  # recipes that differ in much
    return [", ".join(part for part in both if part) for both in zip(labels, more, strict=True)]
