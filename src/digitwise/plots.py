"""One style for all figures, and curves of accuracy in it. Only this file imports matplotlib, and only to draw.

Curves differ in colour, in line and in marker: colours that the colour-blind tell apart (Okabe and Ito 2008), and the
rest for print in black and white. What training has shown is shaded, seeds are thin lines under their median, and the
caption says how many problems there were. Figures are PNG, SVG or PDF by the name of their file.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from digitwise.counts import Count, OverSeeds, value_of

COLOURS = ["#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999"]
STYLES = ["-", "--", ":", "-."]
MARKERS = "osD^vPX*"
RED, BLUE, *_ = COLOURS
SHADE = "#ececec"
"""Of what training has shown."""
QUIET = "#555555"
"""Of lines and words that explain, and show nothing measured."""
FAR = 150
"""Beyond so many digits an axis of lengths is logarithmic."""
#: Medians that reach this, and at no length are below that, are drawn by wrong answers: at the top of an axis from 0 to
#: 1 nothing could be told apart.
NEARLY, LEAST = 0.99, 0.75


@dataclass(frozen=True)
class Curve:
    """Accuracy over length, or over anything else that is a number, of one or more seeds."""

    label: str
    points: dict[float, OverSeeds]
    family: str = ""
    """Curves of one family have one colour and differ in their lines."""


def draw(
    curves: Sequence[Curve], path: Path, title: str = "", trained: int | None = None, xlabel: str = "digits"
) -> Path:
    """Draw one curve per method: the median over seeds with every seed as a thin line, or one seed with its 95 %
    interval. Lengths seen in training are shaded.

    Where medians are nearly 1 at all lengths, the axis has the share of wrong answers, logarithmic.
    """
    figure, axes = new_figure(height=4.2)
    if trained is not None:
        axes.axvspan(0, trained + 0.5, color=SHADE, zorder=0, label="lengths in training")
    medians = [found.median for curve in curves for found in curve.points.values()]
    wrong = xlabel == "digits" and min(medians, default=0.0) >= LEAST and max(medians) >= NEARLY
    several = len({curve.family for curve in curves}) > 1  # of one family alone every curve has its own colour
    names = [(several and curve.family) or curve.label for curve in curves]
    families = list(dict.fromkeys(names))
    alone = len(families) == len(names)
    for index, (curve, name) in enumerate(zip(curves, names, strict=True)):
        family = families.index(name)
        line = look(family, None if alone else names[:index].count(name))
        _draw(axes, curve, line, 0.5 * 0.88**index if wrong else None)
    axes.set_xlabel(xlabel)
    axes.set_title("\n".join(part for part in (title, how_many(curves)) if part), fontsize=10)
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


def small_multiples(
    panels: Mapping[str, Sequence[Curve]], path: Path, title: str = "", trained: int | None = None, columns: int = 4
) -> Path:
    """Draw one small panel per name, all with the same axes; curves of one label have one colour in all of them."""
    from matplotlib.lines import Line2D

    labels = list(dict.fromkeys(curve.label for curves in panels.values() for curve in curves))
    rows = -(-len(panels) // columns)
    figure, found = new_figure(2.1 * columns, 1.75 * rows + 0.7, columns, rows)
    for index, (axes, (name, curves)) in enumerate(zip(found, panels.items(), strict=False)):
        if trained is not None:
            axes.axvspan(0, trained + 0.5, color=SHADE, zorder=0)
        for curve in curves:
            _draw(axes, curve, look(labels.index(curve.label)), None)
        axes.set_title(name, fontsize=9)
        axes.set(ylim=(-0.02, 1.03), xlabel="digits" if index + columns >= len(panels) else "")  # nothing is below it
        axes.tick_params(labelsize=7)
        axes.xaxis.get_major_locator().set_params(integer=True)
    for axes in found[len(panels) :]:
        axes.set_visible(False)
    lines = [Line2D([], [], **look(number)) for number in range(len(labels))]
    figure.legend(lines, labels, loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    several = how_many([curve for curves in panels.values() for curve in curves])
    figure.suptitle("\n".join(part for part in (title, several) if part), fontsize=10)
    figure.supylabel("exact match", fontsize=8)
    return save(figure, path)


def look(number: int, member: int | None = None) -> dict[str, Any]:
    """Colour, line and marker of a curve. Members of a family share colour and marker, and differ in their lines."""
    again = number // len(COLOURS)  # colours come again, with other lines and markers
    style = (number if member is None else member) + again
    return {
        "color": COLOURS[number % len(COLOURS)], "ls": STYLES[style % len(STYLES)],
        "marker": MARKERS[(number + again) % len(MARKERS)], "ms": 3.5,
    }  # fmt: skip


def how_many(curves: Sequence[Curve]) -> str:
    """The number of problems behind each point, for a caption."""
    found = [point for curve in curves for point in curve.points.values()]
    counts = [count.tried for point in found for count in point.by_seed.values() if isinstance(count, Count)]
    if not counts:
        return ""
    seeds = [max(len(point.by_seed) for point in curve.points.values()) for curve in curves if curve.points]
    problems = f"{min(counts):,}" if min(counts) == max(counts) else f"{min(counts):,} to {max(counts):,}"
    each, fewest = " and seed" * (max(seeds) > 1), f"{min(seeds)} to " * (min(seeds) < max(seeds))
    return f"{problems} problems per point{each}, {fewest}{plural(max(seeds), 'seed')}"


def _draw(axes: Any, curve: Curve, line: dict[str, Any], none_wrong: float | None) -> None:
    """A curve of accuracy; or of wrong answers, if it is said at how many of them no wrong one is drawn."""
    seeds = sorted({seed for found in curve.points.values() for seed in found.by_seed})
    lines = [{x: found.by_seed[seed] for x, found in curve.points.items() if seed in found.by_seed} for seed in seeds]

    def value(x: float, accuracy: float) -> float:
        return accuracy if none_wrong is None else max(1 - accuracy, none_wrong / fewest_problems(curve.points[x]))

    values = [{x: value(x, value_of(measured)) for x, measured in line.items()} for line in lines]
    seeds_and_median(axes, values, label=curve.label, **line)
    if len(seeds) == 1:
        low, high = zip(
            *([value(x, bound) for bound in found.interval] for x, found in curve.points.items()), strict=True
        )
        axes.fill_between(list(curve.points), low, high, color=line["color"], alpha=0.18, lw=0)
    if none_wrong is not None:
        flawless = [x for x, found in curve.points.items() if found.median == 1]
        marks = [value(x, 1.0) for x in flawless]
        axes.plot(flawless, marks, **line | {"ls": "", "mfc": "white", "zorder": 3})


def _resolution(axes: Any, curves: Sequence[Curve]) -> None:
    """An axis of wrong answers: the line below which a number of problems shows nothing, and what stands there."""
    problems: dict[float, int] = {}
    for curve in curves:
        for x, found in curve.points.items():
            problems[x] = min(fewest_problems(found), problems.get(x, fewest_problems(found)))
    xs = sorted(problems)
    axes.plot(
        xs, [1 / problems[x] for x in xs], ":", color=QUIET, lw=1.2, label="resolution: one wrong answer per seed"
    )
    axes.plot(
        [], [], ls="", marker="o", ms=3.5, mfc="white", color=QUIET, label="none wrong, drawn below the resolution"
    )
    axes.set_yscale("log")
    axes.set(ylabel="share of wrong answers", ylim=(0.2 / max(problems.values()), 1.3))


def fewest_problems(found: OverSeeds) -> int:
    return min(count.tried for count in found.by_seed.values() if isinstance(count, Count))


def new_figure(width: float = 6.4, height: float = 3.8, columns: int = 1, rows: int = 1) -> tuple[Any, Any]:
    """Return a figure and its axes (a list for several columns or rows, row by row).

    No global state is used, so drawing works in threads and without a screen.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    panels = [figure.add_subplot(rows, columns, number + 1) for number in range(rows * columns)]
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    return figure, panels if len(panels) > 1 else panels[0]


def seeds_and_median(
    axes: Any, seeds: Sequence[Mapping[float, float]], color: str, label: str, width: float = 1.5, **line: Any
) -> None:
    """Draw one thin line per seed, each a mapping from x to y, and their median over them. One seed is its median."""
    if len(seeds) > 1:
        for points in seeds:
            axes.plot(list(points), list(points.values()), color=color, lw=0.7, alpha=0.6, ls=line.get("ls", "-"))
    xs = sorted({x for points in seeds for x in points})
    middle = [median(points[x] for points in seeds if x in points) for x in xs]
    axes.plot(xs, middle, color=color, lw=width, label=label, **line)


def legend_below(figure: Any, axes: Any) -> None:
    """Put the legend of some axes under the figure, where it covers no data, in as many columns as fit its width."""
    handles, labels = axes.get_legend_handles_labels()
    letters = 16 * figure.get_figwidth()  # of this size, in one line
    columns = max(1, min(len(labels), int(letters / (8 + max(map(len, labels), default=0)))))
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize=8)


def plural(number: int, word: str) -> str:
    """A number of things for a title: `1 seed`, `3 seeds`."""
    return f"{number} {word}{'s' * (number != 1)}"


_format: ContextVar[str] = ContextVar("format", default=".png")


@contextmanager
def drawn_as(ending: str) -> Iterator[None]:
    """Inside, figures whose names have no ending get this one instead of .png."""
    token = _format.set(ending)
    try:
        yield
    finally:
        _format.reset(token)


def save(figure: Any, path: Path) -> Path:
    """Write the figure in the format that the name ends in. The same results give the same bytes."""
    import matplotlib

    path = Path(path) if Path(path).suffix else Path(f"{path}{_format.get()}")
    metadata: dict[str, dict[str, None]] = {
        ".png": {"Software": None}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None},
    }  # fmt: skip
    if path.suffix.lower() not in metadata:
        raise ValueError(f"a figure ends in .png, .svg or .pdf, not in '{path.suffix}': {path}")
    path.parent.mkdir(parents=True, exist_ok=True)
    # Words stay words: they can be searched, read aloud and edited.
    with matplotlib.rc_context({"svg.hashsalt": "digitwise", "svg.fonttype": "none", "pdf.fonttype": 42}):
        figure.savefig(path, dpi=200, metadata=metadata[path.suffix.lower()])
    return path


def symmetric_log(linear: float, most: float) -> Any:
    """Return a colour scale from -most to most, linear up to `linear` and logarithmic beyond."""
    from matplotlib.colors import SymLogNorm

    return SymLogNorm(linear, vmin=-most, vmax=most)
