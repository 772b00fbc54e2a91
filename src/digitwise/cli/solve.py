"""Commands that answer problems (one, a file of them, or a stream), and that share who answers them."""

import argparse
import json
import queue
import sys
import threading
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from digitwise.cli.terminal import show

if TYPE_CHECKING:
    from digitwise.solver import Solution

AT_ONCE = 256


def solve(options: argparse.Namespace) -> None:
    text = " ".join(options.problem)
    if text == "-":
        _solve_lines(options, sys.stdin)
    elif _is_file(text):
        with open(text) as lines:
            _solve_lines(options, lines)
    else:
        _answer(options, [(None, text)])


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except OSError:  # a long problem is no name of a file
        return False


def _solve_lines(options: argparse.Namespace, lines: TextIO) -> None:
    for part in ready(lines):
        _answer(options, [(number, line) for number, line in part if line.strip()])


def ready(lines: TextIO) -> Iterator[list[tuple[int, str]]]:
    """Numbered lines, as many at once as have come in: a stream that waits for an answer gets it."""
    waiting: queue.Queue[tuple[int, str] | None] = queue.Queue(4 * AT_ONCE)

    def read() -> None:
        for numbered in enumerate(lines, start=1):
            waiting.put(numbered)
        waiting.put(None)

    threading.Thread(target=read, daemon=True).start()
    while (line := waiting.get()) is not None:
        part = [line]
        while len(part) < AT_ONCE and not waiting.empty():
            line = waiting.get()
            if line is None:
                yield part
                return
            part.append(line)
        yield part


def _answer(options: argparse.Namespace, lines: list[tuple[int | None, str]]) -> None:
    """What comes before a line that is no problem is answered before that is said."""
    from digitwise.solver import Problem, choose, load
    from digitwise.solver import solve as run_solver

    asked, error = [], None
    for number, line in lines:
        try:
            problem = Problem.parse(line)
            solver = load(options.model) if options.model else choose(problem)
            asked.append((solver, solver.admitted(problem)))
        except ValueError as refused:
            error = ValueError(f"line {number}: {refused}" if number is not None else str(refused))
            break
    for solution in run_solver(asked, options.check):
        print(_line(options, solution), flush=True)
    if error is not None:
        raise error


def _line(options: argparse.Namespace, solution: "Solution") -> str:
    document: dict[str, Any] = asdict(solution)
    if solution.right is None:
        del document["right"]
    if options.json:
        return json.dumps(document)
    if options.csv:
        raise ValueError("solve prints text or, with --json, one object a line: leave out --csv")
    return solution.answer + {None: "", True: "  right", False: "  wrong"}[solution.right]


def share(options: argparse.Namespace) -> None:
    from digitwise.hub import bundle, push_to_hub
    from digitwise.runs import Run
    from digitwise.solver import Solver

    folder = bundle([Run.open(folder) for folder in options.runs], options.name, options.to)
    document = {"folder": str(folder)}
    if options.hub:
        document["hub"] = push_to_hub(Solver.from_folder(folder), options.hub)
    show(options, document, None, "\n".join(document.values()))
