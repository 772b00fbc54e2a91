"""From the name of a recipe to its trained, tested and drawn result. What is finished is not done again."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from digitwise import theory
from digitwise.paper import Recipe, arms, controls, dependence, find, law_figures, leak, maps, proof
from digitwise.paper.place_table import SUITES, place_table
from digitwise.paper.recipes import Check
from digitwise.paper.trained import Report, Runs, silent, spaced, train_recipe
from digitwise.plots import plural
from digitwise.runs import results
from digitwise.runs.evaluation import evaluate
from digitwise.runs.folder import Run
from digitwise.runs.places import seconds
from digitwise.runs.results import Curve, load_measured, save_measured, whole_answers
from digitwise.sweeps.drive import HERE, Where

Rows = list[dict[str, Any]]

#: Suites whose strata have a number in their names: what it counts.
STRATA = {
    "cascade": "columns of the longest cascade",
    "consecutive": "carries in a row",
    "nines": "columns in a row that sum to 9",
}


def reproduce(
    name: str,
    profile: str = "cpu",
    seeds: Sequence[int] | None = None,
    root: Path = Path("runs"),
    report: Report = silent,
    on: Where = HERE,
) -> dict[str, Any]:
    """Train what is missing, test, draw. Returns the table and the paths of what was written. Without `seeds` the
    recipe says which. `on` says where training is done."""
    arms(name, profile)  # refuses what is not a profile
    recipe = find(name)
    name, folder = recipe.name, root / recipe.name
    runs = train_recipe(recipe, profile, seeds, root, report, on)
    used = sorted({run.experiment.seed for run in every(runs)}) or seeds or recipe.seeds_in(profile)
    if recipe.analysis:
        rows = analyse(recipe.analysis, every(runs), used, folder, report)
        found = {"rows": [_short(row) for row in rows], "figures": [str(path) for path in sorted(folder.glob("*.png"))]}
    else:
        check(recipe, profile, every(runs), report)
        found = {
            "by place": place_table(every(runs)) if {c.suite for c in recipe.checks} >= SUITES else [],
            "last": side_by_side(runs, recipe, "last"),
            "best on validation": side_by_side(runs, recipe, "best"),
            "figures": [str(path) for path in draw(runs, recipe, folder)],
        }
    trained = {str(run.folder): {"seconds": seconds(run)} | checked(run) for run in every(runs)}
    return {"recipe": name, "profile": profile, "seeds": list(used), **found, "runs": trained}


def _short(row: dict[str, Any]) -> dict[str, Any]:
    """A measured row for people, without its long lists."""
    return {k: v for k, v in row.items() if k != "run" and (not isinstance(v, list | dict) or len(v) < 9)}


def checked(run: Run) -> dict[str, Any]:
    """What the check of every case found, for models that are trained until it is passed."""
    found = run.proof()
    return {"proof": {"claim": run.experiment.task.claim} | found} if found else {}


def every(runs: Runs) -> list[Run]:
    return [run for group in runs.values() for run in group]


def check(recipe: Recipe, profile: str, runs: Sequence[Run], report: Report = silent) -> None:
    """Test every run on all that the recipe asks for, at the checkpoints that its table and its figure show."""
    for index, run in enumerate(runs):
        drawn = _spaced_checkpoints(run) if recipe.curves == "checkpoints" else []
        checkpoints = ",".join([recipe.checkpoints, *map(str, drawn)])
        for one in recipe.checks_in(profile):
            evaluate(run, one.suite, one.lengths, 1 if hopeless(run, one) else one.problems, checkpoints=checkpoints)
        report(f"test {recipe.name}", index + 1, len(runs), run.folder.name)


def hopeless(run: Run, check: Check) -> bool:
    """Whether a shorter length has none right, so that one problem tells as much as many, which would take minutes."""
    shortest = min(check.lengths or (0,))
    before = [c for c in run.counts() if c.suite == "uniform" and not c.group and c.length < shortest]
    return check.trained and any(count.correct == 0 for count in before)


def side_by_side(runs: Runs, recipe: Recipe, checkpoint: str) -> Rows:
    """A row for each suite, length and stratum, with exact match and interval of each arm. Of several seeds it shows
    the median, the worst and the interval over seeds."""
    several = max(map(len, runs.values())) > 1
    problems = "problems per seed" if several else "problems"
    rows: dict[tuple[str, int, str], dict[str, Any]] = {}
    for suite in dict.fromkeys(check.suite for check in recipe.checks):
        for arm, group in runs.items():
            answers = [whole_answers(run, checkpoint, suite) for run in group]
            for (length, stratum), found in results.per_seed(answers, lambda c: (c.length, c.stratum)).items():
                labels = {"suite": suite, "digits": length, "stratum": stratum}
                shown = {name: value for name, value in labels.items() if value not in ("", "uniform")}
                row = rows.setdefault((suite, length, stratum), shown | {problems: 0})
                row[problems] = max(row[problems], results.fewest_problems(found))
                row[arm] = round(found.median, 4)
                if several:
                    row[f"{arm} worst"] = round(found.worst, 4)
                row[f"{arm} 95%"] = [round(bound, 4) for bound in found.interval]
    return list(rows.values())


def draw(runs: Runs, recipe: Recipe, folder: Path) -> list[Path]:
    """The figures of a recipe: a curve for each arm, for each of several checkpoints, or for each kind of stratum."""
    group = next(iter(runs.values()))
    trained = group[0].experiment.trained_length
    title = f"{recipe.title}\ntrained on at most {plural(trained, 'digit')}"
    if recipe.curves == "strata":
        return [
            _draw_strata(runs, suite, length, folder / f"{suite}{f'-{length}' * (len(lengths) > 1)}", title)
            for suite, lengths in _strata_lengths(runs, recipe).items()
            for length in lengths
        ]
    several = recipe.curves == "checkpoints" and len(_spaced_checkpoints(group[0])) > 1  # what only grew has one
    curves = _by_checkpoint(group) if several else _by_arm(runs, recipe)
    return [results.draw(curves, folder / "accuracy", title, trained)]


def _by_checkpoint(group: Sequence[Run]) -> list[Curve]:
    """One curve for each of several checkpoints of an arm."""
    return [
        results.by_length(f"step {step}", *(whole_answers(run, str(step), "uniform") for run in group))
        for step in _spaced_checkpoints(group[0])
    ]


def _spaced_checkpoints(run: Run) -> list[int]:
    return spaced(run.checkpoints())


def _by_arm(runs: Runs, recipe: Recipe) -> list[Curve]:
    """One curve for each arm and kind of problems at the last checkpoint, and at the best one if that is another."""
    names = {"last": "last checkpoint", "best": "best on validation"}
    curves = []
    for checkpoint in names if "best" in recipe.checkpoints else ["last"]:
        for arm, group in runs.items():
            if checkpoint == "last" or any(run.select("last") != run.select("best") for run in group):
                answers = [whole_answers(run, checkpoint, recipe.checks[0].suite) for run in group]
                label = f"{arm}, {names[checkpoint]}" if len(runs) > 1 else names[checkpoint]
                curves += [replace(curve, family=arm) for curve in results.by_kind(label, *answers)]
    return curves


def _strata_lengths(runs: Runs, recipe: Recipe) -> dict[str, list[int]]:
    """At which lengths there are counts of each of a recipe's suites with numbered strata."""
    counts = [count for run in every(runs) for count in run.counts()]
    suites = [check.suite for check in recipe.checks if check.suite in STRATA]
    return {suite: sorted({count.length for count in counts if count.suite == suite}) for suite in suites}


def _draw_strata(runs: Runs, suite: str, length: int, path: Path, title: str) -> Path:
    """One curve for each arm and kind of stratum, over the number in the stratum's name, at the last checkpoint."""
    answers = {
        arm: [[count for count in whole_answers(run, "last", suite) if count.length == length] for run in group]
        for arm, group in runs.items()
    }
    by_arm = {arm: results.by_stratum(arm if len(runs) > 1 else "", *seeds) for arm, seeds in answers.items()}
    curves = [
        replace(curve, label=f"training: {arm}") if len(found) == 1 < len(runs) else curve
        for arm, found in by_arm.items() for curve in found
    ]  # fmt: skip
    return results.draw(curves, path, f"{title}, last checkpoint, tested on {length} digits", xlabel=STRATA[suite])


class Analysis(NamedTuple):
    """What is measured instead of right answers: rows from each run, or from seeds alone; and figures from the rows."""

    draw: Callable[[Rows, Path], list[Path]]
    of_run: Callable[[Run], Rows] | None = None
    of_seeds: Callable[[Sequence[int]], Rows] = lambda seeds: []


def measure_laws(seeds: Sequence[int]) -> Rows:
    return law_figures.report()["laws"]


def draw_laws(rows: Rows, folder: Path) -> list[Path]:
    return law_figures.draw(folder)


def draw_theory(rows: Rows, folder: Path) -> list[Path]:
    return theory.figures(folder, None, ".png", ".svg")  # reports take the second: it cannot be drawn from rows


ANALYSES = {
    "proof": Analysis(proof.draw, proof.measure),
    "leak": Analysis(leak.draw, leak.measure),
    "wiring": Analysis(controls.draw_wiring, controls.measure_wiring),
    "maps": Analysis(maps.draw_maps, maps.measure_maps),
    "fixed-map": Analysis(dependence.draw, dependence.measure),
    "theory": Analysis(draw_theory, of_seeds=theory.table),
    "complexity": Analysis(draw_laws, of_seeds=measure_laws),
}


def analyse(name: str, runs: Sequence[Run], seeds: Sequence[int], folder: Path, report: Report = silent) -> Rows:
    """Measure what has not been measured, and draw all that has. Rows say of which run they are, and stay: weights are
    not always at hand later."""
    analysis, rows = ANALYSES[name], load_measured(folder) or []
    known = {row.get("run") for row in rows}
    if analysis.of_run is None:
        wanted = [f"seed {', '.join(map(str, seeds))}"]
        rows = rows if known == set(wanted) else _labelled(wanted[0], analysis.of_seeds(seeds))
    else:
        wanted = [f"{run.folder.parent.name}/{run.folder.name}" for run in runs]
        for number, (label, run) in enumerate(zip(wanted, runs, strict=True)):
            if label not in known:
                rows = [*rows, *_labelled(label, analysis.of_run(run))]
                save_measured(folder, rows)
            report(f"measure {name}", number + 1, len(runs), label)
    if not known.issuperset(wanted):
        save_measured(folder, rows)
        analysis.draw(rows, folder)
    return [row for row in rows if row["run"] in wanted]


def _labelled(label: str, rows: Rows) -> Rows:
    return [{"run": label} | row for row in rows]
