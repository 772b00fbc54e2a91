"""Problems for other people's models, and counts of their answers by the same rules as ours.

A row has `id`, `problem`, `answer`, `length`, `stratum`, `complexity`, `suite`, `version`, `task`, `seed`, and `of`,
the number of problems in its stratum. Whoever answers adds `response` to the rows, or writes a file with `id` and
`response`.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from digitwise.answers import Problem
from digitwise.config import lookup
from digitwise.counts import Count
from digitwise.data import SUITES, Suite
from digitwise.data.suites import Stratum, check_problems
from digitwise.numbers import complexity
from digitwise.numbers import digits as dg
from digitwise.rng import generator
from digitwise.tasks import Problems, Task

Key = tuple[str, int, int, str, str, int, int]
NAMED = ("suite", "version", "length", "stratum", "seed", "problem")
SAID = ("problems", "right", "wrong", "missing", "duplicated", "malformed", "unknown", "broken_lines", "extracted")
#: A number: 1234567, 1,234,567, 1 234 567. A sign or decimals belong to it, and then it is not an answer.
NUMBER = re.compile(r"(?:(?<!\w)[-\u2212])?(?:\d{1,3}([,_' \u00a0\u202f])\d{3}(?:\1\d{3})*(?!\d)|\d+)(?:\.\d+)?", re.A)


def problems(suite: str | Suite, task: Task, lengths: Sequence[int], count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Return the problems of a suite as plain rows."""
    chosen = lookup(suite, SUITES, "suite") if isinstance(suite, str) else suite
    check_problems(count)
    generator(seed)  # refuses a negative one
    strata = chosen.strata(task, lengths)  # refuses what does not fit before the first row is made
    return _rows(chosen, strata, task, count, seed)


def _rows(chosen: Suite, strata: list[Stratum], task: Task, count: int, seed: int) -> Iterator[dict[str, Any]]:
    for stratum in strata:
        drawn = chosen.draw(stratum, count, seed)
        answers, hardness = dg.render(task.solve(drawn)), difficulty(drawn)
        kind = f"-{stratum.name.replace(' ', '-')}" if stratum.name else ""
        what = f"{task.label}-{chosen.name}-v{chosen.version}-{stratum.length}{kind}-s{seed}"
        written = zip(stratum.task.render(drawn), answers, hardness, strict=True)
        for index, (problem, answer, level) in enumerate(written):
            yield {
                "id": f"{what}-{index}", "problem": problem, "answer": str(answer), "length": stratum.length,
                "stratum": stratum.name, "complexity": int(level), "suite": chosen.name, "version": chosen.version,
                "task": type(task).__name__.lower(), "seed": seed, "of": len(drawn),
            }  # fmt: skip


def difficulty(problems: Problems) -> Any:
    """Return one number per problem: the cascade length of a sum, the rounds of a product."""
    (kind,) = problems.kinds
    if kind.operator == "*":
        return complexity.product_rounds(problems.multipliers, problems.numbers[:, 0])
    return complexity.cascade(problems.numbers[:, 0], problems.numbers[:, 1])


def write(rows: Iterator[dict[str, Any]], path: Path) -> int:
    """Write JSON lines, or Parquet by the ending of the name, and return the number of rows.

    An existing file is never replaced: it may hold somebody's answers.
    """
    if path.suffix not in (".jsonl", ".json", ".parquet"):
        raise ValueError(f"--out must end in .jsonl or .parquet, not '{path.suffix}'")
    if path.exists():
        raise ValueError(f"{path} is there already: choose another --out")
    temporary, number = path.with_name(f".{path.name}.{os.getpid()}"), 0
    try:
        if path.suffix == ".parquet":
            pyarrow, parquet = _parquet()
            table = pyarrow.Table.from_pylist(list(rows))
            parquet.write_table(table, temporary)
            number = table.num_rows
        else:
            with open(temporary, "w", encoding="utf-8") as file:
                for row in rows:
                    number += file.write(json.dumps(row) + "\n") > 0
        os.replace(temporary, path)
    except OSError as error:
        raise ValueError(f"{path} cannot be written, and nothing was left there: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)
    return number


def read(path: Path) -> tuple[list[dict[str, Any]], int]:
    """Return the rows of a file, and how many of its lines are not rows."""
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    if path.suffix == ".parquet":
        _, parquet = _parquet()
        try:
            found = parquet.read_table(path).to_pylist()
        except Exception as error:  # pyarrow has many
            raise ValueError(f"{path} cannot be read as Parquet: {str(error).splitlines()[0]}") from error
    else:
        text = path.read_bytes().decode("utf-8-sig", errors="replace")
        found = [_row(line) for line in text.split("\n") if line.strip()]  # a response may hold any other separator
    rows = [row for row in found if isinstance(row, dict) and isinstance(row.get("id"), str | int)]
    if found and not rows:
        raise ValueError(f"{path} has no rows: it needs JSON lines, or Parquet, with id and response")
    return rows, len(found) - len(rows)


def _row(line: str) -> Any:
    try:
        return json.loads(line, parse_int=str)  # a number of any length stays what was written
    except (ValueError, RecursionError):
        return None


def score(answers: Path, asked: Path | None = None, extract: str | None = None) -> tuple[list[Count], dict[str, int]]:
    """Return counts, and what was wrong with the answers.

    `asked` is the file of problems; by default the answers' own file, with a `response` in each row. The right answer
    is worked out again from the problem itself. A row that was lost counts as wrong in its own stratum: `of` or a gap
    in the numbers of its rows shows that it is missing. `extract` finds the number in a sentence: `last-number`,
    `after-equals` or a regular expression; then `not_found` counts the answers without one.
    """
    find = _extractor(extract)
    given, broken = read(answers)
    posed, damaged = read(asked) if asked is not None else (given, 0)
    if damaged:
        raise ValueError(f"{asked} has {damaged} lines that are not rows: write the problems again with digitwise data")
    posed = list({str(row["id"]): row for row in posed}.values())
    if not posed:
        raise ValueError(f"{asked or answers} has no problems")
    tasks = sorted({str(row["task"]) for row in posed if row.get("task")})
    if len(tasks) > 1:
        raise ValueError(f"{asked or answers} has problems of {' and '.join(tasks)}: score one file per task")
    times = Counter(str(row["id"]) for row in given)
    responses = {str(row["id"]): row.get("response") for row in given}
    said = Counter(broken_lines=broken, unknown=len(set(responses) - {str(row["id"]) for row in posed}))
    cells: dict[Key, list[int]] = {}
    strata: dict[tuple[Key, str], tuple[int, int]] = {}  # by cell and id without its number: rows seen, rows there were
    for row in posed:
        key, name, there = _place(row)
        response = responses.get(str(row["id"]))
        found = find(response)
        verdict = _verdict(row, response, found, times[str(row["id"])])
        said[verdict] += 1
        said["extracted"] += bool(found) and found != _plain(response)
        said["not_found"] += found == "" and extract is not None
        cell = cells.setdefault(key, [0, 0])
        cell[0] += 1
        cell[1] += verdict == "right"
        seen, most = strata.get((key, name), (0, 0))
        strata[key, name] = (seen + 1, max(most, there))
    for (key, _), (seen, there) in strata.items() if asked is None else ():
        lost = max(there - seen, 0)
        said["missing"] += lost
        cells[key][0] += lost
    said["problems"] = sum(tried for tried, _ in cells.values())
    counts = [Count(*key, tried=tried, correct=correct) for key, (tried, correct) in cells.items()]
    return counts, {name: said[name] for name in (*SAID, *["not_found"] * (extract is not None))}


def _place(row: dict[str, Any]) -> tuple[Key, str, int]:
    """The cell that a row counts in, its id without its number, and how many problems the row shows there to be."""
    for name in NAMED:
        if name not in row:
            raise ValueError(f"row '{row['id']}' has no '{name}': give the file of problems with --problems FILE")
    version, length, seed, of = (_whole(row, name) for name in ("version", "length", "seed", "of"))
    key: Key = (str(row["suite"]), version, length, str(row["stratum"]), "", seed, 0)
    name, _, number = str(row["id"]).rpartition("-")
    if not name.endswith(f"-s{seed}") or not (number.isascii() and number.isdigit() and len(number) < 10):
        return key, "", of  # an id that `data` did not write has no number to find gaps by
    return key, name, of or int(number) + 1


def _whole(row: dict[str, Any], name: str) -> int:
    """A field that is a number from 0 up. JSON's integers come as they were written."""
    value = str(row.get(name) if row.get(name) is not None else 0)
    if not (value.isascii() and value.isdigit() and len(value) < 19):
        raise ValueError(f"row '{row['id']}' is damaged: version, length, seed and of are numbers, not '{value[:20]}'")
    return int(value)


def _plain(response: Any) -> str | None:
    """Text and whole numbers; anything else is not an answer."""
    return str(response).strip() if isinstance(response, str | int) and not isinstance(response, bool) else None


def _extractor(how: str | None) -> Any:
    """From a response to the number in it, None for no response, "" where no number can be found."""
    if how is None:
        return _plain
    if how not in ("last-number", "after-equals"):
        try:
            pattern = re.compile(how)
        except re.error as error:
            raise ValueError(f"--extract takes last-number, after-equals or a regular expression: {error}") from None

    def find(response: Any) -> str | None:
        text = _plain(response)
        if text is None or (text.isascii() and text.isdigit()):
            return text
        if how == "last-number":
            numbers = [found[0] for found in NUMBER.finditer(text)]
            return _digits(numbers[-1]) if numbers else ""
        if how == "after-equals":
            _, equals, rest = text.rpartition("=")
            number = NUMBER.search(rest) if equals else None
        else:
            number = pattern.search(text)
        return _digits(number[number.lastindex or 0] or "") if number else ""

    return find


def _digits(number: str) -> str:
    return re.sub(r"[,_' \u00a0\u202f]", "", number)


def _verdict(row: dict[str, Any], response: Any, found: str | None, times: int) -> str:
    if times > 1:
        return "duplicated"
    if response is None:
        return "missing"
    if found is None or not (found.isascii() and found.isdigit()) or (len(found) > 1 and found[0] == "0"):
        return "malformed"
    return "right" if found == solve(str(row["problem"]), str(row.get("task", ""))) else "wrong"


def solve(problem: str, task: str = "") -> str:
    """Return the exact answer of a problem; or of a text with two numbers, for a task with text."""
    if not task.startswith("text"):
        return Problem.parse(problem).answer()
    words = problem.split()
    numbers = [word for word in words if word.isascii() and word.isdigit()]
    operators = [word for word in words if word in ("+", "*")] or ["+" if task == "textaddition" else "*"]
    if len(numbers) != 2 or len(operators) != 1:
        raise ValueError(f"'{problem[:40]}' does not have two numbers and at most one operator")
    return Problem.of(operators[0], numbers).answer()


def _parquet() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ValueError("Parquet files need pyarrow: pip install 'digitwise[parquet]', or use .jsonl") from error
    return pyarrow, pyarrow.parquet
