"""`digitwise compare` in the smoke profile: an encoding of one's own beside ours, resumed, accumulated, refused."""

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from digitwise.cli import main
from digitwise.comparison import ENCODINGS, TASKS
from digitwise.comparison.running import compare, parse_budget, quality, steps_in_time, works
from digitwise.comparison.setting import FORMATS, OURS, TRAINED, named, setting
from digitwise.comparison.summary import in_cells, row, tables, verdict
from digitwise.counts import Count, OverSeeds
from digitwise.encodings import ENCODINGS as KNOWN
from digitwise.runs.folder import Run
from digitwise.runs.training import Stopped

MINE = """
from dataclasses import dataclass
import digitwise as dw

@dataclass(frozen=True)
class Sides(dw.Pairwise):
    def num_classes(self, extent):
        return 3

    def classes(self, coordinates, extent):
        return (coordinates.position[:, None] - coordinates.position[None, :]).sign() + 1
"""
SMOKE = ["compare", "--profile", "smoke", "--steps", "20"]


def digitwise(*arguments: str, cwd: Path) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "digitwise", *arguments], capture_output=True, text=True, cwd=cwd)


def stamps(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in sorted(folder.rglob("checkpoints/*.safetensors"))}


@pytest.fixture(scope="module")
def compared(tmp_path_factory) -> Path:
    """The README's command, cut down: an encoding in a file outside the package beside relative and RoPE."""
    folder = tmp_path_factory.mktemp("compare")
    (folder / "mine.py").write_text(MINE)
    names = "relative,rope,mine.py:Sides"
    done = digitwise(*SMOKE, "--encodings", names, "--tasks", "addition", "--seeds", "0-1", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    (folder / "first.json").write_text(done.stdout)
    return folder


def test_two_tables_with_a_row_for_each(compared):
    found = json.loads((compared / "first.json").read_text())
    assert found["left out"] == [] and (compared / found["figure"]).stat().st_size > 10_000
    for which in ("steps", "time"):
        rows = {(row["encoding"], row["format"]): row for row in found["tables"][which]}
        assert set(rows) == {("relative", "canvas"), ("rope", "canvas"), ("rope", "growing"), ("Sides", "canvas")}
        for one in rows.values():
            assert one["seeds"] == 2 and one["tried"] == 4 and one["verdict"] == "not learned"  # in 20 steps
            assert one["parameters"] > 1000 and one["ms per step"] > 0
            assert {"median", "lowest", "highest"} == set(one["nines, none in"]) == set(one["8 digits"])
        assert rows["relative", "canvas"]["relative = 1"] == 1 and rows["relative", "canvas"]["steps"] == 20
        assert which == "time" or {one["steps"] for one in rows.values()} == {20}


def test_all_have_the_same_data_encoder_optimizer_and_tuning(compared):
    root, seen = compared / "runs/compare/addition-canvas", {}
    for name in ("relative", "rope"):
        for path in sorted((root / name).glob("*/config.json")):
            experiment = json.loads(path.read_text())["experiment"]
            assert experiment.pop("encoding")["kind"] == {"relative": "Relative", "rope": "Rotary"}[name]
            if path.parent.name.startswith("tune"):
                seen.setdefault(path.parent.name, []).append(experiment)
                assert experiment["seed"] >= 100
    assert len(seen) == 4
    for first, second in seen.values():
        assert first == second


def test_a_new_encoding_adds_a_row_and_runs_nothing_again(compared, capsys, monkeypatch):
    monkeypatch.chdir(compared)
    before = stamps(compared)
    assert main([*SMOKE, "--encodings", "alibi", "--formats", "canvas", "--seeds", "0"]) == 0
    shown = capsys.readouterr()
    assert "alibi" in shown.out and "relative" in shown.out
    after = stamps(compared)
    assert before.items() <= after.items()
    assert {Path(path).relative_to(compared).parts[3] for path in set(after) - set(before)} == {"alibi"}


def test_rows_of_strangers_are_left_out_until_they_are_imported(compared):
    """A folder never imports code by itself."""
    done = digitwise("compare", "--profile", "smoke", "--table", "--encodings", "relative", cwd=compared)
    assert done.returncode == 0 and "Sides" not in done.stdout.split("figure:")[0]
    assert "left out: addition-canvas/Sides" in done.stderr and "--import mine.py:Sides" in done.stderr
    words = ["compare", "--profile", "smoke", "--table", "--encodings", "relative", "--import", "mine.py:Sides"]
    assert re.search(r"^addition +Sides +canvas +not learned", digitwise(*words, cwd=compared).stdout, re.MULTILINE)


def test_a_row_whose_runs_of_equal_time_are_not_there_yet_stands_in_the_first_table(compared, tmp_path):
    shutil.copytree(compared / "runs/compare/addition-canvas/relative", tmp_path / "addition-canvas/relative")
    for seed in (0, 1):
        (tmp_path / f"addition-canvas/relative/seed{seed}-time").mkdir()
    found, left_out = tables([setting("addition", "canvas", "smoke")], tmp_path)
    assert [row["encoding"] for row in found["steps"]] == ["relative"] and found["time"] == left_out == []


def test_what_was_interrupted_goes_on(tmp_path):
    """Stopped within a reported training, with offsets that are drawn: the same counts as without a stop."""
    where = setting("addition", "canvas", "smoke")
    straight, broken = (works(["abacus"], [where], tmp_path / name)[0] for name in ("straight", "broken"))
    compare([(straight, 20)], [0], "smoke")
    broken.folder.mkdir(parents=True)  # seconds differ from time to time: both have the same
    (broken.folder / "cost.json").write_text((straight.folder / "cost.json").read_text())

    def interrupt(what: str, done: int, total: int, note: str) -> None:
        if done == 7 and "/seed0, loss" in note:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(Stopped):
        compare([(broken, 20)], [0], "smoke", interrupt)
    assert Run.open(broken.folder / "seed0").load_state()["step"] == 7
    before = stamps(broken.folder)
    compare([(broken, 20)], [0], "smoke")
    assert before.items() <= stamps(broken.folder).items()  # the trials stay
    first, second = (Run.open(work.folder / "seed0") for work in (straight, broken))
    assert first.counts() == second.counts() and second.finished
    assert first.validation() == second.validation()


def test_an_interrupted_command_says_how_to_go_on(tmp_path):
    words = [*SMOKE, "--encodings", "alibi", "--formats", "canvas", "--seeds", "0"]
    process = subprocess.Popen(
        [sys.executable, "-m", "digitwise", *words], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    while not list(tmp_path.rglob("config.json")) and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert "the same command goes on" in process.communicate()[1] and process.returncode == 130


def test_a_folder_has_one_plan(compared, capsys, monkeypatch):
    monkeypatch.chdir(compared)
    words = ["compare", "--profile", "smoke", "--encodings", "relative", "--formats", "canvas", "--seeds", "0"]
    assert main([*words, "--steps", "40"]) == 2
    assert "was planned with 20 steps" in capsys.readouterr().err
    assert main([*words, "--budget", "10m"]) == 2
    assert "leave out --budget" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--encodings", "ropes"], "did you mean rope"),
        (["--encodings", "by-column"], "without a canvas"),
        (["--tasks", "subtraction"], "no task 'subtraction'"),
        (["--formats", "grown"], "did you mean growing"),
        (["--budget", "soon"], "90s, 10m or 2h"),
        (["--steps", "3"], "at least 20"),
        (["--seeds", "100"], "for tuning"),
        (["--profile", "paper"], "cpu or smoke"),
        (["--table"], "nothing to show"),
    ],
)
def test_mistakes_cost_one_line_and_no_training(words, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["compare", *words]) == 2
    captured = capsys.readouterr().err
    assert message in captured and captured.count("\n") == 1
    assert not list(tmp_path.rglob("config.json"))


# Parts


def test_all_encodings_are_there_on_all_tasks_and_formats(tmp_path):
    assert set(KNOWN) - set(ENCODINGS) == {"uniform-by-place", "sum", "head-groups", "by-column"}
    for task in TASKS:
        settings = [setting(task, format) for format in FORMATS]
        rows = works(ENCODINGS, settings, tmp_path)
        assert len(rows) == 13 + 9
        for work in rows if task != "multiply-2" else []:
            experiment = work.where.trial(work.encoding, *work.where.grid()[-1], steps=100, seed=100)
            experiment.rehearse()
            assert experiment.trained_length == TRAINED
    assert named("relative") == ("relative", OURS["relative"]) and named("t5")[0] == "t5"


def test_equal_time_is_a_round_number_of_steps():
    assert steps_in_time(1000, 1.0) == steps_in_time(1000, 1.1) == steps_in_time(1000, 0.91) == 1000
    assert steps_in_time(1000, 0.8) == 1200 and steps_in_time(1000, 2.0) == 500 and steps_in_time(1000, 50.0) == 100


def test_budgets():
    assert [parse_budget(text) for text in ("90", "90s", "10m", "1.5h")] == [90, 90, 600, 5400]
    for text in ("", "m", "ten", "-5m", "0", "inf", "nanm"):
        with pytest.raises(ValueError, match="budget"):
            parse_budget(text)


def counts(accuracy: dict[int, float], seeds: int = 1) -> dict[int, OverSeeds]:
    return {
        n: OverSeeds("x", {s: Count("uniform", 1, n, "", "", 0, 1, 1000, round(1000 * a)) for s in range(seeds)})
        for n, a in accuracy.items()
    }


@pytest.mark.parametrize(
    ("trained", "longer", "expected"),
    [
        (0.5, {5: 0.95, 6: 0.95}, "not learned"),
        (0.99, {5: 0.2, 6: 0.95}, "does not carry"),
        (0.99, {5: 0.95, 6: 0.95, 8: 0.5}, "carries to 6"),
        (0.99, {5: 0.95, 6: 0.95, 8: 0.91}, "carries to 8"),
    ],
)
def test_verdicts(trained, longer, expected):
    lengths = counts({4: trained} | longer)
    assert verdict(lengths[4], lengths) == expected


def test_tuning_prefers_long_numbers_then_the_loss(compared):
    runs = [Run.open(path) for path in sorted((compared / "runs/compare/addition-canvas/rope").glob("tune-*"))]
    qualities = [quality(run) for run in runs]
    best = max(runs, key=quality)
    assert quality(best) == max(qualities) and len(set(qualities)) > 1
    assert {run.experiment.training.steps for run in runs} == {10}  # half of those that are reported
    reported = Run.open(compared / "runs/compare/addition-canvas/rope/seed0").experiment.training
    assert (reported.rate, reported.sharpness) == (best.experiment.training.rate, best.experiment.training.sharpness)


def test_cells_show_the_range_over_seeds(compared):
    where = setting("addition", "canvas", "smoke")
    found, _ = tables([where], compared / "runs/compare")
    shown = in_cells(found["steps"])
    assert shown[0]["8 digits"] == "0.00" and "tried" not in shown[0]
    cell = in_cells([{"a": {"median": 0.5, "lowest": 0.25, "highest": 1.0}}])[0]["a"]
    assert cell == "0.50 (0.25-1.00)"
    folder = compared / "runs/compare/addition-canvas/relative"
    assert row(where, folder, [Run.open(folder / "seed0")])["seeds"] == 1
