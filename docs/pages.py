"""Parts of the pages that are made from the code and from results: `python docs/pages.py` writes them anew.

In a page, what stands between `<!-- make NAME ARGUMENT -->` and `<!-- end -->` is the output of a function here.

A number in a sentence is made too if a comment behind it says what it is, as `measured` reads it:

    plain products have 0.947<!-- = m2-upe/uniform last uniform 10 mean -->

It keeps the number of decimals that it has.
"""

import ast
import json
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

from digitwise import tables
from digitwise.answers.exchange import problems
from digitwise.bench import results as benchmarks
from digitwise.comparison import ENCODINGS as COMPARED
from digitwise.comparison import FORMATS
from digitwise.comparison import summary as encodings
from digitwise.comparison.running import works
from digitwise.comparison.setting import LONG, TRAINED, setting
from digitwise.counts import MANY_SEEDS, Numbered
from digitwise.paper import RECIPES, Recipe, find
from digitwise.paper.claims import CLAIMS, stated
from digitwise.paper.kept import runs_of
from digitwise.paper.leak import PROBLEMS
from digitwise.paper.place_table import place_table
from digitwise.paper.prediction import predict_run
from digitwise.paper.reproduction import side_by_side
from digitwise.plots import plural
from digitwise.runs.experiment import Experiment
from digitwise.runs.folder import Run
from digitwise.runs.places import find_runs, seconds
from digitwise.runs.results import load_measured, over_seeds, whole_answers
from digitwise.tasks import TextAddition

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "digitwise"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LOG = ROOT / "LOG.md"
BLOCK = re.compile(r"(<!-- make (\w+) ?(\S*) -->\n).*?(<!-- end -->)", re.DOTALL)
MEASURED = re.compile(r"(\d\.(\d+))(<!-- = (.*?) -->)", re.DOTALL)
OVER_SEEDS: dict[str, Callable[[Sequence[float]], float]] = {
    "median": median, "mean": fmean, "lowest": min, "highest": max,
}  # fmt: skip


def measured(query: str) -> float:
    """Return an accuracy from the committed results: RUNS CHECKPOINT SUITE LENGTH [STRATUM] [OVER SEEDS].

    RUNS is `recipe/arm` for all of its seeds, or `recipe/arm-seed1` for one; over seeds stands the median unless
    another name of `OVER_SEEDS` is given. A stratum with spaces is quoted: 'run 11 with carry'.
    """
    runs, checkpoint, suite, length, *rest = shlex.split(query)
    over = OVER_SEEDS[rest.pop()] if rest and rest[-1] in OVER_SEEDS else median
    results = ROOT / "results" / "cpu"
    folders = [results / runs] if (results / runs).is_dir() else sorted(results.glob(f"{runs}-seed*"))
    cell = (int(length), rest[0] if rest else "")
    counts = [count for folder in folders for count in whole_answers(Run.open(folder), checkpoint, suite)]
    values = [count.accuracy for count in counts if (count.length, count.stratum) == cell]
    if not values or len(values) != len(folders):
        raise ValueError(f"{query}: {len(values)} counts in {len(folders)} runs")
    return over(values)


def summary(path: Path) -> str:
    """The first sentence of a module's docstring."""
    text = " ".join((ast.get_docstring(ast.parse(path.read_text())) or "").split("\n\n")[0].split())
    return re.split(r"\.(?: |$)", text)[0]


#: The rooms from the top down, and the files in which a newcomer would look first.
ROOMS = {
    "cli": [],
    "pages": ["server.py", "views.py", "report.py"],
    "comparison": ["setting.py", "running.py", "summary.py"],
    "bench": ["step.py", "references.py"],
    "answers": ["solver.py", "exchange.py"],
    "paper": ["sums.py", "products.py", "claims.py"],
    "theory": [],
    "sweeps": ["jobs.py", "drive.py", "claims.py", "place.py", "on_ray.py"],
    "runs": ["experiment.py", "training.py", "evaluation.py", "certify.py", "proving.py", "folder.py"],
    "models": ["encoder.py", "ripple.py", "messages.py", "cell.py", "wiring.py", "attention.py"],
    "encodings": ["base.py", "standard.py", "by_column.py"],
    "machines": ["table.py", "walk.py", "rows.py", "certificate.py"],
    "data": ["distributions.py", "suites.py"],
    "tasks": ["base.py", "canvas.py", "columns.py"],
    "numbers": ["digits.py", "complexity.py"],
}
GROUND = "config.py coordinates.py counts.py rng.py tables.py plots.py"


def tree(_: str) -> str:
    """The rooms with their purpose, the files that a newcomer would look for, and the ground files in one line."""
    lines = []
    for room, files in ROOMS.items():
        lines.append(f"  {room + '/':<19} {summary(SOURCE / room / '__init__.py')}")
        lines += [f"    {name:<17} {summary(SOURCE / room / name).split(': ')[0]}" for name in files]
    return "```\nsrc/digitwise/\n" + "\n".join(lines) + f"\n  {GROUND}\n```\n"


#: The base class, or the function, at which each room is extended.
SEAMS = {
    "pages": "`static/`: one page, without a build step",
    "comparison": "`encodings.base.Encoding`: whatever can be named can be compared",
    "bench": "`BENCHMARKS`: functions that return the rows of a table",
    "answers": "`Problem.parse`: the one parser of problems",
    "paper": "`recipes.Recipe`",
    "sweeps": "`drive.run`: jobs in, what became of each out",
    "models": "`base.Blueprint`, which builds a `base.Model`",
    "encodings": "`base.Encoding`, `base.Pairwise`",
    "machines": "`CLAIMS`: walks over every case",
    "data": "`suites.Suite`; distributions are `tasks.base.Distribution`",
    "tasks": "`base.Task`",
}


def rooms(_: str) -> str:
    """The rooms from the top down: purpose, what each may import beside the ground files, and its seam."""
    lines = ["| room | purpose | may import | seam |", "|---|---|---|---|"]
    may_import = allowed()
    for room in ROOMS:
        others = ", ".join(reversed(may_import[room])) or "-"
        lines.append(f"| `{room}` | {summary(SOURCE / room / '__init__.py')} | {others} | {SEAMS.get(room, '-')} |")
    return "\n".join(lines) + "\n"


def allowed() -> dict[str, list[str]]:
    """What each room may import, from the test that holds it to that."""
    for node in ast.parse((ROOT / "tests" / "test_rooms.py").read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ROOMS":
            return ast.literal_eval(node.value)
    raise ValueError("tests/test_rooms.py has no ROOMS")


def table(argument: str) -> str:
    """Exact match by length, arms side by side; and how long training took."""
    arms, recipe = trained(ROOT / argument), find(Path(argument).name)
    times = ", ".join(
        f"{arm} {sum(seconds(r) for r in runs) / len(runs) / 60:.1f} ({plural(len(runs), 'seed')})"
        for arm, runs in arms.items()
    )
    threads = next(iter(arms.values()))[0].environment()["threads"]
    last, best = (tables.text(side_by_side(arms, recipe, which)) for which in ("last", "best"))
    text = f"{last}\nlast checkpoint" + (f"\n\n{best}\nbest checkpoint on validation" if best != last else "")
    return f"```\n{text}\n```\n\nMinutes of training per model on {plural(threads, 'core')}: {times}.\n"


def attempt(argument: str) -> str:
    """Exact match at each kept checkpoint of one run, lengths up to 8 side by side."""
    run = Run.open(ROOT / argument)
    rows: dict[int, dict[str, Any]] = {}
    for count in run.counts():
        if count.length <= 8:
            row = rows.setdefault(count.checkpoint, {"steps": count.checkpoint})
            row[plural(count.length, "digit")] = round(count.accuracy, 3)
            tried = count.tried
    shown = tables.text([rows[step] for step in sorted(rows)])
    how = f"1 seed, {tried:,} problems per length, {seconds(run) / 60:.0f} minutes on one core"
    return f"```\n{shown}\n```\n\n{how}.\n"


def places(argument: str) -> str:
    """The paper's table of shifted copies, its numbers and ours."""
    runs = [run for found in trained(ROOT / argument).values() for run in found]
    if not (rows := place_table(runs)):
        return "Not run yet: `digitwise reproduce a3`.\n"
    return f"```\n{tables.text(rows)}\npercent right, last checkpoint\n```\n"


def prediction(argument: str) -> str:
    """Predicted from complexity alone beside measured, from the committed counts."""
    result = predict_run(Run.open(ROOT / argument), lengths=[5, 8, 10, 12, 15, 18, 20, 50])
    names = ("length", "predicted", "interval", "measured", "measured interval", "lost to complexity", "lost to length")
    return f"```\n{tables.text([{n: row.get(n) for n in names} for row in result['rows']])}\n```\n"


def nines(argument: str) -> str:
    """Runs of nines with and without a carry, side by side, from the committed counts."""
    rows: dict[int, dict[str, Any]] = {}
    for count in whole_answers(Run.open(ROOT / argument), "last", "nines"):
        _, columns, entered = Numbered.parse(count.stratum)
        row = rows.setdefault(columns, {"nines": columns, "problems of each kind": count.tried})
        bounds = [round(bound, 3) for bound in count.interval]
        row |= {entered: count.accuracy, f"{entered.removesuffix(' carry')}, 95%": bounds}
    return f"```\n{tables.text([rows[columns] for columns in sorted(rows)])}\n```\n"


#: What the models without a canvas were to reach: exact match of the median seed, by digits.
GOALS: list[tuple[str, str, str, str, dict[int, float]]] = [
    ("sums of two", "addition", "uniform", "", {50: 1.0, 200: 1.0, 1000: 0.995, 10_000: 0.95}),
    ("runs of nines, carry in", "addition", "runs", "with carry", dict.fromkeys((5, 10, 40, 200, 1000), 0.99)),
    ("runs of nines, no carry in", "addition", "runs", "without carry", dict.fromkeys((5, 10, 40, 200, 1000), 0.99)),
    ("edges of sums", "addition", "edges", "", dict.fromkeys((1, 2, 5, 10, 50, 100, 1000), 1.0)),
    ("1-digit multiplier", "product1", "uniform", "", {20: 1.0, 100: 0.99, 1000: 0.97}),
    ("3-digit multiplier", "product3", "uniform", "3-digit multiplier", {8: 0.99, 20: 0.97, 100: 0.90}),
    *((f"{count} summands", "summands", "uniform", f"{count} summands", {50: 0.99}) for count in range(2, 6)),
    ("all in one: sums", "all", "uniform", "2 summands", {50: 0.99}),
    ("all in one: differences", "all", "uniform", "difference", {50: 0.99}),
    ("all in one: 1-digit multiplier", "all", "uniform", "1-digit multiplier", {50: 0.97}),
    ("all in one: 3-digit multiplier", "all", "uniform", "3-digit multiplier", {8: 0.90}),
]


def goals(argument: str) -> str:
    """What was to be reached, and what was: the median over seeds and the worst."""
    lines = [
        "| problems | model | digits | goal | median (worst) | seeds | problems per seed |",
        "|---|---|---|---|---|---|---|",
    ]
    for what, model, suite, stratum, cells in GOALS:
        runs = [run for run in find_runs(ROOT / argument / f"beyond-{model}") if run.finished]
        found = {(row["suite"], row["stratum"], row["digits"]): row for row in over_seeds(runs)}
        rows = {length: found.get((suite, stratum, length)) for length in cells}
        tested = [row for row in rows.values() if row]
        reached = " / ".join(f"{row['median']:.3f} ({row['worst']:.3f})" if row else "-" for row in rows.values())
        lengths, wanted = " / ".join(f"{length:,}" for length in cells), " / ".join(map(str, cells.values()))
        fewest = str(min((row["seeds"] for row in tested), default=0))
        tried = " / ".join(str(row["problems per seed"]) for row in tested)
        lines.append(f"| {' | '.join([what, model, lengths, wanted, reached, fewest, tried])} |")
    return "\n".join(lines) + "\n"


def by_length(argument: str) -> str:
    """Arms of a recipe at some lengths, last checkpoint: the median over seeds and the worst."""
    folder, wanted = argument.split(":")
    rows = []
    for arm, runs in trained(ROOT / folder).items():
        row: dict[str, Any] = {"arm": arm, "seeds": len(runs)}
        for length in map(int, wanted.split(",")):
            found = [c.accuracy for run in runs for c in whole_answers(run, "last", "uniform") if c.length == length]
            row[plural(length, "digit")] = f"{median(found):.3f} ({min(found):.3f})" if found else "-"
        at_ten = [c.accuracy for run in runs for c in whole_answers(run, "last", "uniform") if c.length == 10]
        row["seeds that carry"] = f"{sum(accuracy >= 0.95 for accuracy in at_ten)} of {len(at_ten)}"
        minutes = [seconds(run) / 60 for run in runs]
        rows.append(row | {"minutes of training": f"{min(minutes):.1f} to {max(minutes):.1f}" if minutes else "-"})
    return f"```\n{tables.text(rows)}\nmedian (worst seed); a seed carries with at least 0.95 at 10 digits\n```\n"


def trained(folder: Path) -> dict[str, list[Run]]:
    """The finished and tested runs of a recipe by arm, wherever they stand."""
    return runs_of(folder.parent, find(folder.name), "cpu")


def leak(argument: str) -> str:
    """The share of attention that goes to far digits, and what is right with and without them: medians over seeds."""
    rows = load_measured(ROOT / argument) or []
    out = []
    for arm in dict.fromkeys(row["arm"] for row in rows):
        mine = [row for row in rows if row["arm"] == arm]
        for name in ("far", "right", "right, far digits masked"):
            share = {"far": "attention to far digits"}.get(name, name)
            row: dict[str, Any] = {"arm": arm, "seeds": len({r["seed"] for r in mine}), "share": share}
            for n in sorted({r["digits"] for r in mine}):
                row[str(n)] = round(median([r[name] for r in mine if r["digits"] == n]), 3)
            out.append(row)
    return f"```\n{tables.text(out)}\nby digits; medians over seeds, {PROBLEMS} problems per length and seed\n```\n"


def seeds(argument: str) -> str:
    """Each recipe below a folder: median and worst seed of every cell."""
    blocks = []
    for folder in sorted(path for path in (ROOT / argument).glob("*") if path.is_dir()):
        if runs := [run for run in find_runs(folder) if run.finished]:
            minutes = ", ".join(f"{seconds(run) / 60:.0f}" for run in runs)
            text = tables.text(over_seeds(runs)) or "not tested yet"
            blocks.append(f"`{folder.name}`, minutes of training: {minutes}\n\n```\n{text}\n```\n")
    return "\n".join(blocks)


def words(argument: str) -> str:
    """Numbers in texts of several lengths, and in sentences, at the last checkpoint."""
    rows = []
    for run in [run for name in argument.split(",") for run in find_runs(ROOT / "results/cpu" / name)]:
        cells: dict[int, dict[str, float]] = {}
        for count in whole_answers(run, "last", "text") + whole_answers(run, "last", "uniform"):
            cells.setdefault(count.length, {})[count.stratum or "0 to 20 words"] = count.accuracy
        rows += [{"recipe": run.experiment.name, "digits": n} | cells[n] for n in sorted(cells) if len(cells[n]) > 1]
    return f"```\n{tables.text(rows)}\n```\n"


def sentences(_: str) -> str:
    """Five sums as people would write them."""
    rows = problems("uniform", TextAddition(4, sentences=True), [4], 5, seed=0)
    return "```\n" + "\n".join(f"{row['problem']}  ->  {row['answer']}" for row in rows) + "\n```\n"


def claims(argument: str) -> str:
    """Every claim with its verdict and the numbers behind it, after the rule that makes a verdict."""
    lines = [RULE, "| claim | the paper's finding | judged here | verdict | measured |", "|---|---|---|---|---|"]
    for claim in CLAIMS.verdicts(ROOT / argument):
        measured = "; ".join(map(stated, claim["measured"][:6])) or claim.get("why", "")
        if len(claim["measured"]) > 6:
            measured += f"; and {len(claim['measured']) - 6} more (`digitwise claims --json`)"
        verdict = f"**{claim['verdict']}**" + ", one seed" * claim["one seed"]
        lines.append(f"| **{claim['claim']}** | {claim['paper']} | {claim['judged']} | {verdict} | {measured} |")
    return "\n".join(lines) + "\n"


RULE = f"""A number is a median over seeds, then comes a range in brackets, then every seed. The range of one seed is
its 95 % Wilson interval. Of several it reaches from the lowest to the highest bound of the seeds' own intervals, and a
difference of two methods takes every pair of their seeds. From {MANY_SEEDS} seeds on the number is the mean, and the
range its 95 % interval, a bootstrap over seeds and problems. "one seed" marks a verdict of which at least one number
comes from a single training.
"""


def bench(argument: str) -> str:
    """A committed result of `digitwise bench`, with the machine that it was measured on."""
    result = benchmarks.read(ROOT / argument)
    return f"```\n{benchmarks.text(result)}\n```\n\n{benchmarks.heading(result)}.\n"


def experiments(argument: str) -> str:
    """Every recipe with results: what it is, how it was trained, what differs from the paper, its figures."""
    root, parts = ROOT / argument, []
    told: dict[str, str] = {}  # trainings that stand above, with the first model that had each
    for recipe in RECIPES.values():
        if figures := sorted((root / recipe.name).glob("*.png")):
            links = "\n".join(f"![{recipe.name}](../{figure.relative_to(ROOT)})" for figure in figures)
            label = f" In the paper: {recipe.paper}." if recipe.paper else ""
            how = "\n".join(taken(recipe, root, told)) or "No training."
            parts.append(f"### {recipe.name}\n\n{recipe.what}{label}\n\n{how}\n\n{links}\n")
    return "\n".join(parts)


def taken(recipe: Recipe, root: Path, told: dict[str, str]) -> Iterator[str]:
    """One line per arm: seeds, minutes and stages of training. Then what differs from the paper's profile."""
    behind = runs_behind(recipe, root)
    for arm, experiment in recipe.arms("cpu").items():
        if runs := behind.get(arm):
            minutes = [max(1, round(seconds(run) / 60)) for run in runs]
            spent = f"{', '.join(map(str, minutes[:-1]))} and " * (len(minutes) > 1) + plural(minutes[-1], "minute")
            name, stages = f"{experiment.name}/{arm}", in_stages(experiment)
            how = f"as {told[stages]} above" if stages in told else stages
            told.setdefault(stages, name)
            yield f"- {name}: {plural(len(runs), 'seed')}, {spent} of training: {how}."
    if recipe.paper and behind:
        ours, paper = (settings(next(iter(recipe.arms(profile).values()))) for profile in ("cpu", "paper"))
        changed = [f"{name} {ours[name]} (paper profile: {paper[name]})" for name in ours if ours[name] != paper[name]]
        yield f"- Different from the paper: {', '.join(changed)}."


def runs_behind(recipe: Recipe, root: Path) -> dict[str, list[Run]]:
    """The runs that a recipe's own tests or measurements rest on."""
    measured = {row.get("run") for row in load_measured(root / recipe.name) or []}
    suites = {check.suite for check in recipe.checks}

    def counts(run: Run) -> bool:
        if recipe.analysis:
            return f"{run.folder.parent.name}/{run.folder.name}" in measured
        return not suites.isdisjoint(count.suite for count in run.counts())

    return {arm: [run for run in runs if counts(run)] for arm, runs in runs_of(root, recipe, "cpu").items()}


def in_stages(experiment: Experiment) -> str:
    before = f"{in_stages(experiment.after)}; then " if experiment.after else ""
    training, canvas = experiment.training, experiment.task.longest
    sharper = f", queries of the test times {training.factor:g}" * (training.factor != 1)
    if not training.steps:
        return f"{before}moved to a canvas of {canvas}{sharper}"
    several = ", ".join(map(str, training.canvases))
    where = f"canvases of {several}" if len(training.canvases) > 1 else f"a canvas of {several or canvas}"
    rate = f"{training.optimizer} at {training.rate:g} ({training.schedule})"
    vectors = "" if training.table_decay is None else f" ({training.table_decay:g} for positional vectors)"
    parts = [f"{training.steps:,} steps of {training.batch} on {where if canvas else 'columns'} by {rate}"]
    parts += [f"dropout {training.dropout or 0:g}"] * bool(training.dropout)
    parts += [f"decay {training.decay:g}{vectors}"]
    parts += [f"queries growing to {training.sharpness:g} times"] * (training.sharpness != 1)
    return before + ", ".join(parts) + sharper


def settings(experiment: Experiment) -> dict[str, str]:
    architecture, pool = experiment.architecture, experiment.training.pool
    return {
        "multiplier digits": str(getattr(experiment.task, "multiplier", "")),
        "canvas": str(experiment.task.canvas),
        "layers": str(architecture.layers),
        "width": str(architecture.width),
        "norm": architecture.norm,
        "pool": f"{pool:,}" if pool else "new problems every step",
        "trained on": re.sub(r"\d\.\d{9,}", lambda found: f"{float(found[0]):g}", f"`{experiment.data}`"),
    }


def proofs(argument: str) -> str:
    """Every seed of the models that are trained until they are proven, and what they were tested on beside."""
    found = sorted(load_measured(ROOT / argument) or [], key=lambda row: (row["claim"], row["seed"]))
    names = ("claim", "seed", "verdict", "step", "situations", "wrong", "logit", "bit")
    rows = [{name: row[name] for name in names} | {"minutes": round(row["seconds"] / 60, 1)} for row in found]
    tested: dict[str, list[int]] = {}
    for row in found:
        for name, value in row.items():
            if isinstance(value, list):
                right, of = tested.setdefault(f"{row['claim']}: {name}", [0, 0])
                tested[f"{row['claim']}: {name}"] = [right + value[0], of + value[1]]
    beside = "\n".join(f"- {name}: {right:,} of {of:,} right" for name, (right, of) in tested.items())
    table = f"```\n{tables.text(rows)}\n```"
    return f"{table}\n\nTested beside the proof, over all proven seeds:\n\n{beside}\n\n{disturbed(ROOT / argument)}\n"


def disturbed(folder: Path) -> str:
    """What became of a proven network whose weights were changed."""
    (told,) = json.loads((folder / "disturbed.json").read_text())["summary"]
    verdicts = told["verdicts"]
    return (
        f"The weights of `{told['model']}` were disturbed {told['disturbed']} times, by a thousandth to twice "
        f"their size\n(`digitwise certify {told['model']} --disturb {told['disturbed']}`): {verdicts['proven']} are "
        f"proven again, {verdicts['refuted']} refuted, {verdicts['open']} open.\n"
        f"The old certificate is accepted {told['certificates accepted']} times. Refuted without a problem that the "
        f"network gets wrong: {told['refuted without a wrong answer']}.\n"
        f"Wrong among {told['hard problems']:,} hard problems for each that is proven again: "
        f"{told['hard problems wrong']}."
    )


def comparison(argument: str) -> str:
    """Both tables of a comparison of encodings, its figure, and what is still missing."""
    root, parts = ROOT / argument, []
    settings = [setting(task, format) for task in ("addition", "multiply-1") for format in FORMATS]
    found, _ = encodings.tables(settings, root)
    if not found["steps"]:
        return "No results are committed yet: `digitwise compare --tasks addition,multiply-1` makes them.\n"
    if (root / "encodings.png").exists():
        parts.append(f"![exact match by length, one panel per encoding](../{argument}/encodings.png)\n")
    for where in settings:
        steps, time = (
            sorted(
                (row for row in found[which] if (row["task"], row["format"]) == (where.task, where.format)), key=best
            )
            for which in encodings.TABLES
        )
        planned = {row["encoding"]: row["steps"] for row in steps}
        others = [row for row in time if row["steps"] != planned[row["encoding"]]]
        if steps:
            parts.append(f"### {where.task}, {where.format}\n\nAt equal steps:\n\n{_compared(steps)}")
        if others:
            parts.append(f"At equal time, those that have other steps then:\n\n{_compared(others)}")
    there = {(row["task"], row["format"], row["encoding"]) for row in found["steps"]}
    wanted = {(w.where.task, w.where.format, w.label) for w in works(COMPARED, settings, root)}
    if missing := sorted(" ".join(one) for one in wanted - there):
        parts.append(f"Not run yet: {', '.join(missing)}.\n")
    return "\n".join(parts)


def best(row: dict[str, Any]) -> tuple[float, ...]:
    """For sorting: first what is right at twice the trained length, then what is right at the trained ones."""
    return tuple(-row[name]["median"] for name in (f"{LONG} digits", f"up to {TRAINED} digits"))


def _compared(rows: list[dict[str, Any]]) -> str:
    shown = [{name: row[name] for name in row if name not in ("task", "format")} for row in rows]
    return f"```\n{tables.text(encodings.in_cells(shown))}\n```\n"


def ladder(argument: str) -> str:
    """The controls and the rungs of the ladder: what each may use, and how far it carries."""
    rows = []
    for recipe in ("controls", "ladder", "ladder-products", "ablations"):
        arms = find(recipe).arms("cpu")
        for arm, experiment in arms.items():
            found = find_runs(ROOT / argument / experiment.name)
            runs = [run for run in found if run.folder.name.startswith(f"{arm}-seed") and run.finished and run.counts()]
            if not runs:
                continue
            cells = {(row["digits"], row["stratum"]): row for row in over_seeds(runs)}
            size = sum(weight.numel() for weight in experiment.build().parameters())
            row: dict[str, Any] = {"recipe": recipe, "model": arm, "parameters": size, "seeds": len(runs)}
            for digits, stratum in sorted(cells, key=lambda cell: ("carry" in cell[1], cell)):
                cell = cells[digits, stratum]
                name = {"with carry": "nines, carry", "without carry": "nines, none"}.get(stratum, stratum)
                worst = f" ({cell['worst']:.2f})" if len(runs) > 1 else ""
                row[f"{digits} {name}".strip()] = f"{cell['median']:.2f}{worst}"
            rows.append(row)
    if not rows:
        commands = "`digitwise reproduce controls ladder ladder-products ablations wiring`"
        return f"No results are committed yet: {commands} makes them.\n"
    blocks = []
    for recipe in dict.fromkeys(row["recipe"] for row in rows):
        mine = [{name: row[name] for name in row if name != "recipe"} for row in rows if row["recipe"] == recipe]
        heading = f"`{recipe}`: median over seeds, and the worst in brackets where there are several"
        blocks.append(f"{heading}\n\n```\n{tables.text(mine)}\n```\n")
    return "\n".join(blocks)


def wiring(argument: str) -> str:
    """Which gates training left open, of every seed."""
    found = load_measured(ROOT / argument / "wiring")
    if not found:
        return "Not measured yet: `digitwise reproduce wiring`.\n"
    rows: dict[tuple[str, int], dict[str, Any]] = {}
    for gate in found:
        row = rows.setdefault((gate["experiment"], gate["seed"]), {"model": gate["experiment"], "seed": gate["seed"]})
        row[f"{'row before' if gate['way'] == 'across' else 'own row'} {gate['offset']:+d}"] = gate["open"]
    return f"```\n{tables.text(list(rows.values()))}\n```\n"


MAKERS = {
    maker.__name__: maker
    for maker in (
        attempt,
        bench,
        by_length,
        claims,
        comparison,
        experiments,
        goals,
        ladder,
        leak,
        nines,
        places,
        prediction,
        proofs,
        rooms,
        seeds,
        sentences,
        table,
        tree,
        wiring,
        words,
    )
}


def made(page: str) -> str:
    page = MEASURED.sub(lambda match: f"{measured(match[4]):.{len(match[2])}f}{match[3]}", page)
    return BLOCK.sub(lambda match: f"{match[1]}{MAKERS[match[2]](match[3])}{match[4]}", page)


if __name__ == "__main__":
    for path in [*PAGES, LOG]:
        path.write_text(made(path.read_text()))
