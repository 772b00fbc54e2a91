"""The command that compares encodings."""

import argparse
import sys
from pathlib import Path
from typing import Any

from digitwise import tables
from digitwise.cli.sweep import cluster, where
from digitwise.cli.terminal import Bar, parse_numbers, show


def add_options(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--encodings", default="all", help="names from: digitwise ls encodings; path/to/mine.py:Mine; all")
    sub.add_argument("--tasks", default="addition", help="addition, multiply-1, multiply-2, or several with commas")
    sub.add_argument("--formats", default="canvas,growing", help="canvas, and growing for encodings made for that")
    sub.add_argument("--budget", help="90s, 10m: training time of an encoding on a task, its tuning included")
    sub.add_argument("--steps", type=int, help="of each training instead; default: 2000")
    sub.add_argument("--seeds", default="0-2", help="for instance 0-2; 100 and up are for tuning")
    sub.add_argument("--profile", default="cpu", help="cpu or smoke")
    sub.add_argument("--out", type=Path, default=Path("runs/compare"), help="folder that accumulates rows")
    sub.add_argument("--table", action="store_true", help="train nothing, show what there is")
    cluster(sub)


def compare(options: argparse.Namespace) -> int | None:
    from digitwise.comparison import ENCODINGS, FORMATS, TASKS, running, summary
    from digitwise.comparison.setting import CANVAS, REFERENCE, TRAINED, TUNED, setting
    from digitwise.config import did_you_mean
    from digitwise.plots import small_multiples
    from digitwise.runs.training import Stopped

    names = list(ENCODINGS) if options.encodings == "all" else options.encodings.split(",")
    tasks, formats = options.tasks.split(","), options.formats.split(",")
    for what, given, known in (("task", tasks, TASKS), ("format", formats, tuple(FORMATS))):
        for name in given:
            if name not in known:
                raise ValueError(f"no {what} '{name}' to compare on{did_you_mean(name, known)}")
    if options.profile not in ("cpu", "smoke"):
        raise ValueError(f"--profile is cpu or smoke here, not '{options.profile}'")
    if options.steps is not None and options.steps < running.LEAST_STEPS:
        raise ValueError(f"--steps must be at least {running.LEAST_STEPS}, not {options.steps}")
    seeds = parse_numbers(options.seeds, "--seeds")
    if any(seed >= 100 for seed in seeds):
        raise ValueError("--seeds of 100 and up are for tuning: report smaller ones")
    settings = [setting(task, format, options.profile) for task in tasks for format in formats]
    todo = running.works(names, settings, options.out)  # refuses unknown names before anything is done
    budget = None if options.budget is None else running.parse_budget(options.budget)
    bar, on = Bar(), where(options)
    try:
        planned = []
        for work in [] if options.table else todo:
            trainings = TUNED * len(work.where.grid()) + len(seeds)
            steps = running.plan_of(work.where, options.out, budget, options.steps, trainings, options.profile)
            planned.append((work, steps))
        for rows in [[row] for row in planned] if on.name == "here" else [planned] * bool(planned):
            running.compare(rows, seeds, options.profile, bar, on)
    except (Stopped, KeyboardInterrupt):
        bar.close()
        print("stopped: the same command goes on from here", file=sys.stderr)
        return 130
    bar.close()
    found, left_out = summary.tables(settings, options.out)
    if not any(found.values()):
        raise ValueError(f"{options.out} holds nothing to show for {options.tasks}: leave out --table")
    panels = summary.curves(settings, options.out)
    title = f"Exact match by length, trained on at most {TRAINED} digits; longest {CANVAS}; at equal steps"
    figure = small_multiples(panels, options.out / "encodings.png", title, TRAINED)
    document = {"tables": found, "figure": str(figure), "left out": left_out}
    if options.json or options.csv:
        show(options, document, [{"table": which} | row for which, rows in found.items() for row in rows])
        return None
    for which, heading in summary.TABLES.items():
        print(f"{heading}{explained(which, found[which], REFERENCE)}")
        print(f"{tables.text(summary.in_cells(found[which]))}\n")
    for format in formats:
        print(f"{format}: {FORMATS[format]}")
    print(f"figure: {figure}")
    for reason in left_out:
        print(f"left out: {reason}", file=sys.stderr)
    return None


def explained(which: str, rows: list[dict[str, Any]], reference: str) -> str:
    """What a table holds equal, and that all were tuned alike."""
    tried = sorted({row["tried"] for row in rows})
    tuned = f"each tuned by {' or '.join(map(str, tried))} trainings of half the steps on another seed"
    times = f", as long as {reference} takes for the steps above" if which == "time" else ""
    return f"{times}; {tuned}; median over seeds (lowest-highest):"
