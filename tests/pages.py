"""Parts of the pages that are made from the code and from results: `python tests/pages.py` writes them anew.

In a page, what stands between `<!-- make NAME ARGUMENT -->` and `<!-- end -->` is the output of a function here.
"""

import ast
import re
from pathlib import Path

from digitwise import tables
from digitwise.prediction import predict_run
from digitwise.recipes import find
from digitwise.reproduction import side_by_side
from digitwise.runs import Run, find_runs
from digitwise.seeds import over_seeds

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "digitwise"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"(<!-- make (\w+) ?(\S*) -->\n).*?(<!-- end -->)", re.DOTALL)


def first_sentence(path: Path) -> str:
    text = " ".join((ast.get_docstring(ast.parse(path.read_text())) or "").split("\n\n")[0].split())
    return re.split(r"[.:;](?: |$)", text)[0]


def tree(_: str) -> str:
    """Every module with its purpose; packages as one block."""
    lines = []
    for path in sorted(SOURCE.iterdir(), key=lambda path: (path.is_dir(), path.name)):
        if path.suffix == ".py" and not path.name.startswith("__"):
            lines.append(f"  {path.name:<23} {first_sentence(path)}")
        elif (path / "__init__.py").exists():
            lines.append(f"  {path.name + '/':<23} {first_sentence(path / '__init__.py')}")
            inside = sorted(file for file in path.glob("*.py") if not file.name.startswith("__"))
            if path.name != "theory":  # its own docstring lists its files
                lines += [f"    {file.name:<21} {first_sentence(file)}" for file in inside]
    return "```\nsrc/digitwise/\n" + "\n".join(lines) + "\n```\n"


def arms_of(folder: Path) -> dict[str, list[Run]]:
    """The runs of a recipe's results by arm."""
    arms: dict[str, list[Run]] = {}
    for run in find_runs(folder):
        arms.setdefault(run.folder.name.rpartition("-seed")[0], []).append(run)
    return arms


def table(argument: str) -> str:
    """Exact match by length, arms side by side; and how long training took."""
    arms, recipe = arms_of(ROOT / argument), find(Path(argument).name)
    times = ", ".join(f"{arm} {sum(r.seconds() for r in runs) / len(runs) / 60:.1f}" for arm, runs in arms.items())
    runs = next(iter(arms.values()))
    threads, seeds = runs[0].environment()["threads"], len(runs)
    last, best = (tables.text(side_by_side(arms, recipe, which)) for which in ("last", "best"))
    text = f"{last}\nlast checkpoint" + (f"\n\n{best}\nbest checkpoint on validation" if best != last else "")
    how = f"{seeds} seed{'s' * (seeds > 1)}; minutes of training a model on {threads} core{'s' * (threads > 1)}"
    return f"```\n{text}\n```\n\n{how}: {times}.\n"


def prediction(argument: str) -> str:
    """Predicted from complexity alone beside measured, from the committed counts."""
    result = predict_run(Run.open(ROOT / argument), lengths=[5, 8, 10, 12, 15, 18, 20, 50])
    names = ("length", "predicted", "interval", "measured", "measured interval", "lost to complexity", "lost to length")
    return f"```\n{tables.text([{n: row.get(n) for n in names} for row in result['rows']])}\n```\n"


def nines(argument: str) -> str:
    """Runs of nines with and without a carry, side by side, from the committed counts."""
    rows: dict[int, dict] = {}
    run_folder = Run.open(ROOT / argument)
    for count in run_folder.counts():
        if count.suite == "nines" and count.checkpoint in run_folder.select("last"):
            _, run, way, _ = count.stratum.split()
            row = rows.setdefault(int(run), {"nines": int(run), "problems of each kind": count.tried})
            row |= {f"{way} carry": count.accuracy, f"{way}, 95%": [round(bound, 3) for bound in count.interval]}
    return f"```\n{tables.text([rows[run] for run in sorted(rows)])}\n```\n"


def seeds(argument: str) -> str:
    """Each recipe below a folder: median and worst seed of every cell."""
    folders = sorted(path for path in (ROOT / argument).glob("*") if path.is_dir())
    blocks = []
    for folder in folders:
        runs = [run for run in find_runs(folder) if run.finished]
        if not runs:
            continue
        minutes = ", ".join(f"{run.seconds() / 60:.0f}" for run in runs)
        text = tables.text(over_seeds(runs)) or "not tested yet"
        blocks.append(f"`{folder.name}`, minutes of training: {minutes}\n\n```\n{text}\n```\n")
    return "\n".join(blocks)


MAKERS = {"seeds": seeds, "tree": tree, "table": table, "prediction": prediction, "nines": nines}


def made(page: str) -> str:
    return BLOCK.sub(lambda match: f"{match[1]}{MAKERS[match[2]](match[3])}{match[4]}", page)


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(made(path.read_text()))
