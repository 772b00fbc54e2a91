"""Results of several seeds side by side, as a table and as a picture: the median, the worst seed, every seed."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from digitwise.counts import Case, Count, Numbered, OverSeeds, merge
from digitwise.data import Suite
from digitwise.plots import Curve, draw, fewest_problems, legend_below, look, new_figure, plural, save, seeds_and_median
from digitwise.runs.folder import Run
from digitwise.runs.written import told_apart
from digitwise.tables import read_json, replacing, rows_to_json

Key = TypeVar("Key", bound=Hashable)

FEW = 5
"""Lengths that are drawn where each has a curve of its own."""


def over_seeds(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """A row for each suite, length and stratum, from the last checkpoint of every run that was tested on it."""
    cells = per_seed([whole_answers(run, "last") for run in runs], by=_cell)
    return [
        {
            "suite": suite,
            "digits": length,
            "stratum": stratum,
            "seeds": len(found.by_seed),
            "problems per seed": fewest_problems(found),
            "median": round(found.median, 4),
            "worst": round(found.worst, 4),
            "all seeds 95%": [round(bound, 4) for bound in found.interval],
        }
        for (suite, _, length, stratum), found in sorted(cells.items())
    ]


def _cell(count: Count) -> tuple[str, int, int, str]:
    """The cases of the edges suite are few problems each: they are added up, for each kind of problem."""
    stratum = Case.parse(count.stratum).kind if count.suite == "edges" else count.stratum
    return count.suite, count.version, count.length, stratum


def whole_answers(run: Run, checkpoint: str, suite: str = "") -> list[Count]:
    """Counts of whole answers at the chosen checkpoints, of one suite or of all."""
    steps = run.select(checkpoint)
    return [
        count
        for count in run.counts()
        if not count.group and count.checkpoint in steps and suite in ("", count.suite)
    ]  # fmt: skip


def per_seed(seeds: Sequence[Sequence[Count]], by: Callable[[Count], Key]) -> dict[Key, OverSeeds]:
    """The counts of each seed that `by` maps to the same value, added up within the seed and never over seeds."""
    found: dict[Key, dict[int, Count | float]] = {}
    for seed, counts in enumerate(seeds):
        for key, count in merge(counts, by).items():
            found.setdefault(key, {})[seed] = count
    return {key: OverSeeds("these runs", by_seed) for key, by_seed in found.items()}


def by_length(label: str, *seeds: Sequence[Count]) -> Curve:
    """Accuracy over length, from the counts of each seed."""
    return Curve(label, dict(sorted(per_seed(seeds, lambda count: float(count.length)).items())))


def by_kind(label: str, *seeds: Sequence[Count]) -> list[Curve]:
    """One curve over lengths; where a suite has kinds of problems, one for each kind: never kinds added up."""
    return _curves(label, seeds, lambda count: count.stratum, lambda count: count.length)


def never_added(label: str, counts: Sequence[Count]) -> tuple[list[Curve], str]:
    """Counts of any suites as curves, and what they are drawn over: strata and suites are never added up.

    Curves run over lengths. They run over the numbers in the strata's names where that makes fewer of them.
    """
    suites = {
        name: [c for c in counts if (c.suite, c.version) == name] for name in {(c.suite, c.version) for c in counts}
    }
    names = {suite: label if len(suites) == 1 else f"{label}, {suite[0]} v{suite[1]}" for suite in sorted(suites)}
    over_lengths = [curve for suite, name in names.items() for curve in by_kind(name, suites[suite])]
    try:
        lengths = sorted({count.length for count in counts})
        over_numbers = [
            curve for n in lengths for curve in by_stratum(f"{n} digits", [c for c in counts if c.length == n])
        ]
    except ValueError:  # strata without numbers in their names, or several suites
        return over_lengths, "digits"
    fewer = len(over_numbers) < len(over_lengths)
    return (over_numbers, "number in the name of the stratum") if fewer else (over_lengths, "digits")


def by_stratum(label: str, *seeds: Sequence[Count]) -> list[Curve]:
    """For strata such as "run 8 with carry": one curve for each kind of them, over the number in the name."""
    return _curves(
        label,
        seeds,
        lambda count: Numbered.parse(count.stratum).kind,
        lambda count: Numbered.parse(count.stratum).number,
    )


def _curves(
    label: str, seeds: Sequence[Sequence[Count]], kind: Callable[[Count], str], x: Callable[[Count], float]
) -> list[Curve]:
    curves = []
    for name in dict.fromkeys(kind(count) for counts in seeds for count in counts):
        chosen = [[count for count in counts if kind(count) == name] for counts in seeds]
        title = ", ".join(part for part in (label, name) if part)
        curves.append(Curve(title, dict(sorted(per_seed(chosen, x).items())), family=label))
    return curves


def draw_learning(runs: Sequence[Run], what: str, path: Path) -> tuple[Path, list[str]]:
    """Draw the loss or the accuracy on the validation set over steps; return the file and the names of the curves."""
    figure, axes = new_figure(height=4.2)
    groups = in_groups(runs)
    for index, (label, group) in enumerate(groups.items()):
        seeds: list[dict[float, float]] = []
        for run in group:
            seeds.append({row["step"]: row[what] for row in run.metrics() if what in row})
            if not seeds[-1]:
                raise ValueError(f"{run.folder} has logged no {what} yet: digitwise train --resume {run.folder}")
        line = look(index) | ({} if what == "validation" else {"marker": ""})
        seeds_and_median(axes, seeds, label=label, **line)
    losses = [row["loss"] for run in runs for row in run.metrics() if "loss" in row]
    if what == "loss" and max(losses) > 10 * min(losses) > 0:
        axes.set_yscale("log")
    named = {"loss": "training loss", "validation": "exact match on validation problems"}[what]
    axes.set(xlabel="step", ylabel=named)
    each = max(len(group) for group in groups.values())
    axes.set_title(f"{posed(runs)}: {named}, {plural(each, 'seed')}", fontsize=10)
    legend_below(figure, axes)
    return save(figure, path), list(groups)


def in_groups(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Runs by what was trained, in words: seeds of one experiment are one group, and the same run twice is two."""
    labels = told_apart([run.experiment for run in runs])
    seeds = [(label, run.experiment.seed) for label, run in zip(labels, runs, strict=True)]
    groups: dict[str, list[Run]] = {}
    for run, label, seed in zip(runs, labels, seeds, strict=True):
        groups.setdefault(label if seeds.count(seed) == 1 else f"{label}, {run.folder}", []).append(run)
    return groups


def posed(runs: Sequence[Run]) -> str:
    """The problems of runs in words, for a title; a ValueError if they differ."""
    found = {", ".join(map(str, run.experiment.task.kinds)): run.folder for run in runs}
    if len(found) > 1:
        told = "; ".join(f"{folder}: {kinds}" for kinds, folder in found.items())
        raise ValueError(f"the runs are of different tasks, which need one figure each ({told})")
    return next(iter(found))


def draw_tested(runs: Sequence[Run], suite: Suite, by: str, path: Path) -> tuple[Path, list[str]]:
    """Draw what runs answered on a suite, over length or over places; return the file and the names of the curves."""
    title, curves, places = f"{posed(runs)}: exact match on the {suite.name} suite", list[Curve](), False
    groups = in_groups(runs)
    for name, group in groups.items():
        tested = [_tested(run, suite) for run in group]
        places = any(count.group.startswith("place ") for counts in tested for count in counts)
        last = [max(count.checkpoint for count in counts) for counts in tested]
        steps = sorted({count.checkpoint for counts in tested for count in counts}) if by == "checkpoint" else [-1]
        for step in steps:
            when = f"step {step} {group[0].titles(step)}".strip() if step >= 0 else ""
            alone = len(groups) == 1 and (by != "run" or places)
            label = ", ".join(part for part in ("" if alone else name, when) if part)
            seeds = [
                [count for count in counts if count.checkpoint == (step if step >= 0 else final)]
                for counts, final in zip(tested, last, strict=True)
            ]
            whole = [[count for count in counts if not count.group] for counts in seeds]
            curves += by_place(label, *seeds) if places else by_kind(label, *whole)
    lengths = {run.experiment.trained_length for run in runs}
    trained = lengths.pop() if len(lengths) == 1 and not places else None
    xlabel = "place of the answer, 0 for the ones" if places else "digits"
    return draw(curves, path, title, trained, xlabel), [curve.label for curve in curves]


def _tested(run: Run, suite: Suite) -> list[Count]:
    tested = [count for count in run.counts() if (count.suite, count.version) == (suite.name, suite.version)]
    if not tested:
        hint = f"digitwise eval {run.folder} --suite {suite.name}"
        raise ValueError(f"{run.folder} has not been tested on {suite.name} v{suite.version}: {hint}")
    return tested


def by_place(label: str, *seeds: Sequence[Count]) -> list[Curve]:
    """Accuracy over places, with one curve for each of a few lengths and for each kind of problems."""
    lengths = sorted({count.length for counts in seeds for count in counts})
    few = {lengths[round(i * (len(lengths) - 1) / max(FEW - 1, 1))] for i in range(FEW)}
    return _curves(
        label,
        [[count for count in counts if count.group.startswith("place ") and count.length in few] for counts in seeds],
        lambda count: ", ".join(part for part in (plural(count.length, "digit"), count.stratum) if part),
        lambda count: Numbered.parse(count.group).number,
    )


def save_measured(folder: Path, rows: Iterable[dict[str, Any]]) -> None:
    """What was measured on the weights of several runs; lives beside the figures of a recipe."""
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / "measured.json") as temporary:
        temporary.write_text(rows_to_json(rows) + "\n")


def load_measured(folder: Path) -> list[dict[str, Any]] | None:
    """The rows, if there are any."""
    path = folder / "measured.json"
    found = read_json(path) if path.exists() else None
    return found["rows"] if isinstance(found, dict) else found  # of before rows said of which run they are
