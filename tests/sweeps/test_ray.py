"""Runs on a real Ray cluster: two nodes on this machine, with one core each."""

from needed import needs

needs("ray")

import json  # noqa: E402
import os  # noqa: E402
import runpy  # noqa: E402
import signal  # noqa: E402
import socket  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import threading  # noqa: E402
import time  # noqa: E402
from dataclasses import replace  # noqa: E402
from pathlib import Path  # noqa: E402

import pytest  # noqa: E402
import torch  # noqa: E402
from small import OWN, with_training  # noqa: E402

from digitwise.cli import main  # noqa: E402
from digitwise.paper.reproduction import reproduce  # noqa: E402
from digitwise.runs.folder import Run  # noqa: E402
from digitwise.runs.training import train  # noqa: E402
from digitwise.sweeps import claims, drive, jobs  # noqa: E402
from digitwise.sweeps.drive import Where  # noqa: E402
from digitwise.sweeps.jobs import Job  # noqa: E402
from digitwise.sweeps.place import Place  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray has its own
RAY = Where("ray")
#: Long enough that a kill comes in the middle.
LONGER = with_training(steps=40, checkpoints=4, save_seconds=0.0)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


CLIENTS = free_port()  # of the server for clients


@pytest.fixture(scope="module")
def cluster():
    # A busy machine is slow to start a node, and a process for a client.
    os.environ["RAY_raylet_start_wait_time_s"] = "300"  # noqa: SIM112 - its name
    os.environ["RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S"] = "300"
    import ray
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 1, "ray_client_server_port": CLIENTS}
    found = Cluster(initialize_head=True, head_node_args=head)
    found.add_node(num_cpus=1)
    ray.init(address=found.address, log_to_driver=False)
    yield found
    ray.shutdown()
    found.shutdown()


def job(seed: int) -> Job:
    experiment = replace(LONGER, seed=seed)
    return Job(f"small/{jobs.fingerprint(experiment)}", experiment)


def test_a_killed_worker_loses_nothing(cluster, tmp_path):
    """Eight runs; the worker of one is killed when it has kept two checkpoints, and goes on from its last state."""
    place, work, killed = Place(tmp_path), [job(seed) for seed in range(8)], {}

    def kill_one() -> None:
        deadline = time.monotonic() + 300
        while not killed and time.monotonic() < deadline:
            time.sleep(0.02)
            for one in work:
                kept = tmp_path / one.name / "checkpoints" / "10.safetensors"
                record = claims.latest(place, one.name)[1]
                if kept.with_name("20.safetensors").exists() and record and record["state"] == "running":
                    os.kill(record["process"], signal.SIGKILL)
                    killed.update(name=one.name, inode=kept.stat().st_ino)
                    return

    thread = threading.Thread(target=kill_one)
    thread.start()
    records = drive.run(work, place, RAY)
    thread.join()
    assert [records[one.name]["state"] for one in work] == ["finished"] * 8 and killed
    machines = {record["process"] for record in records.values()}
    assert len(machines) >= 2, "one worker did it all"
    assert claims.latest(place, killed["name"])[0] == 2
    again = tmp_path / killed["name"] / "checkpoints" / "10.safetensors"
    assert again.stat().st_ino == killed["inode"], "it was trained from the start"
    (seed,) = [one.experiment.seed for one in work if one.name == killed["name"]]
    train(straight := Run.create(tmp_path / "straight", replace(LONGER, seed=seed)))
    ours = Run.open(tmp_path / killed["name"]).load_checkpoint(40)
    assert all(torch.equal(ours[name], tensor) for name, tensor in straight.load_checkpoint(40).items())


def test_a_client_of_a_cluster_sends_its_own_code(cluster, tmp_path):
    """From another process, by `ray://`; the file stands in a folder that the workers do not work in."""
    (tmp_path / "mine.py").write_text(OWN)
    grid = ["sweep", "canvas20", "--profile", "smoke", "--arm", "absolute", "--encoding", "mine.py:Sides,relative"]
    command = [sys.executable, "-m", "digitwise", *grid, "--on", f"ray://127.0.0.1:{CLIENTS}", "--json"]
    # The process that Ray starts for a client can die at once, and Ray then lets the client wait for ever.
    for left in (2, 1, 0):
        try:
            result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
            break
        except subprocess.TimeoutExpired:
            assert left, "a cluster that is there took in no client in six minutes"
    assert result.returncode == 0, result.stderr
    assert [row["state"] for row in json.loads(result.stdout)] == ["finished"] * 2
    found = {json.loads(path.read_text())["experiment"]["encoding"].get("from")
             for path in (tmp_path / "runs").glob("canvas20/*/config.json")}  # fmt: skip
    assert found == {"mine.py:Sides", None}


def test_reproduce_and_compare_go_to_the_cluster(cluster, tmp_path, capsys):
    found = reproduce("m1-ape", "smoke", [0, 1], tmp_path, on=RAY)
    assert len(found["runs"]) == 2 and found["last"]
    here = {"process": os.getpid()}
    records = claims.records(Place(tmp_path))
    assert len(records) == 2 and all(record["process"] != here["process"] for record in records.values())
    command = ["compare", "--encodings", "relative", "--formats", "canvas", "--profile", "smoke", "--steps", "20"]
    assert main([*command, "--seeds", "0", "--on", "ray", "--out", str(tmp_path / "compare"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tables"]
    assert all(record["process"] != here["process"] for record in claims.records(Place(tmp_path / "compare")).values())


@pytest.mark.slow
def test_an_address_where_nobody_answers_is_one_line(tmp_path):
    grid = ["sweep", "m1-ape", "--profile", "smoke", "--on", "ray://127.0.0.1:1", "--out", str(tmp_path)]
    result = subprocess.run([sys.executable, "-m", "digitwise", *grid], capture_output=True, text=True)
    assert result.returncode == 2 and result.stderr.count("\n") == 1, result.stderr
    assert "--on ray://127.0.0.1:1: no cluster answers there" in result.stderr


BUSY = """
import sys, time
from ray.cluster_utils import Cluster
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "ray_client_server_port": int(sys.argv[1])})
print("ready", flush=True)
sys.stdin.read()
cluster.shutdown()
"""


@pytest.mark.slow
def test_a_cluster_too_busy_to_serve_is_asked_again_and_then_named(tmp_path):
    """Its processes for clients get no time at all to start, so every try fails."""
    never = os.environ | {"RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S": "0"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    port = free_port()
    with subprocess.Popen([sys.executable, "-c", BUSY, str(port)], env=never, **pipes) as busy:
        assert busy.stdout.readline() == "ready\n"
        on = f"ray://127.0.0.1:{port}"
        grid = ["sweep", "m1-ape", "--profile", "smoke", "--on", on, "--out", str(tmp_path)]
        command, soon = [sys.executable, "-m", "digitwise", *grid], {"RAY_CLIENT_RECONNECT_GRACE_PERIOD": "5"}
        result = subprocess.run(command, capture_output=True, text=True, env=os.environ | soon)
        busy.communicate()
    assert result.returncode == 2 and result.stderr.count("\n") == 1, result.stderr
    assert f"--on {on}: the cluster was asked 3 times and started no process for us" in result.stderr


def test_a_memory_of_one_process_is_refused(cluster):
    with pytest.raises(ValueError, match="a place that all share"):
        drive.run([job(0)], Place("memory://runs"), RAY)


def test_the_benchmark_runs(cluster, capsys):
    measure = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "sweep_on_ray.py"))["measure"]
    assert len(measure(2, 1)) == 1 and "ratio" in capsys.readouterr().out


@pytest.mark.slow
def test_ctrl_c_saves_what_is_under_way(cluster, tmp_path):
    grid = ["sweep", "m1-ape", "--profile", "smoke", "--steps", "5000", "--seeds", "0-3", "--out", str(tmp_path)]
    command = [sys.executable, "-m", "digitwise", *grid, "--on", "ray"]
    environment = os.environ | {"RAY_ADDRESS": cluster.address}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    place, deadline = Place(tmp_path), time.monotonic() + 300
    while time.monotonic() < deadline and process.poll() is None:
        if sum(record["step"] > 0 for record in claims.records(place).values()) >= 2:
            break
        time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130 and "the same command goes on from here" in said
    states = {name: record["state"] for name, record in claims.records(place).items()}
    assert len(states) == 2 and set(states.values()) == {"stopped"}
    assert len(list(tmp_path.glob("m1-ape*/*/state.safetensors"))) == 2
