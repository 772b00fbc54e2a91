"""One style for all figures. The only file that imports matplotlib, and only when something is drawn."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

#: Colours that stay apart for colour-blind readers and in black and white; line styles take over when they run out.
COLOURS = ["#d1495b", "#00798c", "#edae49", "#66548b", "#5a8f29", "#8d6a4f", "#30638e", "#999999"]
STYLES = ["-", "--", ":", "-."]
RED, TEAL, *_ = COLOURS
FAR = 150
"""Beyond so many digits an axis of lengths is logarithmic."""


def new_figure(width: float = 6.4, height: float = 3.8, columns: int = 1) -> tuple[Any, Any]:
    """Return a figure and its axes (a list of axes for several columns).

    No global state is used, so drawing works in threads and without a screen.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    panels = [figure.add_subplot(1, columns, column + 1) for column in range(columns)]
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    return figure, panels if columns > 1 else panels[0]


def seeds_and_median(
    axes: Any, seeds: Sequence[Mapping[float, float]], colour: str, label: str, width: float = 1.5, **line: Any
) -> None:
    """Draw one thin line per seed, each a mapping from x to y, and their median over them. One seed is its median."""
    if len(seeds) > 1:
        for points in seeds:
            axes.plot(list(points), list(points.values()), color=colour, lw=0.7, alpha=0.6, ls=line.get("ls", "-"))
    xs = sorted({x for points in seeds for x in points})
    middle = [median(points[x] for points in seeds if x in points) for x in xs]
    axes.plot(xs, middle, color=colour, lw=width, label=label, **line)


def legend_below(figure: Any, axes: Any) -> None:
    """Put the legend of some axes under the figure, where it covers no data, in as many columns as fit its width."""
    handles, labels = axes.get_legend_handles_labels()
    letters = 16 * figure.get_figwidth()  # of this size, in one line
    columns = max(1, min(len(labels), int(letters / (8 + max(map(len, labels), default=0)))))
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize=8)


def plural(number: int, word: str) -> str:
    """A number of things for a title: `1 seed`, `3 seeds`."""
    return f"{number} {word}{'s' * (number != 1)}"


def save(figure: Any, path: Path) -> Path:
    """Write the figure in the format that the name ends in, png if in none. The same results give the same bytes."""
    import matplotlib

    path = Path(path) if Path(path).suffix else Path(f"{path}.png")
    metadata: dict[str, dict[str, None]] = {
        ".png": {"Software": None}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None},
    }  # fmt: skip
    if path.suffix.lower() not in metadata:
        raise ValueError(f"a figure ends in .png, .svg or .pdf, not in '{path.suffix}': {path}")
    path.parent.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context({"svg.hashsalt": "digitwise"}):
        figure.savefig(path, dpi=200, metadata=metadata[path.suffix.lower()])
    return path


def symmetric_log(linear: float, most: float) -> Any:
    """Return a colour scale from -most to most, linear up to `linear` and logarithmic beyond."""
    from matplotlib.colors import SymLogNorm

    return SymLogNorm(linear, vmin=-most, vmax=most)
