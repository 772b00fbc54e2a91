"""The two tables of a comparison, from what its folder holds: at equal steps, and at equal time."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from digitwise.comparison.setting import LONG, REFERENCE, TRAINED, Setting
from digitwise.counts import Count, Numbered, OverSeeds
from digitwise.plots import Curve
from digitwise.runs.folder import Run
from digitwise.runs.results import by_length, per_seed, whole_answers
from digitwise.tables import read_json

LEARNED, CARRIES = 0.9, 0.9
"""Exact match of the median seed from which the trained lengths count as learned, and longer numbers as answered."""
SHOWN = (TRAINED, LONG - 2, LONG - 1, LONG, LONG + 2)
TABLES = {"steps": "at equal steps", "time": "at equal time"}
Seeds = list[list[Count]]


def tables(settings: Sequence[Setting], root: Path) -> tuple[dict[str, list[dict[str, Any]]], list[str]]:
    """The rows of both tables, and which rows were left out because their encoding was not imported."""
    found: dict[str, list[dict[str, Any]]] = {which: [] for which in TABLES}
    left_out = []
    for where in settings:
        for folder in rows_of(where, root):
            try:
                for which, rows in found.items():
                    if runs := runs_of(folder, which):  # those of equal time come later
                        rows.append(row(where, folder, runs))
            except ValueError as error:
                left_out.append(f"{where.name}/{folder.name}: {error}")
    return found, left_out


def rows_of(where: Setting, root: Path) -> Iterator[Path]:
    """The folders of encodings that have a finished run of a reported seed."""
    for path in sorted((root / where.name).glob("*/cost.json")):
        if any((run / "counts.json").exists() for run in path.parent.glob("seed*")):
            yield path.parent


def runs_of(folder: Path, which: str) -> list[Run]:
    """The tested runs of a row, one per seed: those of equal time where these have other steps."""
    runs = []
    for path in sorted(folder.glob("seed*")):
        if path.name.endswith("-time"):
            continue
        other = path.with_name(f"{path.name}-time")
        here = other if which == "time" and other.exists() else path
        if (here / "counts.json").exists():
            runs.append(Run.open(here))
    return runs


def row(where: Setting, folder: Path, runs: Sequence[Run]) -> dict[str, Any]:
    """One encoding: how far it carries, and what it costs."""
    cost = read_json(folder / "cost.json")[0]
    uniform = [whole_answers(run, "last", "uniform") for run in runs]
    lengths = per_seed(uniform, lambda count: count.length)
    trained = per_seed([[c for c in counts if c.length <= TRAINED] for counts in uniform], lambda count: "trained")
    shown: dict[str, Any] = {
        "task": where.task,
        "encoding": folder.name,
        "format": where.format,
        "verdict": verdict(trained["trained"], lengths),
        f"up to {TRAINED} digits": spread(trained["trained"]),
    }
    shown |= {f"{n} digits": spread(lengths[n]) for n in SHOWN[1:] if n in lengths}
    shown |= {name: spread(value) for name, value in chains(runs).items()}
    training = runs[0].experiment.training
    return shown | {
        "seeds": len(runs),
        "steps": training.steps,
        "ms per step": round(1000 * cost["seconds per step"], 1),
        f"{REFERENCE} = 1": cost["ratio"],
        "MB": cost["megabytes"],
        "parameters": cost["parameters"],
        "rate": training.rate,
        "sharpness": training.sharpness,
        "tried": len(list(folder.glob("tune-*"))),
    }


def verdict(trained: OverSeeds, lengths: dict[int, OverSeeds]) -> str:
    """What is not learned at the trained lengths says nothing about longer ones."""
    if trained.median < LEARNED:
        return "not learned"
    reached = TRAINED
    for length in sorted(lengths):
        if length > TRAINED and lengths[length].median < CARRIES:
            break
        reached = max(reached, length)
    return f"carries to {reached}" if reached > TRAINED else "does not carry"


def chains(runs: Sequence[Run]) -> dict[str, OverSeeds]:
    """Cascades and runs of nines that are longer than any number in training, at twice the trained length."""
    kinds = {
        "cascades": ("cascade", "cascade"),
        "nines, carry in": ("nines", "run with carry"),
        "nines, none in": ("nines", "run without carry"),
    }
    found = {}
    for name, (suite, kind) in kinds.items():
        of_kind: Seeds = [[c for c in whole_answers(run, "last", suite) if _is_long(c, kind)] for run in runs]
        if any(of_kind):
            found[name] = per_seed(of_kind, lambda count: "all")["all"]
    return found


def _is_long(count: Count, kind: str) -> bool:
    parsed = Numbered.parse(count.stratum)
    return parsed.kind == kind and parsed.number >= TRAINED


def spread(found: OverSeeds) -> dict[str, float]:
    values = found.values
    return {name: round(value, 4) for name, value in
            {"median": found.median, "lowest": min(values), "highest": max(values)}.items()}  # fmt: skip


def in_cells(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows for people: a median, and the range over seeds behind it."""

    def cell(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        low, high = value["lowest"], value["highest"]
        return f"{value['median']:.2f}" + (f" ({low:.2f}-{high:.2f})" if low < high else "")

    columns = list(dict.fromkeys(name for row in rows for name in row if name != "tried"))
    return [{name: cell(row.get(name)) for name in columns} for row in rows]


def curves(settings: Sequence[Setting], root: Path, which: str = "steps") -> dict[str, list[Curve]]:
    """For each encoding one curve per task and format, over the digits."""
    panels: dict[str, list[Curve]] = {}
    for where in settings:
        for folder in rows_of(where, root):
            try:
                answers = [whole_answers(run, "last", "uniform") for run in runs_of(folder, which)]
            except ValueError:  # its encoding was not imported
                continue
            label = f"{where.task}, {where.format}"
            panels.setdefault(folder.name, []).append(by_length(label, *answers))
    return panels
