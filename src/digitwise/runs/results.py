"""Results of several seeds side by side, as a table and as a picture: the median, the worst seed, every seed."""

import json
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from digitwise.counts import Case, Count, Numbered, OverSeeds, merge, value_of
from digitwise.plots import COLOURS, FAR, STYLES, legend_below, new_figure, save, seeds_and_median
from digitwise.runs.experiment import read_json
from digitwise.runs.folder import Run, replacing, rows_to_json

Key = TypeVar("Key", bound=Hashable)

#: Medians that reach this, and at no length are below that, are drawn by wrong answers: at the top of an axis from 0 to
#: 1 nothing could be told apart.
NEARLY, LEAST = 0.99, 0.75


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


def fewest_problems(found: OverSeeds) -> int:
    return min(count.tried for count in found.by_seed.values() if isinstance(count, Count))


@dataclass(frozen=True)
class Curve:
    """Accuracy over length, or over anything else that is a number, of one or more seeds."""

    label: str
    points: dict[float, OverSeeds]
    family: str = ""
    """Curves of one family have one colour and differ in their lines."""


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


def draw(
    curves: Sequence[Curve], path: Path, title: str = "", trained: int | None = None, xlabel: str = "digits"
) -> Path:
    """Draw one curve per method: the median over seeds with every seed as a thin line, or one seed with its 95 %
    interval. Lengths seen in training are shaded.

    Where medians are nearly 1 at all lengths, the axis has the share of wrong answers, logarithmic.
    """
    figure, axes = new_figure(height=4.2)
    if trained is not None:
        axes.axvspan(0, trained + 0.5, color="#f0f0f0", zorder=0, label="lengths in training")
    medians = [found.median for curve in curves for found in curve.points.values()]
    wrong = xlabel == "digits" and min(medians, default=0.0) >= LEAST and max(medians) >= NEARLY
    several = len({curve.family for curve in curves}) > 1  # of one family alone every curve has its own colour
    names = [(several and curve.family) or curve.label for curve in curves]
    families = list(dict.fromkeys(names))
    for index, (curve, name) in enumerate(zip(curves, names, strict=True)):
        colour, member = families.index(name), names[:index].count(name)
        style = STYLES[(member + colour // len(COLOURS)) % len(STYLES)]
        _draw(axes, curve, COLOURS[colour % len(COLOURS)], style, 0.5 * 0.88**index if wrong else None)
    axes.set_xlabel(xlabel)
    axes.set_title(title, fontsize=10)
    points = [x for curve in curves for x in curve.points]
    if max(points, default=0) > FAR:
        axes.set_xscale("log")
        axes.set_xlim(left=max(0.9, 0.9 * min(points)))
    else:
        axes.xaxis.get_major_locator().set_params(integer=True)
        if points:
            axes.set_xlim(left=min(points) - 0.5)
    if wrong:
        _resolution(axes, curves)
    else:
        axes.set(ylabel="exact match", ylim=(-0.02, 1.03))
    legend_below(figure, axes)
    return save(figure, path)


def _draw(axes: Any, curve: Curve, colour: str, style: str, none_wrong: float | None) -> None:
    """A curve of accuracy; or of wrong answers, if it is said at how many of them no wrong one is drawn."""
    seeds = sorted({seed for found in curve.points.values() for seed in found.by_seed})
    lines = [{x: found.by_seed[seed] for x, found in curve.points.items() if seed in found.by_seed} for seed in seeds]

    def value(x: float, accuracy: float) -> float:
        return accuracy if none_wrong is None else max(1 - accuracy, none_wrong / fewest_problems(curve.points[x]))

    values = [{x: value(x, value_of(measured)) for x, measured in line.items()} for line in lines]
    seeds_and_median(axes, values, colour, curve.label, marker="o", ms=3.5, ls=style)
    if len(seeds) == 1:
        low, high = zip(
            *([value(x, bound) for bound in found.interval] for x, found in curve.points.items()), strict=True
        )
        axes.fill_between(list(curve.points), low, high, color=colour, alpha=0.18, lw=0)
    if none_wrong is not None:
        flawless = [x for x, found in curve.points.items() if found.median == 1]
        marks = [value(x, 1.0) for x in flawless]
        axes.plot(flawless, marks, ls="", marker="o", ms=3.5, mfc="white", color=colour, zorder=3)


def _resolution(axes: Any, curves: Sequence[Curve]) -> None:
    """An axis of wrong answers: the line below which a number of problems shows nothing, and what stands there."""
    problems: dict[float, int] = {}
    for curve in curves:
        for x, found in curve.points.items():
            problems[x] = min(fewest_problems(found), problems.get(x, fewest_problems(found)))
    xs = sorted(problems)
    axes.plot(
        xs, [1 / problems[x] for x in xs], ":", color="#555555", lw=1.2, label="resolution: one wrong answer per seed"
    )
    axes.plot(
        [], [], ls="", marker="o", ms=3.5, mfc="white", color="#555555", label="none wrong, drawn below the resolution"
    )
    axes.set_yscale("log")
    axes.set(ylabel="share of wrong answers", ylim=(0.2 / max(problems.values()), 1.3))


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
