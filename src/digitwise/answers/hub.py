"""Models for others: a folder with weights, configuration and card, and the same on the Hugging Face hub.

The only file that imports huggingface_hub, and only when something is sent or fetched.
"""

import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from safetensors import SafetensorError

from digitwise import tables
from digitwise.answers.solver import CARD, Solver, bundled, load
from digitwise.machines import certificate
from digitwise.runs.certify import Report, certify
from digitwise.runs.folder import Run
from digitwise.runs.places import seconds
from digitwise.runs.results import over_seeds

EXAMPLE = {"+": "123 + 4095", "-": "900 - 1", "*": "56 * 4297", "?": "3 ? 12", "/": "1000 / 7"}


def bundle(runs: Sequence[Run], name: str, folder: Path) -> Path:
    """The model of the first run, with a card about all of them: other seeds of the same experiment.

    It is written beside its place and moved there, so a full disk leaves nothing half done.
    """
    folder = Path(folder)
    refuse_mixture(runs)
    refuse_target(runs, folder)
    solver = Solver.from_folder(runs[0].folder)
    experiment = solver.experiment
    report = certify(experiment, solver.model) if experiment.training.until_proven else None
    report = report if report is not None and report.verdict == "proven" else None
    solver.name, solver.card = name, card(runs, name, report)
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        solver.save_pretrained(temporary)
        if report is not None:
            certificate.write(report.certificate(temporary / "weights.safetensors"), temporary / certificate.FILE)
        temporary.replace(folder)  # an empty folder gives way
    except (OSError, SafetensorError) as error:
        reason = " ".join(str(getattr(error, "strerror", None) or error).split())
        raise ValueError(f"{folder} cannot be written, and nothing was left there: {reason}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return folder


def refuse_mixture(runs: Sequence[Run]) -> None:
    """One card is about one experiment: runs may differ in their seed alone, and each seed is named once."""
    first = runs[0]
    for run in runs[1:]:
        if replace(run.experiment, seed=first.experiment.seed) != first.experiment:
            raise ValueError(
                f"{run.folder} is not a seed of the experiment in {first.folder}: share runs of one experiment that"
                " differ in their seed alone, and other runs with a --to of their own"
            )
    seeds = [run.experiment.seed for run in runs]
    twice = next((seed for seed in seeds if seeds.count(seed) > 1), None)
    if twice is not None:
        same = " and ".join(str(run.folder) for run in runs if run.experiment.seed == twice)
        raise ValueError(f"seed {twice} is named more than once, in {same}: name one run per seed")


def refuse_target(runs: Sequence[Run], folder: Path) -> None:
    """Nothing that is there is overwritten, a run least of all."""
    target = folder.resolve()
    for run in runs:
        own = run.folder.resolve()
        if target == own or own in target.parents:
            raise ValueError(f"--to {folder} is in the run's own folder {run.folder}: choose a new folder elsewhere")
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise ValueError(f"--to {folder} is there already: choose a new folder, or remove this one")


def card(runs: Sequence[Run], name: str, proof: Report | None = None) -> str:
    """What a model is, what it learned from, how long that took, and how far it was proven or tested."""
    experiment = runs[0].experiment
    kinds = experiment.task.kinds
    operators = {kind.operator for kind in kinds}
    steps = runs[0].select("last")[0]
    minutes = ", ".join(f"{seconds(run) / 60:.0f}" for run in runs)
    seeds = ", ".join(str(run.experiment.seed) for run in runs)
    rows = over_seeds(runs)
    measured = tables.text(rows) if rows else "not tested yet"
    sure = "It can be wrong: the table says how often it was."
    if proof is not None:
        sure = f"Proven: {certificate.THEOREMS[proof.claim]}\n  ({proof.situations:,} situations checked, none wrong)."
    supported = ", ".join(map(str, kinds))
    limits = "numbers from 0 up, written in decimal digits"
    if proof is None:
        limits += "; differences with the larger number first" * ("-" in operators)
    sizes = [kind.size for kind in kinds if kind.operator == "*" and proof is None]
    limits += f"; multipliers of at most {max(sizes)} digits" if sizes else ""
    limits += f"; numbers of at most {experiment.task.longest} digits" if experiment.task.longest else ""
    return f"""---
license: mit
library_name: digitwise
tags: [arithmetic, length-generalization]
---

# digitwise: {name}

A transformer for: {supported}. `digitwise solve "{EXAMPLE[kinds[0].operator]}" --model {name}`
(or, if it does not come with the package, the folder it stands in).

- **Data**: problems with numbers of at most {experiment.trained_length} digits, made anew in every step
  ({steps:,} steps of {experiment.training.batch}); no longer number was ever shown.
- **Size**: {sum(p.numel() for p in experiment.build().parameters()):,} parameters.
- **Time**: {minutes} minutes on {runs[0].environment()["threads"]} core(s). **Seeds**: {seeds}; the weights are the
  last checkpoint of seed {experiment.seed}.
- **Limits**: {limits}. {sure}

Exact match, every symbol counted; the median over seeds and the worst seed:

```
{measured}
```
"""


def from_pretrained(name: str, revision: str | None = None) -> Solver:
    """A model from a folder, or from the hub by the name of its repository."""
    if Path(name).is_dir():
        return Solver.from_folder(Path(name))
    if name in bundled():
        return load(name)
    if name.count("/") != 1:
        raise ValueError(f"'{name}' is neither a folder nor a bundled model nor a repository such as owner/name")
    from huggingface_hub import snapshot_download

    return Solver.from_folder(Path(snapshot_download(name, revision=revision)))


def push_to_hub(solver: Solver, repository: str, private: bool = False, endpoint: str | None = None) -> str:
    """Send a model to the hub; huggingface_hub knows who you are. Returns where it is."""
    from huggingface_hub import HfApi

    api = HfApi(endpoint=endpoint)
    with TemporaryDirectory() as temporary:
        folder = solver.save_pretrained(Path(temporary) / "model")
        (folder / CARD).rename(folder / "README.md")  # the hub's name for a card
        api.create_repo(repository, private=private, exist_ok=True)
        return str(api.upload_folder(repo_id=repository, folder_path=folder, commit_message="digitwise model"))
