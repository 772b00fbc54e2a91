"""Code of one's own: one of each, from a file outside the package, by name, and never imported by a run folder."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from digitwise import config as names
from digitwise.cli import main
from digitwise.runs.folder import Run

TRAIN = ["train", "quickstart", "--profile", "smoke", "--arm", "relative"]
DOCS = Path(__file__).parent.parent / "docs"
MINE = '''
"""One of each: an encoding, a task, a distribution, a suite, an architecture and a recipe."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

import digitwise as dw
from digitwise.data.suites import drawn
from digitwise.models.encoder import slot_positions
from digitwise.paper import Recipe


@dataclass(frozen=True)
class Sides(dw.Pairwise):
    """Before, at and after the token."""

    any_length = True

    def num_classes(self, extent):
        return 3

    def classes(self, coordinates, extent):
        return (coordinates.position[:, None] - coordinates.position[None, :]).sign() + 1


@dataclass(frozen=True)
class Zeros(dw.Addition):
    """Sums whose answer is always 0."""

    def solve(self, problems):
        return np.zeros((len(problems), problems.width + 1), dtype=np.uint8)


@dataclass(frozen=True)
class Fours(dw.Distribution):
    """Numbers made of fours."""

    max_length: int = 3

    def width(self, longest):
        return self.max_length

    def draw(self, rng, count, numbers, longest):
        return np.full((count, numbers, self.max_length), 4, dtype=np.uint8)


FOURS = dw.Suite("fours", 1, lambda task, lengths: [drawn(task, n, "", Fours(n)) for n in lengths], what="Fours.")


@dataclass(frozen=True)
class Recurrent(dw.Blueprint):
    """A GRU that reads the tokens in both directions."""

    width: int = 8

    def build(self, encoding, extent, symbols, answers):
        return Reader(self.width, symbols, answers)


class Reader(dw.Model):
    def __init__(self, width, symbols, answers):
        super().__init__()
        self.embedding = nn.Embedding(symbols, width)
        self.layers = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.readout = nn.Linear(2 * width, answers)

    def forward(self, tokens_BN, coordinates):
        states, _ = self.layers(self.embedding(tokens_BN.long()))
        slots = slot_positions(coordinates.map(torch.as_tensor))
        return self.readout(states[:, slots])


def experiments(profile):
    return {"mine": dw.Experiment(
        name="mine", task=Zeros(6), data=Fours(), encoding=Sides(), architecture=Recurrent(),
        testing=dw.Testing(lengths=(2, 3), validation_lengths=(3,)),
    )}


RECIPE = Recipe("mine", "All of these at once.", experiments)
'''


@pytest.fixture
def mine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(names, "_LOADED", {})
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path


def digitwise(*arguments: str, code: int = 0) -> subprocess.CompletedProcess:
    result = subprocess.run([sys.executable, "-m", "digitwise", *arguments], capture_output=True, text=True)
    assert result.returncode == code, result.stderr
    return result


def test_one_of_each_from_a_recipe_in_a_file(mine):
    """A real process each: what one has imported, the other does not have."""
    digitwise("reproduce", "mine.py:RECIPE", "--profile", "smoke", "--seeds", "0")
    folder = "runs/mine/mine-seed0"
    config = json.loads(Path(folder, "config.json").read_text())["experiment"]
    assert config["encoding"] == {"kind": "Sides", "from": "mine.py:Sides", "deviation": 0.02}
    assert {config[part]["from"] for part in ("task", "data", "architecture")} == {
        "mine.py:Zeros", "mine.py:Fours", "mine.py:Recurrent",
    }  # fmt: skip
    refused = digitwise("eval", folder, code=2)
    assert "Zeros comes from mine.py:Zeros" in refused.stderr and "--import mine.py:Zeros" in refused.stderr
    rows = digitwise(
        "eval", folder, "--import", "mine.py:RECIPE", "--suite", "mine.py:FOURS", "--lengths", "3", "--json"
    )
    assert [row["suite"] for row in json.loads(rows.stdout)] == ["fours"]


@pytest.mark.parametrize(
    ("field", "reference"),
    [("encoding", "Sides"), ("task", "Zeros"), ("data", "Fours"), ("architecture", "Recurrent")],
)
def test_each_as_an_option_of_train(mine, field, reference):
    assert (
        main(["train", "quickstart", "--profile", "smoke", "--arm", "relative", f"--{field}", f"mine.py:{reference}"])
        == 0
    )
    assert (
        json.loads(Path(f"runs/quickstart/relative-{field}={reference}-seed0/config.json").read_text())["experiment"][
            field
        ]["kind"]
        == reference
    )


def test_a_strangers_run_imports_nothing(mine, monkeypatch, capsys):
    assert main([*TRAIN, "--encoding", "mine.py:Sides"]) == 0
    folder = mine / "runs" / "quickstart" / "relative-encoding=Sides-seed0"
    config = folder / "config.json"
    config.write_text(config.read_text().replace("mine.py:Sides", "evil.py:Evil").replace('"Sides"', '"Evil"'))
    (mine / "evil.py").write_text("raise SystemExit('imported')")
    monkeypatch.setattr(names, "_LOADED", {})
    with pytest.raises(ValueError, match=r"Evil comes from evil.py:Evil.*--import evil.py:Evil"):
        Run.open(folder)


def test_an_installed_package_offers_what_it_has(mine, monkeypatch, capsys):
    """A real distribution on the path, as pip would install it."""
    (mine / "nearby.py").write_text(MINE)
    info = mine / "nearby-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: nearby\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[digitwise.encodings]\nsides = nearby:Sides\n")
    monkeypatch.syspath_prepend(str(mine))
    assert main([*TRAIN, "--encoding", "sides"]) == 0
    monkeypatch.setattr(names, "_LOADED", {})
    run = Run.open(mine / "runs" / "quickstart" / "relative-encoding=Sides-seed0")  # it was installed, so it is trusted
    assert type(run.experiment.encoding).__name__ == "Sides"
    assert main(["train", "quickstart", "--encoding", "side"]) == 2
    assert "did you mean sides" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("nowhere.py:X", "there is no file nowhere.py"),
        ("mine.py:Side", "did you mean Sides"),
        ("no.such.module:X", "cannot be imported"),
        ("mine.py:", "does not name code"),
        ("broken.py:X", "ZeroDivisionError"),
        ("mine.py:FOURS", "must be a frozen dataclass"),
    ],
)
def test_code_that_cannot_be_used_is_named(mine, reference, message, capsys):
    (mine / "broken.py").write_text("1 / 0")
    assert main(["train", "quickstart", "--encoding", reference]) == 2
    captured = capsys.readouterr().err
    assert message in captured and captured.count("\n") == 1
    assert not (mine / "runs").exists()


@pytest.mark.parametrize("page", ["adding-an-encoding.md", "adding-a-task.md"])
def test_the_pages_about_adding_are_short_and_true(page, tmp_path, monkeypatch):
    text = (DOCS / page).read_text()
    assert len(text.splitlines()) < 40
    monkeypatch.chdir(tmp_path)
    code, commands = re.findall(r"```(?:python)?\n(.*?)```", text, re.DOTALL)
    Path("mine.py").write_text(code)
    for line in commands.splitlines():
        command = [sys.executable if word == "python" else word for word in shlex.split(line)]
        command = [sys.executable, "-m", *command] if command[0] == "digitwise" else command
        result = subprocess.run(command, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
