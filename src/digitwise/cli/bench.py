"""The command that measures speed, and compares it with what was committed."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from digitwise.cli.terminal import Bar, show

if TYPE_CHECKING:
    from digitwise.bench.measure import Session

NAMES = ("data", "samplers", "scores", "step", "compiled", "solve", "growth", "time-to-accuracy")


def add_options(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("what", nargs="?", choices=[*NAMES, "all"], metavar="WHAT", help=f"{', '.join(NAMES)}, all")
    sub.add_argument("--repeats", type=int, default=7, help="rounds in which all sides take their turns")
    sub.add_argument("--threads", type=int, help="of torch; default: its own choice, in a check the committed number")
    sub.add_argument("--minutes", type=float, default=15, help="limit of each training of time-to-accuracy")
    sub.add_argument("--smoke", action="store_true", help="tiny sizes, to see that everything runs")
    sub.add_argument(
        "--out", type=Path, nargs="?", const=Path("results/bench"), metavar="FOLDER",
        help="write results into this folder or .json file; without a name into results/bench; a check reads there",
    )  # fmt: skip
    sub.add_argument(
        "--check", action="store_true", help="fail where a ratio is over 20 %% worse than the committed one"
    )


def bench(options: argparse.Namespace) -> int:
    from digitwise.bench import default_threads
    from digitwise.bench.measure import Session

    if options.repeats < 1 or (options.threads or 1) < 1 or options.minutes <= 0:
        raise ValueError("--repeats and --threads must be at least 1, and --minutes above 0")
    size = "smoke" if options.smoke else "quick" if options.check else "full"
    bar = Bar()
    session = Session(options.repeats, options.threads or default_threads(), size, options.minutes, bar)
    return _check(options, session, bar) if options.check else _measure(options, session, bar)


def _measure(options: argparse.Namespace, session: "Session", bar: Bar) -> int:
    from digitwise.bench import run
    from digitwise.bench.results import FOLDER

    if options.what is None:
        raise ValueError(f"name what to measure: {', '.join(NAMES)}, or all (see digitwise bench --help)")
    names = list(NAMES) if options.what == "all" else [options.what]
    if options.out and options.out.suffix == ".json" and len(names) > 1:
        raise ValueError(f"--out {options.out} is one file, and all has {len(names)} results: name a folder")
    if options.out == FOLDER and options.smoke:
        raise ValueError(f"--smoke measures nothing to be kept in {FOLDER}: give --out another folder")
    results = []
    for name in names:
        results.append(run(name, session))
        bar.close()
        _print(options, results[-1])
        if options.out:
            _write(results[-1], options.out)
    if options.json:
        show(options, results if options.what == "all" else results[0])
    return 0


def _check(options: argparse.Namespace, session: "Session", bar: Bar) -> int:
    """Return 1 if a ratio is worse than the committed one."""
    from digitwise.bench import CHECKED, check
    from digitwise.bench.results import FOLDER, read

    folder = options.out or FOLDER
    names = {None: CHECKED, "all": NAMES}.get(options.what, (options.what,))
    committed = {name: read(path) for name in names if (path := folder / f"{name}.json").is_file()}
    if not committed:
        raise ValueError(f"{folder} has no results of {', '.join(names)} to compare with: name their folder with --out")
    failures, results = list[str](), []
    for before in committed.values():
        result, messages = check(before, replace(session, threads=options.threads or before["threads"]))
        bar.close()
        _print(options, result)
        results.append(result)
        failures += messages
    if options.json:
        show(options, {"worse": failures, "results": results})
    elif not options.csv:
        print("\n".join(f"worse: {message}" for message in failures) or "nothing is worse than committed")
    return 1 if failures else 0


def _print(options: argparse.Namespace, result: dict[str, Any]) -> None:
    from digitwise.bench.results import heading, table, text

    if options.csv:
        show(options, result, table(result))
    elif not options.json:
        print(f"{result['benchmark']}: {heading(result)}\n\n{text(result)}\n", flush=True)


def _write(result: dict[str, Any], path: Path) -> None:
    from digitwise.bench.reaching import draw
    from digitwise.bench.results import write

    written = write(result, path)
    if result["benchmark"] == "time-to-accuracy":
        draw(result, written.with_suffix(".png"))
