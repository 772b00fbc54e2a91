"""Where runs live below a folder of results, by the names of their experiments, arms and seeds."""

from pathlib import Path

from digitwise.runs.experiment import Experiment
from digitwise.runs.folder import Run
from digitwise.runs.written import changes_in_words


def open_or_create(folder: Path, experiment: Experiment) -> Run:
    """The run of an experiment in a folder; a folder with another experiment is refused."""
    if not (folder / "config.json").exists():
        return Run.create(folder, experiment)
    run = Run.open(folder)
    if run.experiment != experiment:
        raise ValueError(f"{folder} holds another experiment: choose another --out, or remove it")
    return run


def stage_before(run: Run) -> Run | None:
    """The run that this one starts from, if any. It stands beside it under its own name: several runs can share it."""
    before = run.experiment.after
    return open_or_create(_beside(run, before), before) if before else None


def seconds(run: Run) -> float:
    """Time spent training a run and the stages before it, as far as they are there."""
    before = run.experiment.after
    earlier = seconds(Run(_beside(run, before), before)) if before else 0.0
    return run.seconds() + earlier


def _beside(run: Run, before: Experiment) -> Path:
    return run.folder.parent.parent / before.name / run.folder.name


def home(root: Path, arm: str, experiment: Experiment, recipe: Experiment | None = None) -> Path:
    """Where the run of an experiment lives below a folder of results; what was changed in a recipe's shows."""
    changed = "" if recipe is None else changes_in_words(recipe, experiment)
    return Path(root) / experiment.name / "-".join(part for part in (arm, changed, f"seed{experiment.seed}") if part)


def find_runs(root: Path) -> list[Run]:
    """All runs below a folder, those that cannot be read left out."""
    found = []
    for path in sorted(Path(root).glob("**/config.json")):
        try:
            found.append(Run.open(path.parent))
        except ValueError:
            continue
    return found
