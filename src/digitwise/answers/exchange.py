"""Problems for other people's models, and judgement of their answers by the same counts.

A row has `id`, `problem`, `answer`, `length`, `stratum`, `complexity`, `suite`, `version`, `task` and `seed`. Whoever
answers adds `response` to the rows, or writes a file of their own with `id` and `response`.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from digitwise.counts import Count
from digitwise.data.suites import Stratum, Suite, check_problems, find, problem_complexity
from digitwise.numbers import digits as dg
from digitwise.rng import generator
from digitwise.tasks import Task
from digitwise.tasks.text import InText

FIELDS = {"id": str, "problem": str, "answer": str, "length": int, "stratum": str, "complexity": int,
          "suite": str, "version": int, "task": str, "seed": int}  # fmt: skip


def problems(suite: str, task: Task, lengths: Sequence[int], count: int, seed: int) -> Iterator[dict[str, Any]]:
    """The problems of a suite as plain rows."""
    chosen = find(suite)
    check_problems(count)
    generator(seed)  # refuses a negative one
    strata = chosen.strata(task, lengths)  # refuses what does not fit before the first row is made
    return _rows(chosen, strata, task, count, seed)


def _rows(chosen: Suite, strata: list[Stratum], task: Task, count: int, seed: int) -> Iterator[dict[str, Any]]:
    name = type(task).__name__.lower()
    # Everything that decides what is drawn is in the id: the multiplier's digits, the canvas and the kind of text too.
    words = ("-sentences" if task.sentences else f"-words{task.least}-{task.most}") if isinstance(task, InText) else ""
    what = f"{name}{getattr(task, 'multiplier', '')}-canvas{task.canvas}{words}-{chosen.name}-v{chosen.version}"
    for stratum in strata:
        operands = chosen.draw(stratum, count, seed)
        answers, hardness = dg.render(task.solve(operands)), problem_complexity(task, operands)
        written = (stratum.task or task).render(operands)
        kind = f"-{stratum.name.replace(' ', '-')}" if stratum.name else ""
        for index, (problem, answer, level) in enumerate(zip(written, answers, hardness, strict=True)):
            yield {
                "id": f"{what}-{stratum.length}{kind}-s{seed}-{index}",
                "problem": problem, "answer": str(answer), "length": stratum.length, "stratum": stratum.name,
                "complexity": int(level), "suite": chosen.name, "version": chosen.version, "task": name, "seed": seed,
            }  # fmt: skip


def write(rows: Iterator[dict[str, Any]], path: Path) -> int:
    """JSON lines, or Parquet by the ending of the name; the number of rows. An existing file is never replaced: it may
    hold somebody's answers."""
    if path.suffix not in (".jsonl", ".json", ".parquet"):
        raise ValueError(f"--out must end in .jsonl or .parquet, not '{path.suffix}'")
    if path.exists():
        raise ValueError(f"{path} is there already: choose another --out")
    listed = list(rows)
    if path.suffix == ".parquet":
        pyarrow, parquet = _parquet()
        parquet.write_table(pyarrow.Table.from_pylist(listed), path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in listed))
    return len(listed)


def read(path: Path) -> tuple[list[dict[str, Any]], int]:
    """Rows of a file, and how many lines of it were none."""
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    if path.suffix == ".parquet":
        _, parquet = _parquet()
        found = parquet.read_table(path).to_pylist()
    else:
        found = [_row(line) for line in path.read_text(errors="replace").splitlines() if line.strip()]
    rows = [row for row in found if isinstance(row, dict) and isinstance(row.get("id"), str | int)]
    return rows, len(found) - len(rows)


def _row(line: str) -> Any:
    try:
        return json.loads(line, parse_int=str)  # a number of any length stays what was written
    except ValueError:
        return None


def score(answers: Path, asked: Path | None = None) -> tuple[list[Count], dict[str, int]]:
    """Counts, and what was wrong with the answers. `asked` is the file of problems; by default the answers' own file,
    with a `response` in each row. The right answer is worked out again from the problem itself."""
    given, broken = read(answers)
    posed = read(asked)[0] if asked is not None else list({str(row["id"]): row for row in given}.values())
    if not posed:
        raise ValueError(f"{asked or answers} has no problems")
    for row in posed:
        for name in ("suite", "version", "length", "stratum", "seed", "problem"):
            if name not in row:
                raise ValueError(f"row '{row['id']}' has no '{name}': give the file of problems with --problems FILE")
    times = Counter(str(row["id"]) for row in given)
    responses = {str(row["id"]): row.get("response") for row in given}
    said = Counter(broken_lines=broken, unknown=len(set(responses) - {str(row["id"]) for row in posed}))
    cells: dict[tuple[str, int, int, str, str, int, int], list[int]] = {}
    highest: dict[str, int] = {}
    for row in posed:
        verdict = _verdict(row, responses.get(str(row["id"])), times[str(row["id"])])
        said[verdict] += 1
        try:
            version, length, seed = (int(row[name]) for name in ("version", "length", "seed"))
        except (TypeError, ValueError):
            raise ValueError(f"row '{row['id']}' is damaged: version, length and seed are numbers") from None
        cell = cells.setdefault((str(row["suite"]), version, length, str(row["stratum"]), "", seed, 0), [0, 0])
        cell[0] += 1
        cell[1] += verdict == "right"
        group, _, index = str(row["id"]).rpartition("-")
        highest[group] = max(highest.get(group, 0), int(index) + 1 if index.isdigit() else 0)
    if asked is None:
        # Rows are numbered from 0 within their stratum, so a gap is a problem that was lost; so is a broken line.
        lost = max(sum(highest.values()) - len(posed), broken, 0)
        said["missing"] += lost
        next(reversed(cells.values()))[0] += lost
    said["problems"] = sum(tried for tried, _ in cells.values())
    counts = [Count(*key, tried=tried, correct=correct) for key, (tried, correct) in cells.items()]
    names = ("problems", "right", "wrong", "missing", "duplicated", "malformed", "unknown", "broken_lines")
    return counts, {name: said[name] for name in names}


def _verdict(row: dict[str, Any], response: Any, times: int) -> str:
    if times > 1:
        return "duplicated"
    if response is None:
        return "missing"
    text = str(response).strip()
    if isinstance(response, bool) or not (text.isascii() and text.isdigit()) or (len(text) > 1 and text[0] == "0"):
        return "malformed"
    return "right" if text == solve(str(row["problem"]), str(row.get("task", ""))) else "wrong"


def solve(problem: str, task: str = "") -> str:
    """The exact answer of `a + b` or `a * b`, of any length; or of a text with two numbers, for a task with text."""
    words = problem.split()
    numbers = [word for word in words if word.isascii() and word.isdigit()]
    operators = [word for word in words if word in ("+", "*")]
    if task.startswith("text") and not operators:
        operators = ["+" if task == "textaddition" else "*"]
    if len(numbers) != 2 or len(operators) != 1 or not (len(words) == 3 or task.startswith("text")):
        raise ValueError(f"'{problem[:40]}' is no problem of the form a + b or a * b")
    first, second = (dg.parse([number]) for number in numbers)
    return str(dg.render((dg.add if operators == ["+"] else dg.multiply)(first, second))[0])


def _parquet() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ValueError("Parquet files need pyarrow: pip install 'digitwise[parquet]', or use .jsonl") from error
    return pyarrow, pyarrow.parquet
