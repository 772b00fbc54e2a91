"""Kills, files that were cut off, a full disk, and folders of strangers: nothing is lost, and nothing is executed."""

import ast
import json
import os
import pickle
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from small import SMALL, with_training

from digitwise.answers.solver import Solver
from digitwise.encodings import Absolute
from digitwise.paper.recipes import Recipe
from digitwise.runs.evaluation import evaluate, load_model
from digitwise.runs.folder import Run
from digitwise.runs.places import home
from digitwise.runs.training import train

SOURCE = Path(__file__).parents[2] / "src" / "digitwise"
#: A state after every step, so that a kill is likely to come while one is written.
OFTEN = with_training(steps=30, checkpoints=6, save_seconds=0.0, average=0.9)


def assert_same(run: Run, other: Run) -> None:
    assert run.finished and other.finished
    assert run.checkpoints() == other.checkpoints()
    for step in run.checkpoints():
        ours, others = run.load_checkpoint(step), other.load_checkpoint(step)
        assert ours.keys() == others.keys() and all(torch.equal(ours[name], others[name]) for name in ours), step
    first, second = ([{k: v for k, v in row.items() if k != "seconds"} for row in r.metrics()] for r in (run, other))
    assert first == second
    assert not list(run.folder.glob("state*"))


@pytest.fixture(scope="module")
def straight(tmp_path_factory) -> Run:
    run = Run.create(tmp_path_factory.mktemp("straight") / "run", OFTEN)
    train(run)
    return run


@pytest.fixture
def half(tmp_path) -> Run:
    """The same run, stopped by an error in the middle of it."""
    run = Run.create(tmp_path / "run", OFTEN)
    with pytest.raises(RuntimeError):
        train(run, stop_at(17))
    return run


def stop_at(last: int):
    def stop(step: int, loss: float) -> None:
        if step == last:
            raise RuntimeError

    return stop


# Kills

KILLED = """
import os, random, signal, sys, time
from pathlib import Path
import torch
torch.set_num_threads(1)
import accelerate, torch._dynamo  # which every child would have to import otherwise
from digitwise.runs.folder import Run
from digitwise.runs.training import train

def child(folder, told=lambda step, loss: None):
    number = os.fork()
    if number == 0:
        code = 1
        try:
            train(Run.open(folder), told)
            code = 0
        finally:
            os._exit(code)
    return number

moments = random.Random(int(sys.argv[1]))
for folder in map(Path, sys.argv[2:]):
    reading, writing = os.pipe()
    number = child(folder, lambda step, loss: os.write(writing, b"."))
    os.close(writing)  # so that nobody waits for a child that is gone
    for _ in range(moments.randrange(30)):
        os.read(reading, 1)
    time.sleep(moments.uniform(0, 0.05))  # about a step: anywhere in it
    os.kill(number, signal.SIGKILL)
    os.waitpid(number, 0)
    step = (Run.open(folder).load_state() or {}).get("step", 0)
    assert os.waitstatus_to_exitcode(os.waitpid(child(folder), 0)[1]) == 0
    print(step, flush=True)
"""


@pytest.mark.parametrize("kills", [5, pytest.param(20, marks=pytest.mark.slow)])
def test_kills_lose_nothing(straight, kills, tmp_path):
    """Real processes, killed without warning at random moments, and resumed."""
    runs = [Run.create(tmp_path / f"{number}", OFTEN) for number in range(kills)]
    command = [sys.executable, "-c", KILLED, str(kills), *(str(run.folder) for run in runs)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    steps = [int(line) for line in result.stdout.split()]
    assert len(steps) == kills and len({step for step in steps if 0 < step < 30}) >= kills // 2, "not killed in between"
    for run in runs:
        assert_same(run, straight)


# Files that were cut off


def cut(path: Path, share: float) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.999])
def test_a_state_that_was_cut_off_is_named_and_the_one_before_is_used(half, straight, share, caplog):
    cut(half.folder / "state.safetensors", share)
    assert half.load_state()["step"] == 15
    assert "state.safetensors is damaged" in caplog.text
    train(half)
    assert_same(half, straight)


def test_flipped_bytes_of_a_state_are_noticed(half, straight, caplog):
    path = half.folder / "state.safetensors"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    train(half)
    assert "state.safetensors is damaged: what it holds does not match the checksum" in caplog.text
    assert_same(half, straight)


def test_a_kill_between_two_states_leaves_the_one_before(half, straight, caplog):
    (half.folder / "state.safetensors").unlink()
    train(half)
    assert_same(half, straight)
    assert not caplog.text


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5])
def test_a_log_that_was_cut_off_is_named_and_mended(half, straight, share, caplog):
    cut(half.folder / "metrics.jsonl", share)
    train(half)
    assert "metrics.jsonl is damaged" in caplog.text
    assert_same(half, straight)


def test_a_log_that_lost_the_line_that_a_kill_cut_is_mended_in_silence(half, straight, caplog):
    cut(half.folder / "metrics.jsonl", 0.95)
    train(half)
    assert_same(half, straight)
    assert not caplog.text


def test_a_log_with_damage_in_the_middle_is_named_and_mended(half, straight, caplog):
    path = half.folder / "metrics.jsonl"
    path.write_text(path.read_text().replace('"step": 10', '"step": x10', 1))
    with pytest.raises(ValueError, match=r"metrics.jsonl is damaged in line \d.*--resume"):
        half.metrics()
    train(half)
    assert "metrics.jsonl is damaged in line" in caplog.text
    assert_same(half, straight)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_the_log_of_a_finished_run_is_mended_without_training(straight, share, tmp_path, caplog):
    run = Run.open(shutil.copytree(straight.folder, tmp_path / "run"))
    cut(run.folder / "metrics.jsonl", share)
    assert not run.finished
    train(run, stop_at(1))
    assert "metrics.jsonl is damaged" in caplog.text
    assert_same(run, straight)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_checkpoint_that_was_cut_off_is_named_and_the_one_before_is_used(straight, share, tmp_path, caplog):
    run = Run.open(shutil.copytree(straight.folder, tmp_path / "run"))
    cut(run.weights(30), share)
    assert {count.checkpoint for count in evaluate(run, checkpoints="last")} == {25}
    assert "30.safetensors is damaged" in caplog.text
    assert Solver.from_folder(run.folder).weights == run.weights(25)
    with pytest.raises(ValueError, match=r"30.safetensors is damaged"):
        load_model(run, 30)


# A full disk


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare, to mount a small disk of its own")
@pytest.mark.parametrize("kilobytes", [pytest.param(40, marks=pytest.mark.slow), 120])
def test_a_full_disk_stops_with_a_message_and_an_intact_run(straight, kilobytes, tmp_path):
    """On a real disk of its own, which becomes larger then."""
    disk, kept = tmp_path / "disk", tmp_path / "kept"
    disk.mkdir()
    Run.create(tmp_path / "run", OFTEN)
    resume = f"{sys.executable} -m digitwise train --resume {disk}/run"
    script = f"""
set -e
mount -t tmpfs -o size={kilobytes}k tmpfs {disk}
cp -r {tmp_path}/run {disk}/run
set +e
{resume} 2> {tmp_path}/said
echo $? > {tmp_path}/code
set -e
mount -o remount,size=100m {disk}
{resume}
cp -r {disk}/run {kept}
"""
    namespace = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]
    if subprocess.run([*namespace, "mount", "-t", "tmpfs", "tmpfs", str(disk)], capture_output=True).returncode:
        pytest.skip("a disk cannot be mounted here")
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    result = subprocess.run([*namespace, "sh", "-c", script], capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr
    said = [line for line in (tmp_path / "said").read_text().splitlines() if line.startswith("digitwise: ")]
    assert (tmp_path / "code").read_text() == "2\n" and len(said) == 1, said
    assert "cannot be written: " in said[0] and "No space left" in said[0]
    assert_same(Run.open(kept), straight)


# Folders of strangers


def test_nothing_in_the_package_unpickles():
    """Neither pickles nor what reads them; what a run folder holds is JSON and safetensors."""
    modules = {"pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal"}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                assert not names & modules, f"{path}:{node.lineno}"
            if isinstance(node, ast.Attribute) and node.attr == "load" and isinstance(node.value, ast.Name):
                assert node.value.id not in ("torch", "np", "numpy"), f"{path}:{node.lineno}"


class Evil:
    def __reduce__(self):
        return os.mkdir, ("executed",)


@pytest.mark.parametrize("name", ["state.pt", "state.safetensors", "state-before.safetensors"])
def test_a_pickle_in_a_run_folder_is_not_executed(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = Run.create(tmp_path / "run", SMALL)
    for content in (pickle.dumps(Evil()), None):
        if content is None:
            torch.save(Evil(), run.folder / name)
        else:
            (run.folder / name).write_bytes(content)
        with pytest.raises(ValueError, match=name):
            train(run)
    assert not Path("executed").exists()


def change(run: Run, *path: str, to: object) -> None:
    config = json.loads((run.folder / "config.json").read_text())
    part = config
    for name in path[:-1]:
        part = part[name]
    part[path[-1]] = to
    (run.folder / "config.json").write_text(json.dumps(config))


@pytest.mark.parametrize("path", [["more"], ["experiment", "more"], ["experiment", "training", "more"]], ids=str)
def test_unknown_keys_are_refused(path, tmp_path):
    run = Run.create(tmp_path / "run", SMALL)
    change(run, *path, to=1)
    with pytest.raises(ValueError, match="more"):
        Run.open(run.folder)


ABSURD = [
    (["architecture", "layers"], 10**9),
    (["architecture", "rounds"], 10**9),
    (["architecture", "width"], 2 * 10**6),
    (["architecture", "width"], 2 * 10**30),
    (["architecture", "feedforward"], 10**12),
    (["encoding", "reach"], 10**9),
    (["task", "canvas"], 10**6),
    (["testing", "problems"], 10**12),
]


@pytest.mark.parametrize(("path", "size"), ABSURD, ids=str)
def test_absurd_sizes_are_refused_before_memory_is_taken(straight, path, size, tmp_path):
    """Whoever opens the folder: training, testing, solving."""
    run = Run.open(shutil.copytree(straight.folder, tmp_path / "run"))
    change(run, "experiment", *path, to=size)
    before = peak()
    for use in (train, evaluate, lambda run: Solver.from_folder(run.folder)):
        with pytest.raises(ValueError):
            use(Run.open(run.folder))
    assert peak() - before < 200 * 2**20


def test_an_absurd_batch_pool_or_room_is_refused(tmp_path):
    for training in ({"batch": 10**12}, {"pool": 10**12}):
        run = Run(tmp_path / "run", with_training(**training))
        run.folder.mkdir(exist_ok=True)
        with pytest.raises(ValueError, match="GB in training"):
            train(run)
    with pytest.raises(ValueError, match=r"encoding.room must be at most"):
        Run.create(tmp_path / "other", replace(SMALL, encoding=Absolute(room=10**12)))


def peak() -> int:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.mark.parametrize("name", ["..", "../away", "/away", "a/b", "a\\b", ".hidden", "", "a\0b", "c:away"])
def test_no_name_leads_out_of_the_runs_folder(name, tmp_path):
    with pytest.raises(ValueError):
        replace(SMALL, name=name)
    with pytest.raises(ValueError, match="cannot name a folder"):
        home(tmp_path, name or "/", SMALL)
    with pytest.raises(ValueError):
        Recipe(name, "Away.", lambda profile: {})
    run = Run.create(tmp_path / "run", SMALL)
    change(run, "experiment", "name", to=name)
    with pytest.raises(ValueError, match="names a folder"):
        Run.open(run.folder)
