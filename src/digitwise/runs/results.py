"""Results of several seeds side by side, as a table and as a picture: the median, the worst seed, every seed."""

import json
from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from digitwise.config import describe
from digitwise.counts import Case, Count, Numbered, OverSeeds, merge
from digitwise.data import Suite
from digitwise.plots import COLOURS, STYLES, Curve, draw, fewest_problems, legend_below, new_figure, plural, save
from digitwise.runs.folder import Run
from digitwise.tables import flat, read_json, replacing, rows_to_json

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
    labels = names(runs)
    for index, (run, label) in enumerate(zip(runs, labels, strict=True)):
        points = {row["step"]: row[what] for row in run.metrics() if what in row}
        if not points:
            raise ValueError(f"{run.folder} has logged no {what} yet: digitwise train --resume {run.folder}")
        style = {"color": COLOURS[index % len(COLOURS)], "ls": STYLES[index // len(COLOURS) % len(STYLES)]}
        marker = "o" if what == "validation" else None
        axes.plot(list(points), list(points.values()), label=label, marker=marker, ms=3.5, lw=1.5, **style)
    losses = [row["loss"] for run in runs for row in run.metrics() if "loss" in row]
    if what == "loss" and max(losses) > 10 * min(losses) > 0:
        axes.set_yscale("log")
    axes.set(xlabel="step", ylabel={"loss": "training loss", "validation": "exact match on validation problems"}[what])
    legend_below(figure, axes)
    return save(figure, path), labels


def names(runs: Sequence[Run]) -> list[str]:
    """What tells runs apart: the names of their folders and, where these are equal, the fields that differ."""
    short = [run.folder.resolve().name for run in runs]
    if len(set(short)) == len(runs):
        return short
    described = [flat(describe(run.experiment)) for run in runs]
    differ = [path for path in dict.fromkeys(p for one in described for p in one)
              if len({str(one.get(path)) for one in described}) > 1]  # fmt: skip
    objects = tuple(path.removesuffix("kind") for path in differ if path.endswith(".kind"))
    told = [path for path in differ if path.endswith(".kind") or not path.startswith(objects)]
    labels = []
    for name, one in zip(short, described, strict=True):
        words = [f"{path.removesuffix('.kind').rpartition('.')[2]} {one.get(path)}" for path in told]
        labels.append(", ".join([name, *words]))
    if len(set(labels)) == len(runs) and max(map(len, labels)) <= 80:
        return labels
    return [str(run.folder) for run in runs]


def draw_tested(runs: Sequence[Run], suite: Suite, by: str, path: Path) -> tuple[Path, list[str]]:
    """Draw what runs answered on a suite, over length or over places; return the file and the names of the curves."""
    posed = {", ".join(map(str, run.experiment.task.kinds)): run.folder for run in runs}
    if len(posed) > 1:
        told = "; ".join(f"{folder}: {kinds}" for kinds, folder in posed.items())
        raise ValueError(f"the runs are of different tasks, which need one figure each ({told})")
    curves, places = [], False
    for run, name in zip(runs, names(runs), strict=True):
        tested = [count for count in run.counts() if (count.suite, count.version) == (suite.name, suite.version)]
        if not tested:
            hint = f"digitwise eval {run.folder} --suite {suite.name}"
            raise ValueError(f"{run.folder} has not been tested on {suite.name} v{suite.version}: {hint}")
        places = any(count.group.startswith("place ") for count in tested)
        steps = sorted({count.checkpoint for count in tested})
        for step in steps if by == "checkpoint" else steps[-1:]:
            title = f"step {step} {run.titles(step)}".strip() if by == "checkpoint" else ""
            label = ", ".join(
                part for part in (name if len(runs) > 1 or (by == "run" and not places) else "", title) if part
            )
            counts = [count for count in tested if count.checkpoint == step]
            curves += by_place(label, counts) if places else by_kind(label, [c for c in counts if not c.group])
    lengths = {run.experiment.trained_length for run in runs}
    trained = lengths.pop() if len(lengths) == 1 and not places else None
    xlabel = "place of the answer, 0 for the ones" if places else "digits"
    drawn = draw(curves, path, f"Exact match on the {suite.name} suite", trained, xlabel)
    return drawn, [curve.label for curve in curves]


def by_place(label: str, counts: Sequence[Count]) -> list[Curve]:
    """Accuracy over places, with one curve for each of a few lengths and for each kind of problems."""
    lengths = sorted({count.length for count in counts})
    few = {lengths[round(i * (len(lengths) - 1) / max(FEW - 1, 1))] for i in range(FEW)}
    chosen = [count for count in counts if count.group and count.length in few]
    return _curves(
        label,
        [chosen],
        lambda count: ", ".join(part for part in (plural(count.length, "digit"), count.stratum) if part),
        lambda count: Numbered.parse(count.group).number,
    )


def save_measured(folder: Path, of: list[str], rows: Iterable[dict[str, Any]]) -> None:
    """What was measured on the weights of several runs; lives beside the figures of a recipe."""
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / "measured.json") as temporary:
        temporary.write_text(f'{{"of": {json.dumps(of)},\n"rows": {rows_to_json(rows)}}}\n')


def load_measured(folder: Path, of: list[str] | None = None) -> list[dict[str, Any]] | None:
    """The rows, if there are any (and, if `of` is given, they are of just these runs)."""
    path = folder / "measured.json"
    found = read_json(path) if path.exists() else None
    return found["rows"] if found and of in (None, found["of"]) else None
