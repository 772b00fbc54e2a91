"""The command that measures speed, and compares it with what was committed."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from digitwise.cli.terminal import Bar, show

if TYPE_CHECKING:
    from digitwise.bench.measure import Session

NAMES = ("data", "samplers", "scores", "step", "solve", "growth", "time-to-accuracy")


def bench(options: argparse.Namespace) -> int:
    import torch

    from digitwise.bench import run
    from digitwise.bench.measure import Session

    if options.repeats < 1 or (options.threads or 1) < 1 or options.minutes <= 0:
        raise ValueError("--repeats and --threads must be at least 1, and --minutes above 0")
    size = "smoke" if options.smoke else "quick" if options.check else "full"
    bar = Bar()
    threads = options.threads or torch.get_num_threads()
    session = Session(options.repeats, threads, size, options.minutes, bar)
    if options.check:
        return _check(options, session)
    if options.what is None:
        raise ValueError(f"name what to measure: {', '.join(NAMES)}, or all (see digitwise bench --help)")
    names = list(NAMES) if options.what == "all" else [options.what]
    if options.out and options.out.suffix == ".json" and len(names) > 1:
        raise ValueError(f"--out {options.out} is one file, and all has {len(names)} results: name a folder")
    results = []
    for name in names:
        results.append(run(name, session))
        bar.close()
        if not options.json:
            _print(options, results[-1])
        if options.out:
            _write(results[-1], options.out)
    if options.json:
        show(options, results if options.what == "all" else results[0])
    return 0


def _print(options: argparse.Namespace, result: dict[str, Any]) -> None:
    from digitwise.bench.results import heading, table, text

    if options.csv:
        show(options, result, table(result))
    else:
        print(f"{result['benchmark']}: {heading(result)}\n\n{text(result)}\n", flush=True)


def _write(result: dict[str, Any], path: Path) -> None:
    from digitwise.bench.reaching import draw
    from digitwise.bench.results import write

    written = write(result, path)
    if result["benchmark"] == "time-to-accuracy":
        draw(result, written.with_suffix(".png"))


def _check(options: argparse.Namespace, session: "Session") -> int:
    """Measure what has committed results, and return 1 if a ratio is worse, in each of two attempts."""
    from dataclasses import replace

    from digitwise.bench import CHECKED, run
    from digitwise.bench.results import FOLDER, read, worse

    folder = options.out or FOLDER
    names = {None: CHECKED, "all": NAMES}.get(options.what, (options.what,))
    committed = {name: read(path) for name in names if (path := folder / f"{name}.json").is_file()}
    if not committed:
        raise ValueError(f"{folder} has no results of {', '.join(names)} to compare with: name their folder with --out")
    failures, results = [], []
    for name, before in committed.items():
        session = replace(session, threads=options.threads or before["threads"])
        results.append(run(name, session))
        messages = worse(results[-1], before)
        if messages:  # a disturbance may have caused it: what is worse stays worse
            again = run(name, session)
            messages = [message for message in messages if _subject(message) in map(_subject, worse(again, before))]
        failures += messages
        if not options.json:
            _print(options, results[-1])
    text = [f"worse: {message}" for message in failures] or ["no ratio is more than 20 % worse than committed"]
    if options.json:
        show(options, {"worse": failures, "results": results})
    elif not options.csv:
        print("\n".join(text))
    return 1 if failures else 0


def _subject(message: str) -> str:
    return message.partition(" is ")[0]
