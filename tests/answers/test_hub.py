"""What may be shared in one card, and where it may be written."""

import resource
from dataclasses import replace
from pathlib import Path

import pytest
from small import SMALL

from digitwise.answers.solver import Solver
from digitwise.cli import main
from digitwise.runs.folder import Run
from digitwise.runs.training import train


@pytest.fixture(scope="module")
def seeds(tmp_path_factory) -> list[Run]:
    root, runs = tmp_path_factory.mktemp("runs"), []
    for seed in range(2):
        runs.append(Run.create(root / f"small-seed{seed}", replace(SMALL, seed=seed)))
        train(runs[-1])
    return runs


def refused(capsys, runs: list[Run], to: Path) -> str:
    """The one line that says why runs are not shared."""
    before = sorted(to.rglob("*")) if to.is_dir() else []
    assert main(["share", *(str(run.folder) for run in runs), "--name", "mine", "--to", str(to)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert (sorted(to.rglob("*")) if to.is_dir() else []) == before
    return error


def test_seeds_of_one_experiment_are_shared(seeds, tmp_path, capsys):
    (tmp_path / "mine").mkdir()  # an empty folder is as good as none
    assert main(["share", *(str(run.folder) for run in seeds), "--name", "mine", "--to", str(tmp_path / "mine")]) == 0
    assert "**Seeds**: 0, 1" in (tmp_path / "mine" / "card.md").read_text()
    assert Solver.from_folder(tmp_path / "mine").name == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_unrelated_runs_do_not_share_a_card(seeds, tmp_path, capsys):
    other = Run.create(tmp_path / "other-seed1", replace(SMALL, seed=1, name="other"))
    error = refused(capsys, [seeds[0], other], tmp_path / "mine")
    assert str(other.folder) in error and "differ in their seed alone" in error


def test_a_seed_is_named_once(seeds, tmp_path, capsys):
    copy = Run.create(tmp_path / "copy", seeds[0].experiment)
    assert "one run per seed" in refused(capsys, [seeds[0], copy], tmp_path / "mine")
    assert "seed 1 is named more than once" in refused(capsys, [seeds[1], seeds[1]], tmp_path / "mine")


def test_nothing_that_is_there_is_overwritten(seeds, tmp_path, capsys):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    assert "there already: choose a new folder" in refused(capsys, seeds[:1], tmp_path / "mine")
    (tmp_path / "file").write_text("mine")
    assert "there already: choose a new folder" in refused(capsys, seeds[:1], tmp_path / "file")


def test_a_run_is_never_the_target(seeds, tmp_path, capsys):
    config = (seeds[0].folder / "config.json").read_text()
    assert "the run's own folder" in refused(capsys, seeds[:1], seeds[0].folder)
    assert "the run's own folder" in refused(capsys, seeds[:1], seeds[0].folder / "shared")
    assert "there already" in refused(capsys, seeds[:1], seeds[1].folder)
    assert (seeds[0].folder / "config.json").read_text() == config


def test_a_full_disk_is_one_line_and_leaves_nothing(seeds, tmp_path, capsys):
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, limit[1]))
    try:
        error = refused(capsys, seeds[:1], tmp_path / "mine")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert "cannot be written" in error and not list(tmp_path.iterdir())
