"""The command that does many runs: a grid of fields and seeds, in this process or on a cluster."""

import argparse
import hashlib
import json
import sys
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from digitwise.cli.terminal import Bar, parse_numbers, show

if TYPE_CHECKING:
    from digitwise.sweeps.drive import Where
    from digitwise.sweeps.jobs import Cell
    from digitwise.sweeps.place import Place

SWEEPS = ".sweeps"
SHOWN = ("state", "step", "loss", "validation", "seconds", "error")


def options(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("recipe", help="a name from: digitwise ls recipes; or status, for what became of earlier sweeps")
    sub.add_argument("--profile", default="cpu", help="paper, cpu or smoke")
    sub.add_argument("--arm", help="only this one of the recipe's models")
    sub.add_argument("--seeds", default="0", help="training seeds, for instance 0-9 or 0,3")
    sub.add_argument("--out", default="runs", metavar="PLACE", help="folder for the runs, or an address: s3://bucket/x")
    sub.add_argument("--dry-run", action="store_true", help="say how many runs and hours it would be")
    cluster(sub)


def cluster(sub: argparse.ArgumentParser) -> None:
    """Options of all commands that do several runs."""
    sub.add_argument("--on", default="here", metavar="WHERE", help="here, ray or ray://HOST:PORT")
    sub.add_argument("--cpus", type=float, default=1, help="that a run on a cluster asks for")
    sub.add_argument("--gpus", type=float, default=0, help="that a run on a cluster asks for")
    sub.add_argument("--track", default="", metavar="NAME", help="also log to tensorboard, wandb or trackio")


def where(options: argparse.Namespace) -> "Where":
    """What `cluster` has asked for."""
    from digitwise.runs.tracking import refuse_tracker
    from digitwise.sweeps.drive import Where

    refuse_tracker(options.track)
    if min(options.cpus, options.gpus) < 0:
        raise ValueError("--cpus and --gpus must not be negative")
    return Where(options.on, options.cpus, options.gpus, options.track)


def sweep(options: argparse.Namespace) -> int | None:
    from digitwise.config import did_you_mean
    from digitwise.paper import arms
    from digitwise.runs.training import Stopped
    from digitwise.sweeps import claims, drive, jobs
    from digitwise.sweeps.place import Place

    place = Place(options.out)
    if options.recipe == "status":
        _status(options, place)
        return None
    on = where(options)
    chosen = arms(options.recipe, options.profile)
    if options.arm is not None and options.arm not in chosen:
        raise ValueError(f"no arm '{options.arm}' in {options.recipe}{did_you_mean(options.arm, chosen)}")
    chosen = {arm: e for arm, e in chosen.items() if options.arm in (None, arm)}
    if not chosen:
        raise ValueError(f"recipe {options.recipe} trains no model: digitwise reproduce {options.recipe}")
    cells = jobs.grid(chosen, options.changes, parse_numbers(options.seeds, "--seeds"))
    if options.dry_run:
        _dry_run(options, cells, claims.records(place))
        return None
    _note(place, options, cells)
    bar = Bar()
    try:
        results = drive.run([cell.job for cell in cells], place, on, partial(bar, f"sweep {options.recipe}"))
    except (KeyboardInterrupt, Stopped):
        bar.close()
        print("stopped: everything is saved, and the same command goes on from here", file=sys.stderr)
        return 130
    bar.close()
    rows = [cell.row() | _told(results[cell.job.name]) for cell in cells]
    failed = drive.failures(results)
    lines = [f"{len(rows) - len(failed)} of {len(rows)} runs are finished: {options.out}"]
    lines += [f"failed: {name}: {reason}" for name, reason in failed.items()]
    show(options, rows, _without_empty(rows), "\n".join(lines))
    return int(bool(failed))


def _told(record: dict[str, Any]) -> dict[str, Any]:
    return {name: record.get(name) for name in SHOWN}


def _without_empty(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    empty = {name for row in rows for name in row} - {
        n for row in rows for n, value in row.items() if value is not None
    }
    return [{name: value for name, value in row.items() if name not in empty} for row in rows]


def _dry_run(options: argparse.Namespace, cells: "list[Cell]", records: dict[str, Any]) -> None:
    from digitwise.sweeps.estimate import estimate

    left = [cell for cell in cells if records.get(cell.job.name, {}).get("state") != "finished"]
    found = estimate([cell.job.experiment for cell in left], records)
    document = {
        "runs": len(cells),
        "finished": len(cells) - len(left),
        "steps": sum(cell.job.experiment.steps for cell in left),
        "hours": round(found.seconds / 3600, 4),
        "estimated from finished runs": found.measured,
        "estimated from timed steps": len(left) - found.measured,
    }
    told = f"about {_long(found.seconds)} of training, one run at a time on this machine"
    by = f"by finished runs for {found.measured} of them, by timed steps for the others"
    line = f"{len(cells)} runs, {document['finished']} of them finished; {document['steps']:,} steps left, {told}; {by}"
    show(options, document, [cell.row() for cell in cells], line)


def _note(place: "Place", options: argparse.Namespace, cells: "list[Cell]") -> None:
    """Write down what belongs to a sweep, so that its status can be told before anything is done."""
    rows = [cell.row() for cell in cells]
    name = hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()[:16]
    place.create({"recipe": options.recipe, "profile": options.profile, "runs": rows}, SWEEPS, f"{name}.json")


def _status(options: argparse.Namespace, place: "Place") -> None:
    """A row for each run of every sweep of a place."""
    from digitwise.sweeps.claims import Watch, records

    found, watch = records(place), Watch(place)
    sweeps = [place.read(SWEEPS, name) for name in place.names(SWEEPS)]
    listed = {row["run"]: row for sweep in sweeps if isinstance(sweep, dict) for row in sweep["runs"]}
    if not listed:
        raise ValueError(f"there is no sweep in {options.out}: digitwise sweep RECIPE --out {options.out}")
    rows = []
    for name, row in listed.items():
        record = found.get(name, {"state": "waiting"})
        if record["state"] == "running" and not watch.is_held(record):
            record = record | {"state": "interrupted"}
        rows.append(row | _told(record))
    states = Counter(row["state"] for row in rows)
    line = f"{len(rows)} runs: " + ", ".join(f"{number} {state}" for state, number in states.items())
    left = sum(row["steps"] - (row["step"] or 0) for row in rows if row["state"] not in ("finished", "failed"))
    speeds = [record["seconds"] / record["step"] for record in found.values() if record.get("seconds")]
    if left and speeds:
        line += f"; about {_long(left * sum(speeds) / len(speeds))} of training left, one run at a time"
    show(options, rows, _without_empty(rows), line)


def _long(seconds: float) -> str:
    for unit, size in ("hours", 3600), ("minutes", 60):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} seconds"
