"""Many jobs: done in this process one after the other, or on a Ray cluster; those of other drivers are waited for."""

import os
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from digitwise.runs.folder import Run
from digitwise.runs.places import below
from digitwise.sweeps import claims
from digitwise.sweeps.claims import Record, Watch
from digitwise.sweeps.jobs import Job
from digitwise.sweeps.place import Place
from digitwise.sweeps.work import perform

#: `report(done, total, note)`: steps of training, over all jobs.
Report = Callable[[int, int, str], None]
PAUSE = 1.0
"""Seconds between two looks at what others do."""


class Where(NamedTuple):
    """Where runs are done, and what each asks for there."""

    name: str = "here"
    """`here` in this process, `ray` on the cluster of this machine, or `ray://HOST:PORT`."""
    cpus: float = 1
    gpus: float = 0
    track: str = ""
    """A tracker by name, beside the log of each run."""


HERE = Where()


def run(
    jobs: Sequence[Job], place: Place, on: Where = HERE, report: Report = lambda done, total, note: None
) -> dict[str, Record]:
    """Do what is not done yet, and return the record of every job by name.

    A job that fails is recorded so, and the others go on. Several drivers may work on the same jobs: each job is done
    by one of them, and all return when all jobs are done.
    """
    work = Work(jobs, place, report)
    if work.left and on.name == "here":
        _here(work, on.track)
    elif work.left:
        from digitwise.sweeps import on_ray

        on_ray.run(work, on)
    work.tell()
    return {job.name: work.results[job.name] for job in jobs}


class Work:
    """What is done of some jobs and what is left, and who says so."""

    def __init__(self, jobs: Sequence[Job], place: Place, report: Report):
        self.place, self.watch, self.report = place, Watch(place), report
        self.driver = os.urandom(8).hex()
        self.left = {job.name: job for job in jobs}
        self.steps = {job.name: job.experiment.steps for job in jobs}
        self.results: dict[str, Record] = {}
        self.drop_finished()

    def drop_finished(self) -> dict[str, Record]:
        """Take what is finished, by whomever, off the list; returns the records of what was on it."""
        found = claims.records(self.place, self.left)
        for job in list(self.left.values()):
            record = found.get(job.name)
            if record is None and not job.tests and is_finished(self.place, job):
                record = {"name": job.name, "state": "finished"}  # by other means, and long ago
                self.finish(record)
            elif record is not None and claims.is_done(self.place, job, record):
                self.finish(record)
        return found

    def finish(self, record: Record) -> None:
        self.results[record["name"]] = record
        self.left.pop(record["name"], None)

    def tell(self, running: dict[str, int] | None = None, note: str = "") -> None:
        """Report the steps that are done, with those of runs under way, by name."""
        done = sum(self.steps[name] for name in self.results)
        done += sum(min(step, self.steps[name]) for name, step in (running or {}).items())
        runs = f"{len(self.results)} of {len(self.steps)} runs"
        self.report(done, sum(self.steps.values()), f"{runs}, {note}" if note else runs)


def _here(work: Work, track: str) -> None:
    while work.left:
        before = len(work.left)
        for job in list(work.left.values()):

            def told(step: int, loss: float, name: str = job.name) -> None:
                work.tell({name: step}, f"{name}, loss {loss:.4f}")

            record = perform(job, work.watch, work.driver, told, track)
            if record is not None:
                work.finish(record)
                work.tell()
        work.drop_finished()
        if len(work.left) == before:  # others hold them all
            work.tell(note="waiting for another driver")
            time.sleep(PAUSE)


def is_finished(place: Place, job: Job) -> bool:
    """Whether a run in a folder was trained already, whoever did it."""
    folder = place.folder and below(place.folder, *job.name.split("/"))
    if folder is None or not (folder / "config.json").exists():
        return False
    run = Run.open(folder)
    return run.experiment == job.experiment and run.finished and run.load_state() is None


def failures(results: dict[str, Record]) -> dict[str, Any]:
    """The reason of each job that failed, by name."""
    return {name: record["error"] for name, record in results.items() if record["state"] == "failed"}
