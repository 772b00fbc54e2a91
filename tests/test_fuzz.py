"""Whatever is thrown at it: nothing but ValueError from the library, one line and exit code 2 at the command line.

Hypothesis chooses seeds, and a plain random generator makes the mess: ten thousand cases within seconds.
"""

import json
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from digitwise.answers import Problem
from digitwise.answers.exchange import problems, score
from digitwise.answers.solver import Solver
from digitwise.cli import main
from digitwise.config import describe, override, paths, restore
from digitwise.paper import arms
from digitwise.runs.folder import Run
from digitwise.runs.training import train
from digitwise.runs.written import CHOICES, classes
from digitwise.tasks import Addition

seeds = st.integers(0, 2**48).map(lambda seed: Mess(seed))
#: What problems are made of, and what looks like it.
NEAR = [*"0123456789" * 3, *"+-*/x=.,_ \t\r", "\u00d7", "\u2028", "\u0661", "\u2212", "\ufeff"]


class Mess(random.Random):
    def text(self, letters: list[str] = NEAR, most: int = 20) -> str:
        return "".join(self.choices(letters, k=self.randrange(most)))

    def any_text(self) -> str:
        return "".join(chr(self.randrange(1, 0x500)) for _ in range(self.randrange(12)))

    def number(self) -> str:
        return str(self.randrange(10 ** self.randrange(1, 13)))

    def problem(self) -> str:
        sign = self.choice(["+", "-", "*", " + ", " * "])
        count = self.choice([2, 2, 2, 3])
        return sign.join(self.number() for _ in range(count))

    def scrap(self, depth: int = 2) -> Any:
        """Anything that JSON can hold."""
        plain = [None, True, 0, -1, 7, 10**30, 0.5, float("inf"), float("nan"), "", self.any_text(), self.number()]
        kind = self.randrange(8)
        if depth and kind == 6:
            return [self.scrap(depth - 1) for _ in range(self.randrange(3))]
        if depth and kind == 7:
            return {self.text(most=5): self.scrap(depth - 1) for _ in range(self.randrange(3))}
        return self.choice(plain)

    def damaged(self, document: Any) -> Any:
        """The document with one of its parts replaced, removed, or given another name."""
        whole = json.loads(json.dumps(document))
        parts = [whole]
        for part in parts:
            inside = part.values() if isinstance(part, dict) else part
            parts += [item for item in inside if isinstance(item, dict | list) and item]
        part = self.choice(parts)
        if not part:
            return whole
        key = self.choice(list(part) if isinstance(part, dict) else range(len(part)))
        value, how = part.pop(key), self.randrange(3)
        if isinstance(part, dict) and how < 2:
            part[key if how else self.text(most=6)] = self.scrap() if how else value
        elif how < 2:
            part.insert(key, self.scrap())
        return whole


def cases(count: int) -> Any:
    """So many examples, none of which may take more than five seconds."""
    slow = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
    return settings(max_examples=count, deadline=5000, suppress_health_check=slow)


def refused_or_done(function: Callable, *arguments: Any, **options: Any) -> Any:
    try:
        return function(*arguments, **options)
    except ValueError:
        return None


@pytest.fixture(scope="module")
def scratch(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@pytest.fixture(scope="module")
def run(scratch) -> Run:
    run = Run.create(scratch / "all-seed0", arms("beyond-all", "smoke")["all"])
    train(run)
    return run


@pytest.fixture(scope="module")
def solver(run) -> Solver:
    return Solver.from_folder(run.folder)


@given(seeds)
@cases(4000)
def test_parse(mess):
    text = mess.choice([mess.text, mess.any_text, mess.problem, mess.scrap])()
    found = refused_or_done(Problem.parse, text)
    assert found is None or re.fullmatch(r"-?\d+( remainder \d)?|[<=>]", found.answer())


@given(seeds)
@cases(500)
def test_solve(solver, mess):
    texts = [mess.problem() for _ in range(mess.randrange(4))]
    if mess.random() < 0.6:
        texts.append(mess.choice([mess.text, mess.any_text, mess.scrap])())
    found = refused_or_done(lambda: list(solver.solve_many(texts, check=True)))
    assert found is None or [solution.problem for solution in found] == [text.strip() for text in texts]
    refused_or_done(solver.solve_many, mess.scrap())
    refused_or_done(solver.solve, mess.scrap())


ROWS = [row | {"response": row["answer"]} for row in problems("cascade", Addition(5), [3, 5], 2, seed=0)]


@given(seeds)
@cases(2500)
def test_score(scratch, mess):
    lines = []
    for row in mess.sample(ROWS, mess.randrange(6)):
        lines.append(json.dumps(mess.damaged(row) if mess.random() < 0.4 else row).encode())
    if mess.random() < 0.5:
        lines.insert(0, mess.choice([mess.randbytes(20), b"[" * 5000, b"\xef\xbb\xbf", mess.text().encode()]))
    path = scratch / "answers.jsonl"
    path.write_bytes(b"\n".join(lines))
    extract = mess.choice([None, None, "last-number", "after-equals", r"(\d+)", "(", "\\"])
    found = refused_or_done(score, path, extract=extract)
    if found is not None:
        counts, said = found
        assert sum(count.tried for count in counts) == said["problems"] >= said["right"]
        assert sum(count.correct for count in counts) == said["right"]


COUNTS = [{"suite": "uniform", "version": 1, "length": 5, "stratum": "", "group": "", "seed": 0, "checkpoint": 20,
           "tried": 10, "correct": 5}]  # fmt: skip


@given(seeds)
@cases(1500)
def test_run_folders(run, scratch, mess):
    folder = scratch / "damaged"
    if not folder.exists():
        shutil.copytree(run.folder, folder, ignore=shutil.ignore_patterns("checkpoints"))
    config = json.loads((run.folder / "config.json").read_text())
    metrics = [json.loads(text) for text in (run.folder / "metrics.jsonl").read_text().splitlines()]
    (folder / "config.json").write_text(json.dumps(mess.damaged(config) if mess.random() < 0.5 else config))
    (folder / "metrics.jsonl").write_text("\n".join(json.dumps(row) for row in mess.damaged(metrics)))
    (folder / "counts.json").write_text(json.dumps(mess.damaged(COUNTS)))
    opened = refused_or_done(Run.open, folder)
    if opened is not None:
        for reading in ("counts", "metrics", "checkpoints", "best", "seconds", "validation", "environment"):
            refused_or_done(getattr(opened, reading))
        refused_or_done(opened.select, "last,best")


EXPERIMENT = arms("quickstart", "smoke")["relative"]
NAMES = [*paths(EXPERIMENT), "width", "lengths", "encoding", "data", "reach"]
VALUES = [
    "none",
    "true",
    "nan",
    "-1",
    "1e999",
    "1-5",
    "1,2",
    "relative",
    "absolute",
    "nocarry",
    "arithmetic",
    "columns",
]


@given(seeds)
@cases(1500)
def test_overrides(mess):
    changes = {}
    for _ in range(mess.randrange(1, 4)):
        name = mess.choice(NAMES) if mess.random() < 0.9 else mess.text()
        value = mess.choice([mess.choice(VALUES), mess.number(), mess.any_text()])
        changes[name] = value.replace(":", "")  # which would name code to be imported
    found = refused_or_done(override, EXPERIMENT, changes, CHOICES)
    assert found is None or restore(describe(found), classes()) == found


def command(mess: Mess) -> list[str]:
    """The words of a command as they would come from a shell."""
    texts = [mess.text(), mess.any_text(), mess.problem(), mess.number()]
    some, other = mess.choice(texts), mess.choice(texts)
    words = mess.choice([
        ["solve", some], ["explain", some], ["train", other, "--steps", some], ["train", "a1", f"--{other}", some],
        ["eval", other, "--lengths", some], ["data", mess.choice(["uniform", "cascade", other]), "--lengths", some],
        ["complexity", "--length", some[:2]], ["ls", some], ["figure", some], ["score", some], ["predict", some],
        ["share", some, "--name", other, "--to", "x"], ["claims", "--out", some], [some, other],
    ])  # fmt: skip
    return [word.replace("\0", "") for word in words if word.strip() not in ("-", "--help", "-h")]


@given(seeds)
@cases(100)
def test_the_command_line(scratch, mess):
    """In this process; the same in processes of their own is a slow test."""
    said: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(scratch)
        patch.setattr(sys.stderr, "write", said.append)
        try:
            code = main(command(mess))
        except SystemExit as stopped:  # --help and --version
            code = stopped.code
    assert code in (0, 2)
    assert code == 0 or "".join(said).strip().count("\n") == 0


@pytest.mark.slow
@given(seeds)
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_command_line_in_processes(scratch, mess):
    words = [sys.executable, "-m", "digitwise", *command(mess)]
    result = subprocess.run(words, capture_output=True, text=True, cwd=scratch, errors="replace")
    assert result.returncode in (0, 2), result.stderr
    assert "Traceback" not in result.stderr
    assert result.returncode == 0 or result.stderr.strip().count("\n") == 0
