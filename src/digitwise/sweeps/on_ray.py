"""Jobs on a Ray cluster: one task per run, tried again where a worker dies. The only file that imports ray."""

import logging
import time
import warnings
from typing import Any

from digitwise.runs.training import Stopped
from digitwise.sweeps import claims
from digitwise.sweeps.claims import Record, Watch
from digitwise.sweeps.drive import Where, Work
from digitwise.sweeps.jobs import Job
from digitwise.sweeps.place import Place
from digitwise.sweeps.work import perform

RETRIES = 20
"""How often a run is gone on with after its worker died; what fails by itself is not tried again."""
LOOK = 2.0
"""Seconds between two looks at the claims, at least."""
SHARE = 20
"""A look at the claims of very many runs takes a while: so many times as long as the last one took, none is taken."""
TRIES = 3
"""How often a cluster that answers is asked to start the process by which a client works there."""
PATIENCE = 60.0
"""Seconds that runs get to save their state when the sweep is stopped."""


def connect(on: str) -> Any:
    """Ray, connected to the cluster at an address; `ray` is the one of this machine, started if there is none."""
    if not (on == "ray" or on.startswith("ray://")):
        raise ValueError(f"--on takes here, ray or ray://HOST:PORT, not '{on}'")
    try:
        import ray
    except ImportError as error:
        raise ValueError(f"--on {on} needs Ray: pip install 'digitwise[ray]'") from error
    for left in reversed(range(TRIES)):
        if ray.is_initialized():
            break
        try:
            with warnings.catch_warnings(action="ignore"):  # they say in many words what the error says
                ray.init(address=None if on == "ray" else on, log_to_driver=False, logging_level=logging.WARNING)
        except ConnectionAbortedError as error:  # a cluster is there, but a busy one gives its process 30 seconds only
            if not left:
                reason = str(error).strip().splitlines()[-1]
                said = f"--on {on}: the cluster was asked {TRIES} times and started no process for us ({reason})"
                raise ValueError(said) from error
        except (ConnectionError, RuntimeError) as error:
            reason = next(iter(str(error).splitlines()), "")
            raise ValueError(f"--on {on}: no cluster answers there ({reason})") from error
    return ray


def run(work: Work, on: Where) -> None:
    """Do the jobs that are left, and tell how far they are."""
    ray = connect(on.name)
    if work.place.folder is None and "memory" in work.place.where.partition("://")[0]:
        raise ValueError(f"--out {work.place.where} is memory of one process: a cluster needs a place that all share")
    task = ray.remote(num_cpus=on.cpus, num_gpus=on.gpus, max_retries=RETRIES)(do)
    shared = {"place": work.place.address, "driver": work.driver, "threads": max(1, int(on.cpus)), "track": on.track}

    def begin(job: Job) -> Any:
        return task.options(name=job.name).remote(job.plain() | shared)

    under_way = {begin(job): job for job in work.left.values()}
    held: dict[str, Job] = {}  # by other drivers
    steps: dict[str, int] = {}
    look = time.monotonic() + LOOK  # when to look at the claims again
    try:
        while under_way or held:
            if not under_way:
                time.sleep(LOOK)
            for reference in ray.wait(list(under_way), timeout=LOOK)[0] if under_way else []:
                job = under_way.pop(reference)
                record = outcome(ray, reference, job)
                if record is None:
                    held[job.name] = job
                else:
                    work.finish(record)
            if time.monotonic() >= look:
                began = time.monotonic()
                found = work.drop_finished() if held else claims.records(work.place, work.left)
                for job in let_go(held, found, work):
                    del held[job.name]
                    if job.name in work.left:
                        under_way[begin(job)] = job
                steps = {name: record["step"] for name, record in found.items() if record["state"] == "running"}
                look = time.monotonic() + max(LOOK, SHARE * (time.monotonic() - began))
            work.tell({name: step for name, step in steps.items() if name in work.left})
    except KeyboardInterrupt:
        for reference in under_way:
            ray.cancel(reference)
        if under_way:
            ray.wait(list(under_way), num_returns=len(under_way), timeout=PATIENCE)
        raise Stopped("everywhere") from None


def do(task: dict[str, Any]) -> dict[str, Any] | None:
    """A task: one job, in a worker of the cluster."""
    import torch

    torch.set_num_threads(task["threads"])
    job = Job.from_plain(task)
    return perform(job, Watch(Place(task["place"])), task["driver"], track=task["track"])


def outcome(ray: Any, reference: Any, job: Job) -> dict[str, Any] | None:
    try:
        return ray.get(reference)
    except ray.exceptions.RayError as error:
        reason = str(getattr(error, "cause", None) or error).strip().splitlines()
        return {"name": job.name, "state": "failed", "error": reason[-1] if reason else type(error).__name__}


def let_go(held: dict[str, Job], found: dict[str, Record], work: Work) -> list[Job]:
    """The jobs of other drivers that are done, or that nobody does any more."""

    def is_held(record: Record | None) -> bool:
        return record is not None and record["state"] == "running" and work.watch.is_held(record)

    return [job for job in held.values() if job.name not in work.left or not is_held(found.get(job.name))]
