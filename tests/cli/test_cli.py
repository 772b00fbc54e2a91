"""Every command end to end, in real processes, on the smoke profile."""

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from digitwise.cli import main
from digitwise.cli.terminal import parse_numbers
from digitwise.paper import PROFILES, RECIPES, arms

COMMANDS = [
    "train", "eval", "ls", "figure", "reproduce", "claims", "explain", "complexity", "predict", "data", "score",
    "theory", "bench", "solve", "share", "sweep",
]  # fmt: skip


def digitwise(*arguments: str, code: int = 0, cwd: Path | None = None) -> subprocess.CompletedProcess:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "digitwise", *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment)
    assert result.returncode == code, result.stderr
    return result


def in_process(capsys, *arguments: str) -> str:
    assert main([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A recipe, trained and tested by a real process."""
    root = tmp_path_factory.mktemp("runs")
    result = digitwise("reproduce", "quickstart", "--profile", "smoke", "--out", root, "--json")
    return root, json.loads(result.stdout), result.stderr


def test_reproduce_trains_tests_and_draws(trained):
    root, document, progress = trained
    assert [row["digits"] for row in document["last"]] == [*range(1, 11), 20, 30, 40, 50]
    assert {"problems", "absolute", "absolute 95%", "relative", "relative 95%", "columns"} < set(document["last"][0])
    assert Path(document["figures"][0]).stat().st_size > 5000
    assert len(document["runs"]) == 3
    assert "train quickstart" in progress and "100%" in progress
    folder = root / "quickstart" / "relative-seed0"
    assert {path.name for path in folder.iterdir()} == {
        "config.json", "environment.json", "metrics.jsonl", "checkpoints", "counts.json",
    }  # fmt: skip


def test_reproduce_does_not_do_again_what_is_done(trained, capsys, monkeypatch):
    root, document, _ = trained
    monkeypatch.setattr("digitwise.runs.engine.Engine.step", lambda *_: pytest.fail("trained again"))
    table = in_process(capsys, "reproduce", "quickstart", "--profile", "smoke", "--out", root)
    assert "relative 95%" in table and document["figures"][0] in table


def test_eval_and_figure(trained, capsys):
    root, _, _ = trained
    folder = root / "quickstart" / "relative-seed0"
    rows = json.loads(in_process(capsys, "eval", folder, "--lengths", "2,4-5", "--checkpoints", "all", "--json"))
    assert [row["digits"] for row in rows] == [2, 4, 5] * 2
    assert rows[-1]["checkpoint"] == 20 and "last" in rows[-1]["which"]
    assert all(row["problems"] == 20 for row in rows)
    table = list(csv.DictReader(io.StringIO(in_process(capsys, "eval", folder, "--lengths", "2", "--csv"))))
    assert table[0]["digits"] == "2"
    drawn = json.loads(in_process(capsys, "figure", folder, "--json"))
    assert len(drawn["curves"]) == 2 and Path(drawn["figure"]).exists()
    both = in_process(capsys, "figure", folder, root / "quickstart" / "absolute-seed0", "--to", root / "both.svg")
    assert (root / "both.svg").read_text().startswith("<?xml") and str(root / "both.svg") in both


def test_train_changes_fields_and_shows_them(tmp_path, capsys):
    changes = ["--steps", "4", "--encoding=uniform", "--architecture.width", "24", "--arm", "relative"]
    out = in_process(capsys, "train", "quickstart", "--profile", "smoke", *changes, "--out", tmp_path, "--json")
    document = json.loads(out)
    assert document[0]["steps"] == 4
    config = json.loads((Path(document[0]["run"]) / "config.json").read_text())["experiment"]
    assert config["encoding"] == {"kind": "Uniform", "deviation": 0.0, "operand": 0, "reach": None}
    assert config["architecture"]["width"] == 24
    assert main(["train", "quickstart", "--profile", "smoke", "--arm", "relative", "--reach", "8", "--show"]) == 0
    assert "8" in capsys.readouterr().out
    shown = in_process(capsys, "train", "quickstart", "--show", *changes)
    assert "architecture.width" in shown and not (tmp_path / "runs").exists()


@pytest.mark.parametrize("what", ["recipes", "tasks", "encodings", "distributions", "suites", "runs"])
def test_ls(what, capsys, trained):
    rows = json.loads(in_process(capsys, "ls", what, "--json", *(["--out", trained[0]] if what == "runs" else [])))
    assert len(rows) >= 2
    assert all(row.get("name", row.get("run")) for row in rows)
    assert in_process(capsys, "ls", what)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_builds(name, profile):
    for experiment in arms(name, profile).values():
        if profile == "smoke":
            assert experiment.build()
        assert experiment.training.kept_steps[-1] == experiment.training.steps


def test_help_needs_no_torch():
    code = """
import sys
from digitwise.cli import main
try:
    main(["--help"])
except SystemExit:
    pass
assert not {"torch", "numpy", "matplotlib"} & set(sys.modules), "too much was imported"
"""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as exit_:
        main([command, "--help"])
    assert exit_.value.code == 0
    assert "--json" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "quikstart"], "did you mean quickstart"),
        (["train"], "name a recipe"),
        (["train", "quickstart", "--stpes", "5"], "did you mean --steps"),
        (["train", "quickstart", "--steps", "many"], "--steps: 'many' is not a number"),
        (["train", "quickstart", "--steps"], "needs a value"),
        (["train", "quickstart", "--encoding", "relativ"], "did you mean relative"),
        (["train", "quickstart", "--profile", "smoke", "--max_length", "30"], "canvas of at least 30"),
        (["train", "quickstart", "--profile", "gpu"], "no profile"),
        (["train", "quickstart", "--rate", "nan"], "rate must be a number"),
        (["train", "quickstart", "--feedforward", "-1"], "feedforward must not be negative"),
        (["train", "quickstart", "--name", "../away"], "it names a folder"),
        (["train", "m1-rpe", "--data", "nocarry"], "two summands"),
        (["train", "m1-rpe", "--multiplier", "0"], "multiplier must be at least 1"),
        (["eval", "nowhere", "--lengths", "1-9999999999"], "--lengths takes numbers"),
        (["reproduce", "quickstart", "nope", "--profile", "smoke"], "no recipe 'nope'"),
        (["complexity", "--base", "7"], "need a --length"),
        (["complexity", "--length", "5", "--kind", "levels", "--base", "7"], "base 10 only"),
        (["theory", "--alpha", "1e200"], "alpha must be"),
        (["train", "quickstart", "--arm", "uniform"], "no arm"),
        (["train", "--resume", "nowhere"], "is not a run folder"),
        (["eval", "nowhere"], "is not a run folder"),
        (["eval", "nowhere", "--foo"], "unknown option --foo"),
        (["figure", "nowhere"], "is not a run folder"),
        (["reproduce", "quickstart", "--seeds", "a"], "--seeds takes numbers"),
        (["bench", "nothing"], "invalid choice"),
        (["fly"], "invalid choice"),
    ],
)
def test_mistakes_get_one_line_and_write_nothing(arguments, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1
    assert message in captured.err
    assert not list(tmp_path.iterdir())


def test_a_length_beyond_the_canvas_names_the_canvas_that_would_do(trained, capsys):
    assert main(["eval", str(trained[0] / "quickstart" / "relative-seed0"), "--lengths", "11"]) == 2
    assert "canvas of at least 11" in capsys.readouterr().err


def test_damaged_and_foreign_folders_are_refused(trained, tmp_path, capsys, caplog):
    def refused(folder: Path, message: str) -> None:
        assert main(["eval", str(folder)]) == 2
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1

    def copy(name: str) -> Path:
        import shutil

        return Path(shutil.copytree(trained[0] / "quickstart" / "relative-seed0", tmp_path / name))

    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "config.json").write_text('{"model": "gpt"}')
    refused(tmp_path / "foreign", "not of format 2")
    cut = copy("cut")
    (cut / "config.json").write_text((cut / "config.json").read_text()[:80])
    refused(cut, "config.json is damaged")
    odd = copy("odd")
    (odd / "config.json").write_text((odd / "config.json").read_text().replace('"width"', '"breadth"'))
    refused(odd, "no field 'breadth'")
    weights = copy("weights")
    (weights / "counts.json").unlink()
    (weights / "checkpoints" / "20.safetensors").write_bytes(b"\x00" * 30)
    assert main(["eval", str(weights)]) == 0
    assert "20.safetensors is damaged" in caplog.text and "the checkpoint before it is used" in caplog.text
    assert " 10 " in capsys.readouterr().out
    other = copy("other")
    (other / "counts.json").unlink()
    (other / "config.json").write_text((other / "config.json").read_text().replace('"width": 16', '"width": 32'))
    refused(other, "does not fit its config.json")
    counts = copy("counts")
    (counts / "counts.json").write_text("[{]")
    refused(counts, "counts.json is damaged")
    empty = copy("empty")
    (empty / "metrics.jsonl").unlink()
    refused(empty, "no checkpoint yet")
    for name, text, message in (
        ("kind", '{"format": 1, "experiment": 5}', "does not describe an experiment"),
        ("task", '{"format": 1, "experiment": {"kind": "Addition", "canvas": 3}}', "it holds Addition"),
    ):
        wrong = copy(name)
        (wrong / "config.json").write_text(text)
        refused(wrong, message)
    for name, text in (("listed", "{}"), ("fields", '[{"a": 1}]'), ("numbers", "[1]")):
        wrong = copy(name)
        (wrong / "counts.json").write_text(text)
        refused(wrong, "counts.json is damaged")
    garbled = copy("garbled")
    (garbled / "metrics.jsonl").write_text("garbage\n" + (garbled / "metrics.jsonl").read_text())
    refused(garbled, "metrics.jsonl is damaged in line 1")
    bare = copy("bare")
    (bare / "counts.json").unlink()
    (bare / "checkpoints" / "20.safetensors").unlink()
    refused(bare, "not the weights of step 20")


def test_a_folder_in_use_is_not_overwritten(trained, capsys):
    assert main(["train", "quickstart", "--profile", "smoke", "--out", str(trained[0])]) == 2
    assert "is there already" in capsys.readouterr().err
    assert main(["reproduce", "quickstart", "--profile", "cpu", "--seeds", "0", "--out", str(trained[0])]) == 2
    assert "holds another experiment" in capsys.readouterr().err


def test_bench_data_prints_rates(capsys):
    result = json.loads(in_process(capsys, "bench", "data", "--smoke", "--repeats", "1", "--json"))
    assert all(row["sides"]["ours"]["median"] > 0 for row in result["rows"])
    assert "a loop in Python" in in_process(capsys, "bench", "data", "--smoke", "--repeats", "1")


def test_explain_and_complexity(capsys):
    assert json.loads(in_process(capsys, "explain", "99 + 1", "--json"))["answer"] == "100"
    assert "Cascades: 6" in in_process(capsys, "explain", "987654", "+", "12347")
    law = json.loads(in_process(capsys, "complexity", "--length", "5", "--json"))
    assert law["probabilities"][1] == 0.7757465625 and len(law["exact"]) == 6
    assert "paper has 0.998" in in_process(capsys, "complexity")
    for arguments, message in [
        (["explain", "12 + x"], "problem"),
        (["complexity", "--length", "0"], "at least 1"),
        (["complexity", "--length", "5", "--base", "1"], "base of at least 2"),
    ]:
        assert main(arguments) == 2
        assert message in capsys.readouterr().err


def test_predict(trained, capsys):
    folder = trained[0] / "quickstart" / "relative-seed0"
    arguments = ["--at", "5", "--lengths", "3,50", "--problems", "10"]
    document = json.loads(in_process(capsys, "predict", folder, *arguments, "--json"))
    assert [row["length"] for row in document["rows"]] == [3, 50]
    assert "measured" in document["rows"][0] and Path(document["figure"]).exists()


def test_complexity_figures(tmp_path, capsys):
    document = json.loads(in_process(capsys, "reproduce", "complexity", "--out", tmp_path, "--json"))
    assert len(document["figures"]) == 4 and all(Path(path).exists() for path in document["figures"])
    assert main(["figure", "complexity"]) == 2
    assert "digitwise reproduce complexity" in capsys.readouterr().err


def test_theory_of_ones_own(capsys):
    small = ["--n", "15", "--n-1", "5", "--d", "20", "--seeds", "0", "--steps", "200"]
    rows = json.loads(in_process(capsys, "theory", *small, "--json"))
    assert [row["setting"] for row in rows] == ["ape", "ape-shifts", "rpe"]
    assert len(rows[0]["by_position"]) == 15
    for arguments, message in [
        (["--n-1", "60"], "must not exceed n"),
        (["--decay=-1"], "decay must be 0 or more"),
        (["--step", "5"], "diverged by step 1"),
        (["--beta", "x"], "--beta takes numbers"),
    ]:
        assert main(["theory", *arguments]) == 2
        error = capsys.readouterr().err
        assert message in error and "nan" not in error


def test_numbers_on_the_command_line():
    assert parse_numbers("1-3,7", "--lengths") == [1, 2, 3, 7]
    with pytest.raises(ValueError, match="--lengths"):
        parse_numbers("3-", "--lengths")
