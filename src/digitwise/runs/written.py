"""Experiments as they are written: in a config.json, in the name of a folder, on the command line, and in legends."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from digitwise.config import describe, find_field, override, restore, successor
from digitwise.data import DISTRIBUTIONS
from digitwise.encodings import ENCODINGS
from digitwise.models import ARCHITECTURES
from digitwise.runs.experiment import Experiment, Testing, Training
from digitwise.tables import flat, read_json
from digitwise.tasks import TASKS

FORMAT = 2
"""Of config.json; format 1 is still read."""
MOST = 60
"""Letters of what differs between experiments, in a legend."""
MOVED = ("training.factor", "training.checkpoints")
"""What counts in a stage without steps."""
#: Names that stand for whole objects on the command line.
CHOICES: dict[str, dict[str, Any]] = {
    "task": TASKS,
    "data": DISTRIBUTIONS,
    "encoding": ENCODINGS,
    "architecture": ARCHITECTURES,
}


def classes() -> dict[str, Any]:
    """Our classes that a config file may name; what is added to the registries counts at once."""
    parts = (Training, Testing, Experiment)
    return {found.__name__: found for found in (*(c for known in CHOICES.values() for c in known.values()), *parts)}


def changed(experiment: Experiment, changes: Mapping[str, str]) -> Experiment:
    """An experiment with fields changed by name, as `config.override` does. Names without a stage are about the last
    one; where that has no steps and only moves weights to its canvas, a change of its training would do nothing."""
    found: Experiment = override(experiment, changes, CHOICES)
    for name in changes if found.training.steps == 0 else ():
        path = find_field(found, name)
        if path.startswith(("data", "training.")) and path not in MOVED:
            raise ValueError(f"--{name} changes nothing: {found.name} has no steps of training; try --after.{path}")
    return found


def changes_in_words(recipe: Experiment, experiment: Experiment) -> str:
    """What was changed in a recipe's experiment, for a file name: `encoding=uniform-steps=500`, or a hash where that is
    long. Name and seed have places of their own."""
    words: dict[str, str] = {}
    shared = {name: getattr(experiment, name) for name in ("encoding", "architecture", "seed")}
    earlier = {"after": recipe.after and replace(recipe.after, **shared)}
    for part in (f.name for f in fields(Experiment) if f.name not in ("name", "seed")):
        old, new = earlier.get(part, getattr(recipe, part)), getattr(experiment, part)
        if type(old) is not type(new):
            known = {kind: name for name, kind in CHOICES[part].items()}
            words[part] = known.get(type(new), type(new).__name__)
            old = successor(old, type(new))
        before, after = flat(describe(old), part), flat(describe(new), part)
        for path in (path for path, value in after.items() if before.get(path) != value):
            name = path.removesuffix(".kind").rpartition(".")[2]
            words[path if name in words else name] = _word(after[path])
    text = re.sub(r"[^\w.,=+-]", "_", "-".join(f"{name}={word}" for name, word in words.items()))
    return text if len(text) <= 80 else f"changed-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _word(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(_word, value))
    return f"{value:g}" if isinstance(value, float) else str(value).lower()


def read_experiment(path: Path) -> Experiment:
    """Return the experiment that a config.json describes, also of an earlier format."""
    data = read_json(path)
    if not isinstance(data, dict) or data.get("format") not in (1, FORMAT):
        raise ValueError(f"{path} is not of format {FORMAT}, the one this version reads")
    if unknown := set(data) - {"format", "experiment", "name"}:
        raise ValueError(f"{path} has an unknown key '{min(unknown)}': this version does not read it")
    try:
        described = data["experiment"]
        experiment = restore(_upgraded(described) if data["format"] == 1 else described, classes())
        if not isinstance(experiment, Experiment):
            raise ValueError(f"it holds {type(experiment).__name__}")
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path} does not describe an experiment: {error}") from error
    return experiment


def _upgraded(old: dict[str, Any]) -> dict[str, Any]:
    """An experiment of format 1: models without a canvas had no architecture of their own, `ByColumn` said whether
    there were products, and lengths could be shared."""

    def mend(part: Any) -> Any:
        if isinstance(part, list):
            return [mend(item) for item in part]
        if not isinstance(part, dict):
            return part
        gone = {"ByColumn": {"products"}, "UniformLengths": {"equal"}}.get(part.get("kind", ""), set())
        return {name: mend(value) for name, value in part.items() if name not in gone}

    new = mend(old)
    if new.get("kind") == "Experiment" and new["task"]["kind"] == "Arithmetic":
        kept = ("layers", "width", "heads", "feedforward", "dropout")
        new["architecture"] = {"kind": "Columns"} | {name: new["architecture"][name] for name in kept}
    return new


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
