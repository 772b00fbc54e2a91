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
from digitwise.paper import RECIPES, Recipe, reproduction
from digitwise.paper.claims import CLAIMS
from digitwise.paper.evidence import NOT_RUN, Evidence, NotRun
from digitwise.plots import drawn_as, plural
from digitwise.runs import results
from digitwise.runs.folder import Run
from digitwise.runs.places import find_runs, seconds
from digitwise.runs.words import in_words
from digitwise.tables import flat, replacing

Report = Callable[[str, int, int, str], None]
MEASURED = {"theory"}
"""Analyses whose figures need more than the kept rows."""
NUMBERS = 6
"""Numbers of a claim that are shown; `digitwise claims --json` has all."""


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
    # Recipes may stand in folders of their own, as those beyond the paper do.
    roots = dict.fromkeys([root, *(run.folder.parent.parent for run in runs)])
    found = [(place, recipe) for place in roots for recipe in RECIPES.values()]
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
    numbers = [_number(number) for number in row["measured"][:NUMBERS]]
    more = len(row["measured"]) - NUMBERS
    measured = "; ".join([*numbers, *([f"and {more} more"] if more > 0 else [])]) or row.get("why", "")
    verdict = f"{row['verdict']}, one seed" if row["one seed"] else row["verdict"]
    return {"claim": row["claim"], "verdict": verdict, "the paper's finding": row["paper"],
            "judged here": row["judged"], "measured": measured}  # fmt: skip


def _number(number: dict[str, Any]) -> str:
    value, (low, high) = number.get("median", number.get("mean")), number.get("interval") or number["must lie in"]
    return f"{number['what']}: {value:.4g} [{low:.4g}, {high:.4g}]"


def _recipe(root: Path, recipe: Recipe, profile: str, folder: Path) -> Iterator[Heading | Text | Figure | Table]:
    """The figures and tables of one recipe, if it was run."""
    if recipe.analysis:
        rows = results.load_measured(root / recipe.name)
        if rows is None:
            return
        yield from (Heading(recipe.title), Text(recipe.what))
        for path in _drawn(recipe, rows, root / recipe.name, folder):
            yield Figure(path, f"{recipe.title} ({path.stem})")
        short = [{k: v for k, v in row.items() if not isinstance(v, list | dict) or len(v) < 3} for row in rows]
        yield Table(short, folded=f"{len(short)} measured rows")
        return
    runs = _runs(root, recipe, profile)
    if not any(runs.values()):
        return
    chosen = {arm: group for arm, group in runs.items() if group}
    yield from (Heading(recipe.title), Text(recipe.what))
    for path in reproduction.draw(chosen, recipe, folder):
        yield Figure(path, f"{recipe.title}: {path.stem}. Medians over seeds, each seed a thin line.")
    for name, which in (("last checkpoint", "last"), ("best checkpoint on validation", "best")):
        if rows := reproduction.side_by_side(chosen, recipe, which):
            yield Table(rows, folded=f"Exact match, {name}")


def _drawn(recipe: Recipe, rows: list[dict[str, Any]], kept: Path, folder: Path) -> list[Path]:
    if recipe.analysis not in MEASURED:
        return reproduction.ANALYSES[recipe.analysis].draw(rows, folder)
    there = sorted({path.with_suffix("") for path in kept.glob("*.[ps][nv]g")})
    return [next(path.with_suffix(e) for e in (".svg", ".png") if path.with_suffix(e).exists()) for path in there]


def _runs(root: Path, recipe: Recipe, profile: str) -> reproduction.Runs:
    evidence, found = Evidence(root, profile), {}
    for arm in recipe.arms(profile):
        try:
            found[arm] = list[Run](evidence.runs(recipe.name, arm))
        except NotRun:
            found[arm] = []
    return found


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
        words = f"{first.name}: {in_words(first)}; seeds {seeds}; {minutes:.1f} minutes of training each"
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
