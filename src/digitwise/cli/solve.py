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
    from digitwise.answers.solver import Solution, Solver


def solve(options: argparse.Namespace) -> None:
    from digitwise.answers.solver import load

    text, model = " ".join(options.problem), load(options.model) if options.model else None
    if text == "-":
        _solve_lines(options, model, sys.stdin)
    elif _is_file(text):
        with open(text, encoding="utf-8-sig") as lines:
            _solve_lines(options, model, lines)
    else:
        _, error = _answer(options, model, [(0, text)])
        if error:
            raise ValueError(error)


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except OSError:  # a long problem is no name of a file
        return False


def _solve_lines(options: argparse.Namespace, model: "Solver | None", lines: TextIO) -> None:
    """Every line that is not empty. One that is no problem is said, and does not keep the others from an answer."""
    asked = refused = right = 0
    for part in ready(lines):
        chosen = [(number, line) for number, line in part if line.strip()]
        solutions, errors = _answer(options, model, chosen)
        asked, refused = asked + len(chosen), refused + len(chosen) - len(solutions)
        right += sum(solution.right is True for solution in solutions)
        if errors and not options.json:
            print(errors, file=sys.stderr)
    if options.check:
        print(f"{right:,} of {asked:,} right", file=sys.stderr)
    if refused:
        raise ValueError(f"{refused:,} of {asked:,} lines are no problems that can be solved")


def ready(lines: TextIO) -> Iterator[list[tuple[int, str]]]:
    """Numbered lines, as many at once as have come in: a stream that waits for an answer gets it."""
    from digitwise.answers.solver import AT_ONCE

    waiting: queue.Queue[tuple[int, str] | None] = queue.Queue(4 * AT_ONCE)
    failures: list[Exception] = []

    def read() -> None:
        try:
            for numbered in enumerate(lines, start=1):
                waiting.put(numbered)
        except (OSError, UnicodeError) as error:
            failures.append(error)
        waiting.put(None)

    threading.Thread(target=read, daemon=True).start()
    while (line := waiting.get()) is not None:
        part = [line]
        while len(part) < AT_ONCE and not waiting.empty():
            line = waiting.get()
            if line is None:
                waiting.put(None)  # for the loop outside
                break
            part.append(line)
        yield part
    if failures:
        raise ValueError(f"the problems cannot be read: {failures[0]}")


def _answer(
    options: argparse.Namespace, model: "Solver | None", lines: list[tuple[int, str]]
) -> tuple[list["Solution"], str]:
    """Prints the answers in the order of the lines, and returns them, and what was wrong with the other lines."""
    from digitwise.answers import Problem
    from digitwise.answers.solver import choose
    from digitwise.answers.solver import solve as run_solver

    asked, errors = [], {}
    for number, line in lines:
        try:
            problem = Problem.parse(line)
            solver = model or choose(problem)
            asked.append((solver, solver.admitted(problem)))
        except ValueError as refused:
            errors[number] = f"line {number}: {refused}" if number else str(refused)
    solutions = run_solver(asked, options.check)
    remaining = iter(solutions)
    for number, line in lines:
        if number not in errors:
            print(_line(options, next(remaining)), flush=True)
        elif options.json and number:
            print(json.dumps({"problem": line.strip(), "error": errors[number]}), flush=True)
    return solutions, "\n".join(errors.values())


def _line(options: argparse.Namespace, solution: "Solution") -> str:
    document: dict[str, Any] = asdict(solution)
    if solution.right is None:
        del document["right"]
    if options.json:
        return json.dumps(document)
    return solution.answer + {None: "", True: "  right", False: "  wrong"}[solution.right]


def share(options: argparse.Namespace) -> None:
    from digitwise.answers.hub import bundle, push_to_hub
    from digitwise.answers.solver import Solver
    from digitwise.runs.folder import Run

    for folder in options.runs:
        if (folder / "weights.safetensors").exists():
            raise ValueError(
                f"{folder} is a saved model already: share takes runs, from whose tests it writes the card"
            )
    folder = bundle([Run.open(folder) for folder in options.runs], options.name, options.to)
    document = {"folder": str(folder)}
    if options.hub:
        document["hub"] = push_to_hub(Solver.from_folder(folder), options.hub)
    show(options, document, None, "\n".join(document.values()))
