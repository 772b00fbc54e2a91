"""A report to send: claims with their verdicts, figures, tables, configurations, environments and certificates.

Figures are drawn anew from the kept counts. What would have to be measured again, as the theory's, is taken as it was
kept beside its numbers.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from digitwise.config import describe
from digitwise.data import SUITES
from digitwise.machines import certificate
from digitwise.pages.document import Document, Figure, Heading, Table, Text
from digitwise.paper import RECIPES, Recipe, kept, reproduction
from digitwise.paper.claims import CLAIMS, stated
from digitwise.paper.evidence import NOT_RUN
from digitwise.plots import drawn_as, plural
from digitwise.runs import results
from digitwise.runs.folder import Run
from digitwise.runs.places import find_runs, seconds
from digitwise.runs.written import in_words
from digitwise.tables import flat, replacing

Report = Callable[[str, int, int, str], None]
NUMBERS = 6
"""Numbers of a claim that are shown; `digitwise claims --json` has all."""
#: What figures of analyses show, by the names of their files; those that are named like a recipe have its title.
SHOWN = {
    "loss_iter_m1": "Training loss, m = 1", "loss_iter": "Training loss, m = 5",
    "gener_pos_m1": "Loss by position, m = 1", "gener_pos": "Loss by position, m = 5",
    "p_ape": "Inner products of positional vectors, APE", "p_aug": "Inner products of positional vectors, APE + shifts",
    "p_rpe": "What RPE learns for each lag", "other_weights": "Loss by position for other weights",
    "scaling": "Loss of APE + shifts by what windows miss", "psd": "Floor of the training loss of APE",
    "full": "Factored and full models from the same start", "leak": "Attention to far digits, and exact match",
    "fixed-map": "Share of answers that change with a digit, by its place", "proof": "Minutes until a proof",
    "wiring": "Gates by the offset of the place that is heard",
    "complexity-cascade-5": "Cascade lengths of 5-digit sums",
    "complexity-cascade-50": "Cascade lengths of 50-digit sums",
    "complexity-levels-5": "Levels of 1 x 5-digit products",
    "complexity-levels-20": "Levels of 1 x 20-digit products",
}  # fmt: skip


def write(
    sources: Sequence[Path], to: Path, profile: str = "cpu", progress: Report = reproduction.silent
) -> dict[str, Any]:
    """Write a report about runs, or about all results below one folder, as HTML and as Markdown beside it."""
    to = Path(to) if Path(to).suffix else Path(f"{to}.html")
    if to.suffix != ".html":
        raise ValueError(f"--to takes a file that ends in .html, not '{to.suffix}': the Markdown is written beside it")
    runs = [Run.open(path) for path in sources if (path / "config.json").is_file()]
    with TemporaryDirectory() as folder, drawn_as(".svg"):
        if len(runs) == len(sources):
            document = about_runs(runs, Path(folder), progress)
        elif len(sources) == 1 and sources[0].is_dir():
            document = about_results(sources[0], Path(folder), profile, progress)
        else:
            wrong = next(path for path in sources if not (path / "config.json").is_file())
            raise ValueError(f"{wrong} is not a run folder: name run folders, or one folder of results")
        figures = to.with_name(f"{to.stem}-figures")
        to.parent.mkdir(parents=True, exist_ok=True)
        pages = {to: document.html(), to.with_suffix(".md"): document.markdown(figures)}
        for path, text in pages.items():
            with replacing(path) as temporary:
                temporary.write_text(text, encoding="utf-8")
    kinds = {"figures": Figure, "tables": Table}
    counted = {name: sum(isinstance(block, kind) for block in document.blocks) for name, kind in kinds.items()}
    return {"files": [str(to), str(to.with_suffix(".md"))], "title": document.title} | counted


def about_runs(runs: Sequence[Run], folder: Path, progress: Report) -> Document:
    """One or more runs: what they answered, how they learned, and all about them."""
    document = Document("digitwise: " + ", ".join(dict.fromkeys(in_words(run.experiment) for run in runs)))
    by_task: dict[str, list[Run]] = {}
    for run in runs:
        by_task.setdefault(results.posed([run]), []).append(run)
    for number, (kinds, group) in enumerate(by_task.items()):
        document.add(Heading(kinds))
        for name in dict.fromkeys(count.suite for run in group for count in run.counts() if not count.group):
            tested = [run for run in group if results.whole_answers(run, "all", name)]
            path = folder / f"{number}-{name}"
            drawn, _ = results.draw_tested(tested, SUITES[name], "run", path)
            document.add(Figure(drawn, f"{kinds}: exact match on the {name} suite. {SUITES[name].description}"))
        if any("loss" in row for run in group for row in run.metrics()):
            learned = [run for run in group if any("loss" in row for row in run.metrics())]
            drawn, _ = results.draw_learning(learned, "loss", folder / f"{number}-loss")
            document.add(Figure(drawn, f"{kinds}: loss while training"))
        for label, seeds in results.in_groups(group).items():
            if rows := results.over_seeds(seeds):
                document.add(
                    Text(f"{label}: the median over {plural(len(seeds), 'seed')} and the worst, last checkpoint.")
                )
                document.add(Table(rows))
        progress("report", number + 1, len(by_task), kinds)
    _appendix(document, runs)
    return document


def about_results(root: Path, folder: Path, profile: str, progress: Report) -> Document:
    """A folder of results: the claims, then recipe by recipe, then all runs."""
    document = Document("digitwise: results, with a verdict for every claim")
    runs = find_runs(root)
    verdicts = CLAIMS.verdicts(root, profile)
    judged = [row for row in verdicts if row["verdict"] != NOT_RUN]
    if judged:
        document.add(Heading("Claims"), Text(_summary(verdicts)), Table([_claim(row) for row in verdicts]))
    found = list(kept.recipes_below(root))
    for number, (place, recipe) in enumerate(found, start=1):
        for block in _recipe(place, recipe, profile, folder / str(number)):
            document.add(block)
        progress("report", number, len(found), recipe.name)
    if not document.blocks and not runs:
        raise ValueError(f"{root} has no results of the {profile} profile: digitwise reproduce a2 makes some")
    _appendix(document, runs)
    return document


def _summary(verdicts: Sequence[dict[str, Any]]) -> str:
    counted = [f"{sum(row['verdict'] == name for row in verdicts)} {name}" for name in
               dict.fromkeys(row["verdict"] for row in verdicts)]  # fmt: skip
    return (
        f"{len(verdicts)} claims: {', '.join(counted)}. A number is the median over seeds with its 95 % interval over"
        " seeds; a verdict must survive the spread between seeds, and one from a single seed is marked."
    )


def _claim(row: dict[str, Any]) -> dict[str, str]:
    numbers = [stated(number) for number in row["measured"][:NUMBERS]]
    more = len(row["measured"]) - NUMBERS
    measured = "; ".join([*numbers, *([f"and {more} more"] if more > 0 else [])]) or row.get("why", "")
    verdict = f"{row['verdict']}, one seed" if row["one seed"] else row["verdict"]
    return {"claim": row["claim"], "verdict": verdict, "the paper's finding": row["paper"],
            "judged here": row["judged"], "measured": measured}  # fmt: skip


def _recipe(root: Path, recipe: Recipe, profile: str, folder: Path) -> Iterator[Heading | Text | Figure | Table]:
    """The figures and tables of one recipe, if it was run."""
    measured = results.load_measured(root / recipe.name) if recipe.analysis else None
    runs = {} if recipe.analysis else kept.runs_of(root, recipe, profile)
    if measured is None and not runs:
        return
    yield Heading(f"{recipe.title} ({recipe.name})")  # claims call it by this name
    if more := recipe.what.removeprefix(recipe.title).lstrip(":. "):
        yield Text(more[0].upper() + more[1:])
    drawn = kept.draw(root, recipe, profile, folder)
    if measured is not None:
        for path in drawn or _as_kept(root / recipe.name):
            model = RECIPES.get(path.stem.removesuffix("-vectors"), recipe).title
            what = "the vectors" if path.stem.endswith("-vectors") else "lengths of the vectors"
            yield Figure(path, SHOWN.get(path.stem) or f"{model}: {what}")
        short = [{k: v for k, v in row.items() if not isinstance(v, list | dict) or len(v) < 3} for row in measured]
        yield Table(short, folded=f"{len(short)} measured rows")
        return
    seeds = max(map(len, runs.values()))
    over = f"medians of up to {seeds} seeds, each seed a thin line" if seeds > 1 else "one seed, 95 % intervals shaded"
    for path in drawn:
        yield Figure(path, f"{_by_what(path.stem)}: {over}.")
    for name, which in (("last checkpoint", "last"), ("best checkpoint on validation", "best")):
        if rows := reproduction.side_by_side(runs, recipe, which):
            yield Table(rows, folded=f"Exact match, {name}")


def _by_what(stem: str) -> str:
    """What a recipe's figure shows, by the name of its file: accuracy over length, or a suite and a length."""
    suite, _, length = stem.partition("-")
    over = f"{reproduction.STRATA[suite]}, {length} digits" if suite in reproduction.STRATA else "length"
    return f"Exact match by {over}".removesuffix(",  digits")


def _as_kept(folder: Path) -> list[Path]:
    """The figures in a folder, as drawings where there are such."""
    there = sorted({path.with_suffix("") for path in folder.glob("*.[ps][nv]g")})
    return [next(path.with_suffix(e) for e in (".svg", ".png") if path.with_suffix(e).exists()) for path in there]


def _appendix(document: Document, runs: Sequence[Run]) -> None:
    """What was trained, where, and which certificates there are: equal ones once."""
    document.add(Heading("Certificates"), *_certificates(runs))
    document.add(Heading("Configuration"))
    configurations: dict[str, list[Run]] = {}
    for run in runs:
        configurations.setdefault(json.dumps(describe(replace(run.experiment, seed=0))), []).append(run)
    for group in configurations.values():
        first = group[0].experiment
        seeds = ", ".join(str(run.experiment.seed) for run in group)
        minutes = sum(seconds(run) for run in group) / len(group) / 60
        fields = [{"field": path, "value": str(value)} for path, value in flat(describe(first)).items()]
        arm = group[0].folder.name.rpartition("-seed")[0]
        words = f"{first.name} {arm}: {in_words(first)}; {minutes:.1f} minutes of training each; seeds {seeds}"
        document.add(Table([row for row in fields if row["field"] != "seed"], folded=words))
    document.add(Heading("Environment"))
    environments: dict[str, list[Run]] = {}
    for run in runs:
        environments.setdefault(json.dumps(run.environment()), []).append(run)
    for text, group in environments.items():
        rows = [{"what": name, "value": str(value)} for name, value in flat(json.loads(text)).items()]
        document.add(Table(rows, folded=f"{plural(len(group), 'run')}, the first {group[0].folder.name}"))


def _certificates(runs: Sequence[Run]) -> list[Text | Table]:
    """The checks of every case that ended trainings, and the certificates beside weights, each checked again now."""
    rows = []
    for run in runs:
        found, path = run.proof(), run.folder / certificate.FILE
        if found:
            rows.append({
                "model": f"{run.experiment.name}, seed {run.experiment.seed}", "verdict": found["verdict"],
                "theorem": certificate.THEOREMS.get(run.experiment.task.claim, ""), "after steps": found["step"],
                "situations": found["situations"], "wrong": found["wrong"], "least margin of a logit": found["logit"],
                "least margin of a bit": found["bit"],
            })  # fmt: skip
        if path.is_file():
            walk = certificate.check(certificate.read(path))
            rows.append(
                {"model": f"{run.experiment.name}, {path.name}", "verdict": "proven", "situations": len(walk.used)}
            )
    return [Table(rows)] if rows else [Text("None of these models was trained until a proof.")]
