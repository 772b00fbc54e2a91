"""Where runs live below a folder of results, by the names of their experiments, arms and seeds."""

import re
from pathlib import Path

from digitwise.runs.experiment import Experiment
from digitwise.runs.folder import Run
from digitwise.runs.written import changes_in_words


def stage_before(run: Run) -> Run | None:
    """The run that this one starts from, if any."""
    before = run.experiment.after
    return run.beside(before) if before else None


def seconds(run: Run) -> float:
    """Time spent training a run and the stages before it, as far as they are there."""
    before = run.experiment.after
    earlier = seconds(Run(run.stage_folder(before), before)) if before else 0.0
    return run.seconds() + earlier


def home(root: Path, arm: str, experiment: Experiment, recipe: Experiment | None = None) -> Path:
    """Where the run of an experiment lives below a folder of results; what was changed in a recipe's shows."""
    changed = "" if recipe is None else changes_in_words(recipe, experiment)
    name = "-".join(part for part in (arm, changed, f"seed{experiment.seed}") if part)
    return below(root, experiment.name, name)


def find_runs(root: Path) -> list[Run]:
    """All runs below a folder, those that cannot be read left out."""
    found = []
    for path in sorted(Path(root).glob("**/config.json")):
        try:
            found.append(Run.open(path.parent))
        except ValueError:
            continue
    return found


def below(root: Path, *names: str) -> Path:
    """A path below a folder, by names of which none can lead out of it."""
    for name in names:
        if not re.fullmatch(r"[^./\\:\x00-\x1f][^/\\:\x00-\x1f]*", name):
            raise ValueError(f"'{name}' cannot name a folder of results: use letters, digits, dots and dashes")
    return Path(root, *names)
