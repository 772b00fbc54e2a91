"""What a demanding new user tried, and what must not surprise."""

import csv
import io
import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from digitwise import tables
from digitwise.cli import main, split_changes
from digitwise.runs import evaluation, results
from digitwise.runs.folder import Run

SMOKE = ["--profile", "smoke"]


def succeeds(capsys, *arguments) -> str:
    assert main([str(argument) for argument in arguments]) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def refused(capsys, *arguments) -> str:
    assert main([str(argument) for argument in arguments]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "Traceback" not in error
    return error


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Runs of two tasks, and two of one name; the first is tested on two suites."""
    root = tmp_path_factory.mktemp("runs")
    for out, recipe, arm, *changes in (
        ("a", "quickstart", "relative"),
        ("b", "quickstart", "relative", "--encoding", "uniform", "--seed", "1"),
        ("c", "m1-rpe", "relative"),
    ):
        assert main(["train", recipe, *SMOKE, "--arm", arm, "--out", str(root / out), *changes]) == 0
    (root / "b" / "quickstart" / "relative-encoding=uniform-seed1").rename(root / "b" / "quickstart" / "relative-seed0")
    for run in sorted(path.parent for path in root.rglob("config.json")):
        assert main(["eval", str(run), "--lengths", "1-4", "--problems", "10"]) == 0
        assert main(["eval", str(run), "--suite", "places", "--lengths", "1-9", "--problems", "10"]) == 0
    return root


# train


@pytest.mark.parametrize(
    "line",
    [
        "train --steps 3 quickstart --profile smoke --show",
        "train quickstart --steps 3 --profile smoke --show",
        "train --show --steps=3 --profile=smoke quickstart",
        "train --profile smoke --steps 3 --arm relative quickstart --show",
    ],
)
def test_fields_stand_before_or_after_the_recipe(line, capsys):
    shown = succeeds(capsys, *line.split(), "--json")
    assert {arm["training"]["steps"] for arm in json.loads(shown).values()} == {3}


def test_the_command_line_is_split_into_options_and_fields():
    assert split_changes(["train", "--steps", "3", "q", "--arm", "a", "--reach=-1", "--show"]) == (
        ["train", "q", "--arm", "a", "--show"],
        {"steps": "3", "reach": "-1"},
    )
    assert split_changes(["eval", "--steps", "3"]) == (["eval", "--steps", "3"], {})
    with pytest.raises(ValueError, match="--steps needs a value"):
        split_changes(["train", "q", "--steps", "--arm", "a"])


def test_ranges_are_numbers_everywhere(capsys):
    shown = succeeds(
        capsys, "train", "quickstart", *SMOKE, "--lengths", "1-3,5", "--arm", "relative", "--show", "--json"
    )
    assert json.loads(shown)["relative"]["testing"]["lengths"] == [1, 2, 3, 5]
    assert "numbers such as 1-20" in refused(capsys, "train", "quickstart", "--lengths", "1-x")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["theory"], "trains no model: digitwise reproduce theory"),
        (["quickstart", "--arm", "relative", "--reach=-1"], "encoding.reach must not be negative, and -1 is"),
        (["quickstart", "--canvas", "1000000"], "1,000,000 places is beyond 100,000"),
        (["quickstart", "--arm", "relative", "--after.training.batch", "1000000000000"], "GB in training"),
        (["quickstart", "relative"], "'relative' is one argument too many"),
        (["--resume", "somewhere", "--steps", "3"], "--resume goes on with a run as it is"),
    ],
)
def test_what_cannot_be_trained_is_one_line(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert message in refused(capsys, "train", *arguments)
    assert not list(tmp_path.iterdir())


def test_train_says_what_it_trains_and_two_variants_live_side_by_side(capsys, tmp_path):
    quick = ["train", "quickstart", *SMOKE, "--steps", "1", "--arm", "relative", "--out", str(tmp_path)]
    for encoding in ("uniform", "by-place"):
        assert main([*quick, "--encoding", encoding]) == 0
        name = f"relative-encoding={encoding}-steps=1-seed0"
        assert f"training 1 model of quickstart: {tmp_path}/quickstart/{name} (1 steps)" in capsys.readouterr().err
        assert (tmp_path / "quickstart" / name / "config.json").exists()
    assert "is there already: go on with --resume" in refused(capsys, *quick, "--encoding", "uniform")


@pytest.mark.parametrize("data", ["exact", "shifted", "nocarry"])
def test_other_data_keep_the_recipes_length(data, capsys):
    def trained_length(*changes: str) -> int:
        shown = json.loads(succeeds(capsys, "train", "a3", "--profile", "paper", "--show", "--json", *changes))
        found = shown["absolute"]["data"]
        found = found.get("base", found)
        return found.get("max_length", found.get("length"))

    assert trained_length("--data", data) == trained_length() == 5


# eval


def test_eval_names_its_suite_in_what_to_do_next(root, capsys):
    folder = root / "a" / "quickstart" / "relative-seed0"
    out = succeeds(capsys, "eval", folder, "--suite", "places", "--lengths", "2", "--problems", "5")
    assert out.rstrip().endswith(f"digitwise figure {folder} --suite places")


def test_mistakes_are_shown_and_every_prediction_is_written(root, capsys, tmp_path):
    folder = root / "a" / "quickstart" / "relative-seed0"
    asked = ["eval", folder, "--lengths", "2-3", "--problems", "8", "--seed", "5", "--checkpoints", "all"]
    out = succeeds(capsys, *asked, "--errors", "2", "--dump", tmp_path / "all.jsonl")
    assert out.count("  answer  ") == out.count("  model   ") == 2
    lines = out.splitlines()
    marked = lines.index(next(line for line in lines if line.startswith("  answer")))
    answer, model, marks = (line[10:].ljust(20) for line in lines[marked : marked + 3])
    differ = [said != right for said, right in zip(model, answer, strict=True)]
    assert [mark == "^" for mark in marks] == differ and "+" in lines[marked - 1]
    rows = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert len(rows) == len({row["id"] for row in rows}) == 2 * 2 * 8
    for row in rows:
        first, second = row["problem"].split(" + ")
        assert int(row["answer"]) == int(first) + int(second)
        assert row["right"] == (row["response"] == row["answer"]) == (row["places"] == [])
    document = json.loads(succeeds(capsys, *asked, "--errors", "3", "--json"))
    right = sum(count["correct"] for count in document["rows"])
    assert right == sum(row["right"] for row in rows) and len(document["errors"]) == 3
    assert "takes a new file" in refused(capsys, *asked, "--dump", tmp_path / "all.jsonl")
    assert "takes a new file" in refused(capsys, *asked, "--dump", tmp_path / "all.txt")
    assert "must not be negative" in refused(capsys, *asked, "--errors=-1")


def test_predictions_as_parquet(root, capsys, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "all.parquet"
    folder = root / "a" / "quickstart" / "relative-seed0"
    succeeds(capsys, "eval", folder, "--lengths", "2", "--problems", "6", "--checkpoints", "last", "--dump", file)
    assert len(parquet.read_table(file).to_pylist()) == 6


def test_ctrl_c_keeps_what_was_counted(root, capsys, monkeypatch):
    folder = root / "a" / "quickstart" / "relative-seed0"
    original, calls = evaluation.answer, []

    def interrupted(*given):
        calls.append(given)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(*given)

    monkeypatch.setattr(evaluation, "answer", interrupted)
    assert main(["eval", str(folder), "--seed", "9", "--lengths", "1-3", "--checkpoints", "last"]) == 130
    captured = capsys.readouterr()
    assert "what was counted is kept" in captured.err and "Traceback" not in captured.err
    assert [count.length for count in Run.open(folder).counts() if count.seed == 9] == [1]


def test_ctrl_c_while_the_program_starts(tmp_path):
    """A module that is interrupted while it is imported, as the first one is that a signal meets."""
    (tmp_path / "difflib.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    for command in (["-m", "digitwise", "ls", "suites"], ["-c", "from digitwise.cli import main"]):
        result = subprocess.run([sys.executable, *command], capture_output=True, text=True, cwd=tmp_path)
        assert (result.returncode, result.stderr, result.stdout) == (130, "digitwise: interrupted\n", "")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_inside_exec(tmp_path):
    """As when dataclasses are made: with -m Python itself would die by it in the end."""
    stops = 'exec("import os, signal; os.kill(os.getpid(), signal.SIGINT)")'
    (tmp_path / "mine.py").write_text(f"{stops}\n")
    command = [sys.executable, "-m", "digitwise", "train", "quickstart", "--show", "--import", "mine.py:X"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (result.returncode, result.stderr, result.stdout) == (130, "digitwise: interrupted\n", "")


# figure


def test_two_runs_of_one_name_are_told_apart(root, capsys, tmp_path):
    runs = [root / out / "quickstart" / "relative-seed0" for out in ("a", "b")]
    drawn = json.loads(succeeds(capsys, "figure", *runs, "--to", tmp_path / "both.png", "--json"))
    assert drawn["curves"] == ["relative positions", "uniform positions"]
    copy = shutil.copytree(runs[0], tmp_path / "copy" / "relative-seed0")
    drawn = json.loads(succeeds(capsys, "figure", runs[0], copy, "--to", tmp_path / "both.png", "--json"))
    assert drawn["curves"] == [f"relative positions, {run}" for run in (runs[0], copy)]
    drawn = json.loads(
        succeeds(capsys, "figure", runs[0], runs[0], "--by", "run", "--to", tmp_path / "x.png", "--json")
    )
    assert len(drawn["curves"]) == 1


def test_runs_of_different_tasks_are_not_drawn_in_one_figure(root, capsys):
    runs = [next((root / out).rglob("config.json")).parent for out in ("a", "c")]
    error = refused(capsys, "figure", *runs)
    assert "different tasks" in error and "2 summands" in error and "1-digit multiplier" in error


def test_the_suite_of_places_is_drawn_over_places(root, capsys, monkeypatch, tmp_path):
    drawn = []
    monkeypatch.setattr(results, "draw", lambda curves, path, *given: drawn.append((curves, given)) or path)
    succeeds(capsys, "figure", root / "a" / "quickstart" / "relative-seed0", "--suite", "places")
    (curves, (_, trained, xlabel)) = drawn[0]
    assert [curve.label for curve in curves] == ["1 digit", "3 digits", "5 digits", "7 digits", "9 digits"]
    assert [list(curve.points) for curve in curves] == [list(range(n + 1)) for n in (1, 3, 5, 7, 9)]
    assert trained is None and "place" in xlabel


@pytest.mark.parametrize("curve", ["loss", "validation"])
def test_learning_curves(root, capsys, tmp_path, curve):
    runs = [root / out / "quickstart" / "relative-seed0" for out in ("a", "b")]
    drawn = json.loads(succeeds(capsys, "figure", *runs, "--curve", curve, "--to", tmp_path / "c.svg", "--json"))
    assert len(drawn["curves"]) == 2 and (tmp_path / "c.svg").read_text().startswith("<?xml")


def test_a_figure_says_what_it_is_called(root, capsys, tmp_path):
    out = succeeds(capsys, "figure", root / "a" / "quickstart" / "relative-seed0", "--to", tmp_path / "name")
    assert out.strip() == str(tmp_path / "name.png") and [path.name for path in tmp_path.iterdir()] == ["name.png"]


# ls and tables


def test_ls_models(capsys):
    rows = {row["name"]: row for row in json.loads(succeeds(capsys, "ls", "models", "--json"))}
    assert "comparison" in rows["difference"]["kinds"] and rows["addition"]["from"] == "recipe proof, seed 10"
    assert all(Path(row["folder"]).is_dir() for row in rows.values())


def test_every_value_has_a_cell_of_its_own_in_csv(capsys):
    rows = list(csv.reader(io.StringIO(tables.as_csv(
        [{"a": [1, 2], "b": ["x", "y"], "c": {"d": [1, 2, 3], "e": {}}, "f": None, "g": [[0.5, 1.0], [0.1, 0.2]]}]
    ))))  # fmt: skip
    assert dict(zip(*rows, strict=True)) == {
        "a low": "1", "a high": "2", "b 1": "x", "b 2": "y", "c.d 1": "1", "c.d 2": "2", "c.d 3": "3", "f": "",
        "g 1 low": "0.5", "g 1 high": "1.0", "g 2 low": "0.1", "g 2 high": "0.2",
    }  # fmt: skip
    out = succeeds(capsys, "explain", "99 + 1", "--csv")
    assert "[" not in out and "{" not in out
