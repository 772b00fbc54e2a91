"""A sweep of smoke runs on two local Ray nodes beside the same sweep in one process.

    python benchmarks/sweep_on_ray.py

The start of Ray is left out. In the first round both sides also import what they use, on Ray in each worker; in the
later ones the same workers are used again. Every process has one thread: with two, small models are slower, and Ray
would gain by that. The machine should do nothing else: on a busy one two workers take time from whatever else there is,
and one process cannot.
"""

import argparse
import tempfile
from statistics import median

import ray
import torch
from ray.cluster_utils import Cluster

from digitwise.bench.measure import timed
from digitwise.paper import arms
from digitwise.sweeps import drive, jobs
from digitwise.sweeps.drive import Where
from digitwise.sweeps.jobs import Job
from digitwise.sweeps.place import Place

NODES = 2
MOST = 0.65
"""The ratio that is to be reached."""


def sweep(work: list[Job], on: Where) -> float:
    """The seconds of a sweep into a new folder."""
    with tempfile.TemporaryDirectory(prefix="digitwise-") as folder:
        records: dict[str, drive.Record] = {}
        seconds = timed(lambda: records.update(drive.run(work, Place(folder), on)))
        assert [record["state"] for record in records.values()] == ["finished"] * len(work), drive.failures(records)
    return seconds


def measure(runs: int, rounds: int) -> list[float]:
    """The ratio of each round. Both sides take turns; Ray must be connected."""
    grid = jobs.grid(arms("m1-ape", "smoke"), {}, range(runs))
    work, ratios = [cell.job for cell in grid], []
    for number in range(rounds):
        here, there = sweep(work, Where("here")), sweep(work, Where("ray"))
        ratios.append(there / here)
        print(f"round {number + 1}: one process {here:.1f} s, Ray {there:.1f} s, ratio {ratios[-1]:.3f}", flush=True)
    return ratios


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=4, help="the first one is shown, and not counted")
    options = parser.parse_args()
    torch.set_num_threads(1)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    for _ in range(NODES - 1):
        cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False)
    try:
        first, *later = measure(options.runs, max(2, options.rounds))
    finally:
        ray.shutdown()
        cluster.shutdown()
    print(f"{options.runs} runs: first {first:.3f}, then {median(later):.3f} (median of {len(later)}), at most {MOST}")
    return int(median(later) > MOST)


if __name__ == "__main__":
    raise SystemExit(main())
