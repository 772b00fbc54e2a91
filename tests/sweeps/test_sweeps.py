"""Many runs: named by what they are, each done once, and all of them ready to be gone on with."""

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import fsspec
import pytest
import torch
from small import OWN, with_training

from digitwise import config
from digitwise.cli import main
from digitwise.encodings import Uniform
from digitwise.paper import arms
from digitwise.runs.folder import Run
from digitwise.runs.training import Stopped, train
from digitwise.sweeps import claims, drive, estimate, jobs
from digitwise.sweeps.claims import Watch
from digitwise.sweeps.jobs import Exam, Job
from digitwise.sweeps.place import Place

TINY = with_training(steps=4, checkpoints=2)
SWEEP = ["sweep", "m1-rpe", "--profile", "smoke", "--steps", "4"]


def job(seed: int = 0, steps: int = 4, tests: tuple[Exam, ...] = (Exam(),)) -> Job:
    experiment = replace(with_training(TINY, steps=steps), seed=seed)
    return Job(f"small/{jobs.fingerprint(experiment)}", experiment, tests)


def digitwise(*arguments: object, code: int = 0) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "digitwise", *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert result.returncode == code, result.stderr
    return result


# Grids and names


def test_a_grid_is_every_combination_and_every_seed():
    cells = jobs.grid({"small": TINY}, {"encoding": "relative,uniform", "rate": "0.1,0.2,0.3"}, [0, 1])
    assert len({cell.job.name for cell in cells}) == 12
    assert {cell.job.experiment.encoding for cell in cells} == {TINY.encoding, Uniform(TINY.encoding.deviation)}
    assert cells[0].row() == {"run": cells[0].job.name, "arm": "small", "encoding": "relative", "rate": "0.1",
                              "seed": 0, "steps": 4}  # fmt: skip


def test_experiments_that_come_out_equal_are_one_run():
    assert len(jobs.grid({"a": TINY, "b": TINY}, {"steps": "4,04,5"}, [3])) == 2


def test_values_with_commas_stand_between_semicolons():
    cells = jobs.grid({"a": TINY}, {"lengths": "1,2;3"}, [0])
    assert [cell.job.experiment.testing.lengths for cell in cells] == [(1, 2), (3,)]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"stpes": "1,2"}, "did you mean --steps"),
        ({"rate": "0.1,,0.2"}, "--rate has an empty value"),
        ({"width": "16,17"}, "multiple of heads"),
        ({"seed": ",".join(map(str, range(2000))), "steps": ",".join(map(str, range(1, 100)))}, "198,000 runs"),
    ],
)
def test_a_grid_with_a_mistake_is_refused_before_anything_is_done(fields, message):
    with pytest.raises(ValueError, match=message):
        jobs.grid({"a": TINY}, fields, [0])


def test_the_hash_is_of_all_fields_and_nothing_else():
    """It is the same in every process; a change here would do finished runs again."""
    assert jobs.fingerprint(TINY) == jobs.fingerprint(replace(TINY))
    others = [replace(TINY, seed=1), replace(TINY, name="other"), with_training(TINY, rate=0.1)]
    assert len({jobs.fingerprint(experiment) for experiment in [TINY, *others]}) == 4
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from small import with_training
from digitwise.sweeps.jobs import fingerprint
print(fingerprint(with_training(steps=4, checkpoints=2)))
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert told.stdout.strip() == jobs.fingerprint(TINY), told.stderr


def test_the_content_of_ones_own_file_is_part_of_the_hash_and_its_path_is_not(tmp_path):
    names = {}
    for folder, text in (("a", OWN), ("b", OWN), ("c", OWN.replace("+ 1", "+ 1 * 1"))):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text(text)
        mine = config.load(f"{tmp_path / folder / 'mine.py'}:Sides")
        names[folder] = jobs.fingerprint(replace(TINY, encoding=mine()))
    assert names["a"] == names["b"] != names["c"]


def test_a_job_travels_as_plain_data_with_its_code(tmp_path, monkeypatch):
    """To a process that has never seen the file."""
    (tmp_path / "mine.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    mine = config.load("mine.py:Sides")
    sent = json.dumps(Job("a/b", replace(TINY, encoding=mine()), (Exam("uniform", (1, 2)),)).plain())
    (tmp_path / "mine.py").unlink()
    code = """
import json, sys
from digitwise.sweeps.jobs import Job, fingerprint
job = Job.from_plain(json.loads(sys.stdin.read()))
print(json.dumps([job.plain()["experiment"], fingerprint(job.experiment), job.name]))
"""
    told = subprocess.run([sys.executable, "-c", code], input=sent, capture_output=True, text=True, check=True)
    described, name, _ = json.loads(told.stdout)
    assert described == json.loads(sent)["experiment"] and described["encoding"]["from"] == "mine.py:Sides"
    (tmp_path / "mine.py").write_text(OWN)
    assert name == jobs.fingerprint(replace(TINY, encoding=mine()))


# Places


@pytest.fixture(params=["folder", "memory"])
def place(request, tmp_path):
    if request.param == "folder":
        yield Place(tmp_path / "runs")
        return
    yield Place("memory://study/runs")
    fsspec.filesystem("memory").rm("/study", recursive=True)


def files(place: Place) -> set[str]:
    return {str(path).split("runs/")[1] for path in place.files.find(place.root)}


def test_results_land_in_a_place_and_are_not_made_again(place, monkeypatch):
    work = [job(seed) for seed in range(2)]
    records = drive.run(work, place)
    assert [records[one.name]["state"] for one in work] == ["finished"] * 2
    found = files(place)
    for one in work:
        kept = {f"{one.name}/{name}" for name in ("config.json", "environment.json", "metrics.jsonl", "counts.json")}
        assert kept | {f"{one.name}/checkpoints/{step}.safetensors" for step in (2, 4)} <= found
    assert not [name for name in found if "state" in name]
    monkeypatch.setattr("digitwise.runs.engine.Engine.step", lambda *_: pytest.fail("trained again"))
    assert drive.run(work, place) == records


def test_other_tests_of_a_finished_run_do_not_train_it_again(place, monkeypatch):
    drive.run([job()], place)
    monkeypatch.setattr("digitwise.runs.engine.Engine.step", lambda *_: pytest.fail("trained again"))
    drive.run([job(tests=(Exam("uniform", (2,)),))], place)
    rows = json.loads(place.files.cat_file(place.path(job().name, "counts.json")))
    assert {row["length"] for row in rows} == {1, 2, 3, 5}


def test_a_run_goes_on_from_its_last_saved_state_in_any_place(place, tmp_path):
    """Also if nothing is left of the folder that it worked in."""
    longer = job(steps=30, tests=())
    experiment = with_training(longer.experiment, save_seconds=0.0)
    longer = Job(longer.name, experiment, ())
    seen: list[int] = []

    def interrupt(done: int, total: int, note: str) -> None:
        if done == 17:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(Stopped):
        drive.run([longer], place, report=interrupt)
    assert claims.latest(place, longer.name)[1]["state"] == "stopped"
    assert f"{longer.name}/state.safetensors" in files(place)
    drive.run([longer], place, report=lambda done, total, note: seen.append(done))
    assert seen[0] == 18 and seen[-1] == 30
    train(straight := Run.create(tmp_path / "straight", experiment))
    got = tmp_path / "got.safetensors"
    place.files.get_file(place.path(longer.name, "checkpoints/30.safetensors"), str(got))
    from digitwise.runs.files import load_weights

    ours, theirs = load_weights(got), straight.load_checkpoint(30)
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_stages_go_to_the_same_place(place):
    experiment = arms("nocarry", "smoke")["relative"]
    drive.run([Job(f"{experiment.name}/x", experiment, ())], place)
    assert f"{experiment.after.name}/x/metrics.jsonl" in files(place)


def test_a_place_that_nobody_knows_is_refused():
    with pytest.raises(ValueError, match=r"--out nosuch://"):
        Place("nosuch://bucket/runs")


def test_a_place_that_does_not_answer_is_refused(monkeypatch):
    def answer(*_) -> None:
        raise RuntimeError("Unable to\nlocate credentials")

    monkeypatch.setattr(fsspec.get_filesystem_class("memory"), "exists", answer)
    with pytest.raises(ValueError, match="--out memory://runs: Unable to locate credentials"):
        Place("memory://runs")


def test_a_store_that_does_not_say_what_it_refused_creates_a_file_once(monkeypatch):
    """Those like S3 refuse with an error that is not a FileExistsError."""
    place = Place("memory://refused")
    assert place.create({}, "a.json")

    def refuse(*_, **__) -> None:
        raise OSError(errno.EINVAL, "a condition was not met")

    with monkeypatch.context() as patched:
        patched.setattr(fsspec.get_filesystem_class("memory"), "pipe_file", refuse)
        assert not place.create({}, "a.json")
        with pytest.raises(OSError, match="a condition"):
            place.create({}, "b.json")
    place.files.rm("/refused", recursive=True)


# Claims


def test_of_several_who_claim_a_run_one_gets_it(place):
    for _ in range(20):
        fresh = job(seed=_)
        watches = [Watch(place) for _ in range(4)]
        found: list = []
        together = threading.Barrier(4)

        def take(number: int, fresh=fresh, watches=watches, found=found, together=together) -> None:
            together.wait()
            found.append(watches[number].take(fresh, f"driver {number}"))

        threads = [threading.Thread(target=take, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(claim is not None for claim in found) == 1


def test_claims_of_many_runs_are_listed_at_once(place, monkeypatch):
    """Not one by one: on an address of a cloud each would be two requests."""
    for seed in range(4):
        Watch(place).take(job(seed), "one").close("stopped")
    Watch(place).take(job(0), "two")
    alone = {job(seed).name: claims.latest(place, job(seed).name)[1] for seed in range(4)}
    place.create("not a record", ".claims", "broken", "1.json")
    monkeypatch.setattr(Place, "names", lambda *_: pytest.fail("listed one by one"))
    assert claims.records(place) == alone and alone[job(0).name]["driver"] == "two"
    assert claims.records(place, {job(2).name, "nobody"}) == {job(2).name: alone[job(2).name]}


def test_a_claim_of_another_machine_is_taken_over_when_it_beats_no_more(place, monkeypatch):
    held = Watch(place).take(job(), "one")
    held.record = held.record | {"machine": "elsewhere"}
    held.write()
    watch = Watch(place)
    monkeypatch.setattr(claims, "GONE", 0.2)
    assert watch.take(job(), "other") is None
    held.write()
    time.sleep(0.3)
    assert watch.take(job(), "other") is None, "it has beaten since"
    time.sleep(0.3)
    taken = watch.take(job(), "other")
    assert taken is not None and taken.number == 2
    monkeypatch.setattr(claims, "BEAT", 0.01)
    with held.beating():
        assert held.lost.wait(10)
    with pytest.raises(claims.Taken):
        held.tell(step=3)
    assert held.close("finished")["state"] == "running" and claims.latest(place, job().name)[1]["driver"] == "other"


def test_a_claim_of_a_killed_process_is_free_at_once(tmp_path):
    code = f"""
import os, signal, sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_sweeps import Place, Watch, job
assert Watch(Place({str(tmp_path)!r})).take(job(), "killed")
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", code]).returncode == -signal.SIGKILL
    assert claims.latest(Place(tmp_path), job().name)[1]["state"] == "running"
    assert Watch(Place(tmp_path)).take(job(), "next") is not None


def test_a_failed_run_is_named_and_the_others_go_on(place):
    broken = with_training(TINY, rate=1e30, clip=0.0, warmup=0, schedule="constant", steps=20)
    work = [Job("small/broken", broken), job()]
    records = drive.run(work, place)
    assert "lower --rate" in drive.failures(records)["small/broken"]
    assert records[job().name]["state"] == "finished"


def test_two_drivers_share_a_grid(tmp_path):
    """Real processes: each run is trained once, and both end when all is done."""
    command = [sys.executable, "-m", "digitwise", *SWEEP, "--seeds", "0-5", "--out", str(tmp_path), "--json"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
            for _ in range(2)]  # fmt: skip
    said = [process.communicate() for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    rows = [json.loads(out) for out, _ in said]
    assert rows[0] == rows[1] and len(rows[0]) == 6 and {row["state"] for row in rows[0]} == {"finished"}
    numbers = [path.name for path in tmp_path.glob(".claims/*/*.json")]
    assert numbers == ["1.json"] * 6, "a run was claimed twice"


# The command line


def test_sweep_status_and_dry_run(tmp_path, capsys):
    grid = [*SWEEP, "--rate", "0.001,0.002", "--out", str(tmp_path)]
    assert main([*grid, "--seeds", "0", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["rate"] for row in rows] == ["0.001", "0.002"] and rows[0]["state"] == "finished"
    assert main([*grid, "--seeds", "0-2", "--dry-run", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["runs"] == 6 and document["finished"] == 2 and document["hours"] > 0
    assert document["estimated from finished runs"] == 4
    assert main(["sweep", "status", "--out", str(tmp_path)]) == 0
    assert "2 runs: 2 finished" in capsys.readouterr().out
    assert main(["sweep", "status", "--out", str(tmp_path / "nowhere")]) == 2
    assert "there is no sweep in" in capsys.readouterr().err


def test_ctrl_c_leaves_everything_ready_to_be_gone_on_with(tmp_path):
    slow = ["--steps", "3000", "--save_seconds", "1000", "--seeds", "0-1", "--out", str(tmp_path)]
    command = [sys.executable, "-m", "digitwise", *SWEEP[:4], *slow]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    deadline = time.monotonic() + 600
    while not any(path.stat().st_size for path in tmp_path.glob("m1-rpe/*/metrics.jsonl")):  # in its last stage
        assert time.monotonic() < deadline
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130 and "the same command goes on from here" in said
    assert list(tmp_path.glob("m1-rpe/*/state.safetensors"))
    rows = json.loads(digitwise("sweep", "status", "--out", tmp_path, "--json").stdout)
    assert sorted(row["state"] for row in rows) == ["stopped", "waiting"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sweep", "quikstart"], "did you mean quickstart"),
        (["sweep", "m1-rpe", "--arm", "relativ"], "did you mean relative"),
        (["sweep", "theory"], "trains no model"),
        (["sweep", "m1-rpe", "--on", "mars"], "--on takes here, ray or ray://"),
        (["sweep", "m1-rpe", "--track", "paper"], "--track takes tensorboard, wandb, trackio"),
        (["sweep", "m1-rpe", "--seeds", "x"], "--seeds takes numbers"),
        (["sweep", "m1-rpe", "--cpus", "-1"], "must not be negative"),
        (["sweep", "m1-rpe", "--out", "nosuch://x"], "nosuch"),
    ],
)
def test_a_mistake_is_one_line(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main([*arguments, "--profile", "smoke"]) == 2
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1
    assert not list(tmp_path.rglob("config.json"))


def test_steps_are_timed_where_nothing_was_measured():
    found = estimate.estimate([TINY, replace(TINY, seed=1)], {})
    assert found.seconds > 0 and found.measured == 0
    record = {"state": "finished", "step": 4, "seconds": 8.0, "cost": estimate.cost(TINY)}
    assert estimate.estimate([with_training(TINY, steps=100)], {"a": record}) == (200.0, 1)


# What is not used is not imported


@pytest.mark.parametrize("arguments", [["--help"], ["sweep", "--help"], ["train", "--help"]])
def test_help_imports_neither_ray_nor_trackers_nor_torch(arguments):
    code = f"""
import sys
from digitwise.cli import main
try:
    main({arguments!r})
except SystemExit:
    pass
found = set(sys.modules) & {{"torch", "numpy", "ray", "fsspec", "accelerate", "tensorboard", "wandb", "trackio"}}
assert not found, found
"""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_a_sweep_in_this_process_imports_neither_ray_nor_trackers(tmp_path):
    code = f"""
import sys
from digitwise.cli import main
assert main({[*SWEEP, "--out", str(tmp_path)]!r}) == 0
assert not set(sys.modules) & {{"ray", "tensorboard", "wandb", "trackio"}}
"""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_the_default_install_is_not_larger():
    """What sweeps need comes with torch anyway; the rest are extras."""
    import tomllib
    from importlib.metadata import requires

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    names = {name.split(">")[0] for name in project["dependencies"]}
    assert not names & {"ray", "tensorboard", "wandb", "trackio", "s3fs"}
    assert any(line.startswith("fsspec") and "extra" not in line for line in requires("torch") or [])
