"""Run folders: named by what they hold, written whole, locked, and read only if they are what was written."""

import json
import os
import stat
import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file, save_file
from small import SMALL, with_training

from digitwise.config import override
from digitwise.data import DISTRIBUTIONS, Mixture, NoCarry, Shifted, UniformLengths
from digitwise.encodings import Relative, Uniform
from digitwise.runs import engine, evaluation, files
from digitwise.runs.evaluation import evaluate
from digitwise.runs.folder import Run
from digitwise.runs.places import home
from digitwise.runs.training import train
from digitwise.runs.written import CHOICES, changes_in_words
from digitwise.tasks import Addition


@pytest.fixture
def run(tmp_path):
    return Run.create(tmp_path / "run", SMALL)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    run = Run.create(tmp_path_factory.mktemp("runs") / "run", SMALL)
    train(run)
    return run


# Names


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, "relative-seed0"),
        ({"encoding": "uniform"}, "relative-encoding=uniform-seed0"),
        ({"encoding": "uniform", "encoding.reach": "3"}, "relative-encoding=uniform-reach=3-seed0"),
        ({"reach": "3"}, "relative-reach=3-seed0"),
        ({"steps": "500", "rate": "0.01", "seed": "4"}, "relative-steps=500-rate=0.01-seed4"),
        ({"steps": "20", "rate": "3e-3"}, "relative-seed0"),  # which is what the recipe has
        ({"data": "nocarry"}, "relative-data=nocarry-seed0"),
        ({"lengths": "1-3"}, "relative-lengths=1,2,3-seed0"),
        ({"name": "mine"}, "relative-seed0"),
    ],
)
def test_a_run_is_named_by_what_was_changed_in_its_recipe(changes, name, tmp_path):
    experiment = override(SMALL, changes, CHOICES)
    assert home(tmp_path, "relative", experiment, SMALL) == tmp_path / experiment.name / name
    assert home(tmp_path, "relative", experiment).name == f"relative-seed{experiment.seed}"


def test_many_changes_become_a_hash_and_no_two_experiments_share_one():
    many = [
        override(SMALL, {"steps": steps, "validation_lengths": "1-6", "lengths": "1-6", "rate": "0.0123456",
                         "warmup": "17", "decay": "0.25", "batch": "32", "save_seconds": "17"}, CHOICES)
        for steps in ("40", "50")
    ]  # fmt: skip
    names = [changes_in_words(SMALL, experiment) for experiment in many]
    assert all(len(name) < 30 and name.startswith("changed-") for name in names) and len(set(names)) == 2


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_other_data_keep_the_trained_length(name):
    """Among them exact and nocarry, whose field has another name, and shifted, whose base has it."""
    old = replace(SMALL, data=UniformLengths(4))
    assert override(old, {"data": name}, CHOICES).trained_length == 4
    back = override(override(old, {"data": name}, CHOICES), {"data": "lengths"}, CHOICES)
    assert back.trained_length == 4


def test_lengths_inside_of_distributions_are_found():
    shifted = replace(SMALL, data=Shifted(Mixture(((1.0, UniformLengths(2)), (1.0, NoCarry(4))))))
    assert override(shifted, {"data": "exact"}, CHOICES).data == DISTRIBUTIONS["exact"](4)
    assert override(shifted, {"data": "exact", "length": "3"}, CHOICES).trained_length == 3


def test_another_experiment_in_the_folder_is_not_offered_to_be_resumed(run):
    with pytest.raises(ValueError, match="is there already: go on with --resume"):
        Run.create(run.folder, SMALL)
    with pytest.raises(ValueError, match="holds another experiment: choose another --name or --out"):
        Run.create(run.folder, replace(SMALL, encoding=Uniform()))


def test_a_start_that_was_cut_off_blocks_nothing(run):
    (run.folder / "config.json").rename(run.folder / ".config.json.123")
    assert [path.name for path in run.folder.iterdir() if path.name[0] != "."] == ["environment.json"]
    assert Run.create(run.folder, SMALL).checkpoints() == []
    assert Run.open(run.folder).experiment == SMALL


# Files


def test_flipped_bytes_of_weights_are_noticed_and_the_file_is_named(trained, tmp_path):
    path = trained.weights(20)
    whole = path.read_bytes()
    for position in (len(whole) // 2, len(whole) - 3):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 64]) + whole[position + 1 :])
        with pytest.raises(ValueError, match=r"20.safetensors is damaged: .*checksum"):
            trained.load_checkpoint(20)
    path.write_bytes(whole)
    weights = trained.load_checkpoint(20)
    save_file(load_file(path), tmp_path / "old.safetensors")  # as earlier versions wrote it
    assert all(
        torch.equal(tensor, weights[n]) for n, tensor in files.load_weights(tmp_path / "old.safetensors").items()
    )


def test_weights_of_any_type_have_a_checksum(tmp_path):
    tensors = {"a": torch.ones(3, dtype=torch.bfloat16), "b": torch.tensor(5), "c": torch.zeros(0, 4)}
    files.save_weights(tensors, tmp_path / "w")
    assert files.load_weights(tmp_path / "w")["b"] == 5


def test_checkpoints_can_be_read_by_whom_the_umask_lets(tmp_path):
    old = os.umask(0o022)
    try:
        run = Run.create(tmp_path / "run", SMALL)
        run.save_checkpoint(1, SMALL.build().state_dict())
        run.save_state({"step": 1})
    finally:
        os.umask(old)
    for path in (run.weights(1), run.folder / "state.safetensors", run.folder / "config.json"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o644, path


@pytest.mark.parametrize("content", [b"", b"\x00" * 10, b"PK\x03\x04"])
def test_a_damaged_state_is_named(run, content):
    (run.folder / "state.safetensors").write_bytes(content)
    with pytest.raises(ValueError, match=r"state.safetensors is damaged"):
        train(run)


NESTED = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize(
    "row",
    [
        '{"step": 10, "validation": "good"}',
        '{"step": 10, "validation": null}',
        '{"step": 10, "validation": NaN}',
        '{"step": true, "validation": 1.0}',
        '{"step": 10, "loss": [1]}',
        '{"step": 10, "seconds": {}}',
        NESTED,
        '{"step": ' + "9" * 5000 + "}",
    ],
    ids=range(8),
)
def test_a_measurement_that_is_not_a_number_is_named(run, row):
    (run.folder / "metrics.jsonl").write_text(row + '\n{"step": 20, "validation": 0.5}\n')
    for read in (run.best, run.seconds, lambda: evaluate(run)):
        with pytest.raises(ValueError, match=r"metrics.jsonl is damaged in line 1"):
            read()


@pytest.mark.parametrize(
    "change",
    [{"suite": 5}, {"stratum": None}, {"length": "5"}, {"tried": True, "correct": True}, {"group": [1]}, {"seed": 1.5}],
    ids=str,
)
def test_counts_of_wrong_types_are_named(run, change):
    row = {"suite": "uniform", "version": 1, "length": 5, "stratum": "", "group": "", "seed": 0, "checkpoint": 10,
           "tried": 10, "correct": 5}  # fmt: skip
    (run.folder / "counts.json").write_text(json.dumps([row | change]))
    with pytest.raises(ValueError, match=r"counts.json is damaged: .*not a count"):
        run.counts()


@pytest.mark.parametrize("text", [NESTED, '{"a": ' * 100_000 + "1" + "}" * 100_000, "9" * 5000], ids=range(3))
def test_json_without_end_is_damaged_json(run, text):
    (run.folder / "counts.json").write_text(text)
    with pytest.raises(ValueError, match=r"counts.json is damaged"):
        run.counts()
    (run.folder / "config.json").write_text(text)
    with pytest.raises(ValueError, match=r"config.json"):
        Run.open(run.folder)


def test_nesting_that_json_reads_and_restoring_does_not(run):
    deep: list = []
    for _ in range(700):
        deep = [deep]
    config = json.loads((run.folder / "config.json").read_text())
    config["experiment"]["testing"]["lengths"] = deep
    (run.folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=r"config.json does not describe an experiment"):
        Run.open(run.folder)


def test_a_full_disk_is_one_line(tmp_path):
    """Files of this process may not grow beyond some bytes; what was written before stays whole."""
    code = f"""
import resource, sys
from digitwise.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
sys.exit(main(["train", "quickstart", "--profile", "smoke", "--arm", "relative", "--out", {str(tmp_path)!r}]))
"""
    for size in (100, 900, 8000, 40000):  # environment.json, config.json, weights, the state of the optimizer
        result = subprocess.run([sys.executable, "-c", code, str(size)], capture_output=True, text=True)
        lines = [line for line in result.stderr.splitlines() if line.startswith("digitwise: ")]
        assert result.returncode == 2 and "Traceback" not in result.stderr, result.stderr
        assert len(lines) == 1 and "cannot be written" in lines[0] and str(tmp_path) in lines[0]
        assert not list(tmp_path.rglob(".*.[0-9]*")), "half a file is left"
        folder = tmp_path / "quickstart" / "relative-seed0"
        if (folder / "config.json").exists():
            (folder / "config.json").rename(tmp_path / "config.json")
            for path in (*folder.rglob("*.safetensors"), *folder.glob("metrics.jsonl"), *folder.glob("state*")):
                path.unlink()
            if (folder / "checkpoints").exists():
                (folder / "checkpoints").rmdir()


# Processes


def test_a_folder_belongs_to_one_process_at_a_time(run):
    code = f"""
import sys
from pathlib import Path
from digitwise.runs.files import locked
with locked(Path({str(run.folder)!r})):
    print("locked", flush=True)
    sys.stdin.read()
"""
    other = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdout.readline() == "locked\n"
    with pytest.raises(ValueError, match=r"run is in use by another process"):
        train(run)
    assert run.metrics() == []
    other.kill()
    other.communicate()
    train(run)
    assert run.finished and not list(run.folder.glob(".*"))


def test_an_interrupted_test_keeps_what_it_counted(trained, monkeypatch):
    original, calls = evaluation.answer, []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return original(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(evaluation, "answer", interrupted)
        with pytest.raises(KeyboardInterrupt):
            evaluate(trained, seed=7)
    assert [count.length for count in trained.counts() if count.seed == 7] == [1, 3]
    monkeypatch.setattr(evaluation, "answer", lambda *given: calls.append(given) or original(*given))
    assert len(evaluate(trained, seed=7)) == 3 and len(calls) == 4


def test_the_environment_has_the_cpu_and_the_commit(run, tmp_path):
    made = run.environment()
    assert made["cpu"] and "commit" in made
    assert engine._commit(tmp_path) is None
    for command in (
        ["init", "-q"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "a"],
    ):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    assert len(engine._commit(tmp_path)) == 40


# Sizes


@pytest.mark.parametrize(
    ("experiment", "message"),
    [
        (lambda: replace(SMALL, task=Addition(10**6)), "1,000,000 places is beyond 100,000"),
        (lambda: replace(SMALL, task=Addition(50_000)), "GB in training"),
        (lambda: replace(SMALL, architecture=replace(SMALL.architecture, width=2 * 10**5)), "GB in training"),
        (lambda: replace(SMALL, encoding=Relative(reach=-1)), "reach=-1"),
    ],
)
def test_absurd_sizes_are_refused_before_memory_is_taken(experiment, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        Run.create(tmp_path / "run", experiment())
    assert not (tmp_path / "run").exists()


def test_ranges_of_checkpoints(tmp_path):
    run = Run.create(tmp_path / "run", with_training(checkpoints=4))
    for step in (5, 10, 15, 20):
        run.log(step=step, validation=0.5)
    assert run.select("5-10,20") == [5, 10, 20] and run.select("7-16") == [10, 15]
    with pytest.raises(ValueError, match="no checkpoint '7'"):
        run.select("7")
