"""Results of benchmarks: kept in files, shown as tables, and compared with the committed ones."""

import json
from itertools import groupby
from pathlib import Path
from typing import Any

from digitwise import tables
from digitwise.plots import plural

FOLDER = Path("results/bench")
"""Where committed results are, below the top of the repository."""
TOLERANCE = 0.2
"""A ratio may be worse by this share."""


def write(result: dict[str, Any], path: Path) -> Path:
    """Write to a file, or into a folder under the benchmark's own name."""
    path = path if path.suffix == ".json" else path / f"{result['benchmark']}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    with tables.replacing(path) as temporary:
        # One row per line, so that differences can be read.
        lines = [f' "{name}": {json.dumps(value)}' for name, value in result.items() if name != "rows"]
        lines.append(f' "rows": {tables.rows_to_json(result["rows"])}')
        temporary.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    return path


def read(path: Path) -> dict[str, Any]:
    result = tables.read_json(path)
    if not isinstance(result, dict) or not {"benchmark", "machine", "threads", "repeats", "rows"} <= set(result):
        raise ValueError(f"{path} is not the result of a benchmark")
    return result


def heading(result: dict[str, Any]) -> str:
    """What it was measured with."""
    machine = result["machine"]
    cores, threads = plural(machine["cores"], "core"), plural(result["threads"], "thread")
    how = f"{machine['processor']}, {cores}, torch {machine['torch']}; {threads}, {plural(result['repeats'], 'repeat')}"
    return f"{how}; median [lowest, highest]"


def table(result: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows for people: one column per side and per ratio."""
    return [
        {"case": row["case"], "measure": row["measure"]}
        | {name: _spread(side) for name, side in row["sides"].items()}
        | row["ratios"]
        | ({"note": row["note"]} if "note" in row else {})
        for row in result["rows"]
    ]


def text(result: dict[str, Any]) -> str:
    """Tables, a new one where other sides are compared."""
    groups = [list(group) for _, group in groupby(table(result), key=lambda row: sorted({*row} - {"note"}))]
    return "\n\n".join(map(tables.text, groups))


def _spread(side: dict[str, Any]) -> str:
    if side["median"] is None:
        return "not reached"
    shown = [f"{x:,.0f}" if x >= 1000 else f"{x:.3g}" for x in (side["median"], side["lowest"], side["highest"])]
    return f"{shown[0]} [{shown[1]}, {shown[2]}]"


def worse(now: dict[str, Any], committed: dict[str, Any], tolerance: float = TOLERANCE) -> dict[str, str]:
    """Return every ratio that is worse than the committed one by more than the tolerance, in words, by what it is of.

    Seconds are not compared, and neither are rows that only one of the two has: a check measures fewer.
    """
    known = {(row["case"], row["measure"]): row["ratios"] for row in committed["rows"]}
    shared = [row for row in now["rows"] if (row["case"], row["measure"]) in known]
    if not shared:
        return {now["benchmark"]: f"{now['benchmark']}: the committed result has other cases, so none can be compared"}
    found = {}
    for row in shared:
        for name, before in known[row["case"], row["measure"]].items():
            after, subject = row["ratios"].get(name), f"{now['benchmark']}, {row['case']}, {row['measure']}: {name}"
            if before is not None and after is None:
                found[subject] = f"{subject} is not there any more, and the committed result has {before:.2f}"
            elif before is not None and after > before + tolerance * abs(before):
                found[subject] = f"{subject} is {after:.2f}, more than {tolerance:.0%} above the committed {before:.2f}"
    return found
