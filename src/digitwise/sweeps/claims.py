"""Who does what: of several drivers and machines that share a place, one at a time works on a run.

A claim is a small file, `.claims/NAME/NUMBER.json`; the highest number counts. Whoever takes a run over from one who is
gone creates the next number, which the file system lets only one do. The holder writes the file anew every few seconds
with how far it is; a claim that no longer changes is one whose holder is gone. Clocks are never compared.
"""

import os
import socket
import threading
import time
from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from digitwise.sweeps.jobs import Job, digest
from digitwise.sweeps.place import Place

CLAIMS = ".claims"
BEAT = 5.0
"""Seconds between two beats of a claim."""
GONE = 60.0
"""Seconds without a beat after which its holder is gone. On one machine it is gone with its process."""

Record = dict[str, Any]


class Taken(Exception):
    """Another one has taken the run over, since this one seemed to be gone."""


class Claim:
    """The right to work on a run, as long as it beats."""

    def __init__(self, place: Place, name: str, number: int, record: Record):
        self.place, self.name, self.number, self.record = place, name, number, record
        self.lost = threading.Event()

    def tell(self, **changes: Any) -> None:
        """Note how far the work is; the next beat writes it."""
        if self.lost.is_set():
            raise Taken(self.name)
        self.record = self.record | changes

    def write(self) -> None:
        self.record = self.record | {"beat": self.record["beat"] + 1}
        self.place.write(self.record, CLAIMS, _slug(self.name), f"{self.number}.json")

    @contextmanager
    def beating(self) -> Iterator[None]:
        done = threading.Event()

        def beat() -> None:
            while not done.wait(BEAT):
                try:
                    if _numbers(self.place, self.name)[-1] > self.number:
                        self.lost.set()
                        return
                    self.write()
                except OSError:  # a network or a disk that fails for a moment
                    continue

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def close(self, state: str, **results: Any) -> Record:
        if not self.lost.is_set():
            self.record = self.record | {"state": state} | results
            self.write()
        return self.record


class Watch:
    """What one driver has seen of the claims of others."""

    def __init__(self, place: Place):
        self.place = place
        self.seen: dict[str, tuple[Any, float]] = {}

    def take(self, job: Job, driver: str) -> Claim | None:
        """The claim of a job, unless it is done or someone else holds it.

        A driver may take its own again: the worker that held it is gone.
        """
        number, record = latest(self.place, job.name)
        if is_done(self.place, job, record):
            return None
        if record is not None and record["state"] == "running" and record["driver"] != driver and self.is_held(record):
            return None
        fresh = {"name": job.name, "state": "running", "driver": driver, "tests": digest(job.tests), "beat": 0}
        fresh |= {"step": 0, "steps": job.experiment.steps, **_here()}
        if not self.place.create(fresh, CLAIMS, _slug(job.name), f"{number + 1}.json"):
            return None
        return Claim(self.place, job.name, number + 1, fresh)

    def is_held(self, record: Record) -> bool:
        """Whether the holder of a running claim is there."""
        here = _here()
        if record.get("machine") == here["machine"] and here["started"] is not None:
            return _started(record["process"]) == record["started"]
        beat, now = (record["driver"], record["beat"]), time.monotonic()
        before, since = self.seen.get(record["name"], (None, now))
        self.seen[record["name"]] = (beat, since if beat == before else now)
        return beat != before or now - since < GONE


def is_done(place: Place, job: Job, record: Record | None) -> bool:
    """Whether a job was finished with these tests, and its results are there."""
    finished = record is not None and record["state"] == "finished" and record["tests"] == digest(job.tests)
    return finished and place.exists(job.name, "metrics.jsonl")


def latest(place: Place, name: str) -> tuple[int, Record | None]:
    """The highest claim of a run, and its content if it can be read; number 0 if there is none."""
    numbers = _numbers(place, name)
    if not numbers:
        return 0, None
    record = place.read(CLAIMS, _slug(name), f"{numbers[-1]}.json")
    return numbers[-1], record if _is_whole(record) else None


def records(place: Place, names: Container[str] | None = None) -> dict[str, Record]:
    """What became of the runs with these names, or of every run of a place, by name.

    There may be 10,000 of them: they are listed in one request, and read together.
    """
    newest: dict[str, int] = {}
    for path in place.below(CLAIMS):
        slug, _, file = path.partition("/")
        if (names is None or unquote(slug) in names) and (number := _number(file)):
            newest[slug] = max(newest.get(slug, 0), number)
    found = place.read_all([place.path(CLAIMS, slug, f"{number}.json") for slug, number in newest.items()])
    return {unquote(slug): record for slug, record in zip(newest, found, strict=True) if _is_whole(record)}


def _is_whole(record: Any) -> bool:
    return isinstance(record, dict) and {"name", "state", "driver", "beat", "tests"} <= set(record)


def _numbers(place: Place, name: str) -> list[int]:
    return sorted(filter(None, map(_number, place.names(CLAIMS, _slug(name)))))


def _number(file: str) -> int:
    """Of a claim by its file; 0 if it is not one, as those that are being written are not."""
    stem = file.removesuffix(".json")
    return int(stem) if stem.isdecimal() and stem != file else 0


def _slug(name: str) -> str:
    return quote(name, safe="")


def _here() -> dict[str, Any]:
    """This process, and the machine by which others recognise that it is theirs too."""
    parts = [socket.gethostname()]
    for path in ("/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid"):
        try:
            parts.append(os.readlink(path) if path.endswith("pid") else Path(path).read_text().strip())
        except OSError:
            continue
    return {"machine": " ".join(parts), "process": os.getpid(), "started": _started(os.getpid())}


def _started(process: int) -> str | None:
    """When a process of this machine began, in its kernel's own measure; None if it is gone, or nobody can tell."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if state[0] in "ZX" else state[19]
