"""Commands that answer problems (one, a file of them, or a stream), and that share who answers them."""

import argparse
import json
import queue
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from digitwise.cli.terminal import Bar, show

if TYPE_CHECKING:
    from digitwise.answers.solving import Solution, Solves

LINES, BYTES = 20_000, 4_000_000
"""What is answered together, at most: problems of like length share a batch."""
QUEUE = 4096
"""Lines of a stream that may wait."""
MANY = 1000
"""Lines from which on progress is shown."""
Line = tuple[int, bytes]


def solve(options: argparse.Namespace) -> None:
    text, model = " ".join(options.problem), _who(options).load(options.model) if options.model else None
    if text == "-":
        if sys.stdin is None:  # `<&-`
            raise ValueError("the problems cannot be read: standard input is closed")
        _solve_lines(options, model, ready(sys.stdin.buffer))
    elif _is_file(text):
        with open(text, "rb") as lines:
            _solve_lines(options, model, ready(lines, stream=False))
    else:
        _, error = _answer(options, model, [(0, text.encode(errors="surrogatepass"))])
        if error:
            raise ValueError(error)


def _who(options: argparse.Namespace) -> Any:
    """Networks, or tables: these without torch, which takes a second to import."""
    return import_module(f"digitwise.answers.{'compiled' if options.compiled else 'solver'}")


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except OSError:  # a long problem is not a name of a file
        return False


def _solve_lines(options: argparse.Namespace, model: "Solves | None", parts: Iterator[list[Line]]) -> None:
    """Every line that is not empty. One that is not a problem is named, and the others are answered."""
    asked = refused = right = 0
    for part in parts:
        chosen = [(number, line) for number, line in part if line.strip()]
        solutions, errors = _answer(options, model, chosen)
        asked, refused = asked + len(chosen), refused + len(chosen) - len(solutions)
        right += sum(solution.right is True for solution in solutions)
        if errors and not options.json:
            print(errors, file=sys.stderr)
    if options.check:
        print(f"{right:,} of {asked:,} right", file=sys.stderr)
    if refused:
        raise ValueError(f"{refused:,} of {asked:,} lines are not problems that can be solved")


def ready(lines: Iterable[bytes], stream: bool = True) -> Iterator[list[Line]]:
    """Numbered lines, many at once. A stream that waits for an answer gets it: there, as many as have come in."""
    waiting: queue.Queue[Line | None] = queue.Queue(QUEUE)
    failures: list[Exception] = []

    def read() -> None:
        try:
            for number, line in enumerate(lines, start=1):
                if number == 1 and line[:2] in (b"\xff\xfe", b"\xfe\xff"):
                    raise ValueError("they are UTF-16, and must be UTF-8")
                waiting.put((number, line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line))
        except Exception as error:  # whatever it is: it must not leave the other thread waiting
            failures.append(error)
        waiting.put(None)

    threading.Thread(target=read, daemon=True).start()
    part: list[Line] = []
    size = 0
    while (line := waiting.get()) is not None:
        part.append(line)
        size += len(line[1])
        if len(part) == LINES or size > BYTES or (stream and waiting.empty()):
            yield part
            part, size = [], 0
    yield part
    if failures:
        raise ValueError(f"the problems cannot be read: {failures[0]}")


def _answer(options: argparse.Namespace, model: "Solves | None", lines: list[Line]) -> tuple[list["Solution"], str]:
    """Prints the answers in the order of the lines, and returns them, and what was wrong with the other lines."""
    from digitwise.answers import Problem
    from digitwise.answers.solving import solve as run_solver

    asked, errors = [], {}
    for number, line in lines:
        try:
            problem = Problem.parse(_text(line))
            solver = model or _who(options).choose(problem)
            asked.append((solver, solver.admitted(problem)))
        except ValueError as refused:
            errors[number] = f"line {number}: {refused}" if number else str(refused)
    bar = Bar()

    def progress(done: int) -> None:
        if len(asked) >= MANY:
            bar(f"lines {lines[0][0]:,} to {lines[-1][0]:,}", done, len(asked), "")

    solutions = run_solver(asked, options.check, progress)
    bar.close()
    remaining = iter(solutions)
    for number, line in lines:
        if number not in errors:
            print(_line(options, next(remaining)), flush=True)
        elif options.json and number:
            print(json.dumps({"problem": line.decode(errors="replace").strip(), "error": errors[number]}), flush=True)
    return solutions, "\n".join(errors.values())


def _text(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        shown = line.strip().decode(errors="replace")
        raise ValueError(f"'{shown[:40]}' cannot be read: it is not UTF-8") from None


def _line(options: argparse.Namespace, solution: "Solution") -> str:
    document: dict[str, Any] = asdict(solution)
    if solution.right is None:
        del document["right"]
    if options.json:
        return json.dumps(document)
    return (
        solution.answer + {None: "", True: "  right", False: "  wrong"}[solution.right] + "  proven" * solution.proven
    )


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
