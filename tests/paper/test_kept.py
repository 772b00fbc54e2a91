"""Figures of kept results: drawn anew where they stand, from counts and measured rows, without weights."""

import json
import shutil
from pathlib import Path

import pytest

from digitwise.cli import main

COMMITTED = Path(__file__).parents[2] / "results" / "cpu"


@pytest.fixture
def results(tmp_path):
    """Counts of one recipe and measured rows of another, as they are committed: neither weights nor figures."""
    for folder in ("quickstart", "quickstart-8", "quickstart-8-sharp", "leak"):
        shutil.copytree(COMMITTED / folder, tmp_path / "kept" / folder, ignore=shutil.ignore_patterns("*.png"))
    return tmp_path / "kept"


def test_all_figures_of_a_folder_are_drawn_where_they_stand(results, capsys):
    assert main(["figure", str(results), "--json"]) == 0
    drawn = json.loads(capsys.readouterr().out)["figures"]
    assert set(drawn) == {str(results / "quickstart" / "accuracy.png"), str(results / "leak" / "leak.png")}
    assert all(Path(path).stat().st_size > 10_000 for path in drawn)


def test_mistakes(results, tmp_path, capsys):
    assert main(["figure", str(results), "--to", "x.svg"]) == 2
    assert "leave out the options" in capsys.readouterr().err
    assert main(["figure", str(tmp_path / "kept" / "leak")]) == 2
    assert "is not a run folder" in capsys.readouterr().err
