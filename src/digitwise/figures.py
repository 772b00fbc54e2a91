"""Pictures of counts. The only file of the running layers that imports matplotlib, and only when something is drawn."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from digitwise.counts import Count, merge

COLOURS = ["#d1495b", "#00798c", "#edae49", "#66548b", "#5a8f29", "#8d6a4f", "#30638e", "#999999"]
STYLES = ["-", "--", ":", "-."]  # the next one when the colours begin again

FAR = 150
"""Beyond so many digits the axis is logarithmic."""


@dataclass(frozen=True)
class Curve:
    """Accuracy over length, or over anything else that is a number."""

    label: str
    points: dict[float, Count]


def by_length(label: str, counts: Sequence[Count]) -> Curve:
    merged = merge(counts, by=lambda count: count.length)
    return Curve(label, {count.length: count for count in sorted(merged.values(), key=lambda count: count.length)})


def by_kind(label: str, counts: Sequence[Count]) -> list[Curve]:
    """One curve over lengths; where a suite has kinds of problems, one for each kind: never kinds added up."""
    kinds: dict[str, list[Count]] = {}
    for count in counts:
        kinds.setdefault(count.stratum, []).append(count)
    return [by_length(", ".join(part for part in (label, kind) if part), found) for kind, found in kinds.items()]


def accuracy(
    curves: Sequence[Curve], path: Path, title: str = "", trained: int | None = None, xlabel: str = "digits"
) -> Path:
    """One curve with its 95 % interval each; lengths seen in training are shaded."""
    figure, axes = new_figure()
    if trained is not None:
        axes.axvspan(0, trained + 0.5, color="#f0f0f0", zorder=0)
        axes.annotate("trained", (trained + 0.4, 0.02), ha="right", fontsize=8, color="#666666")
    for index, curve in enumerate(curves):
        colour = COLOURS[index % len(COLOURS)]
        xs, counts = list(curve.points), list(curve.points.values())
        axes.plot(xs, [count.accuracy for count in counts], marker="o", ms=3.5, color=colour,
                  ls=STYLES[index // len(COLOURS) % len(STYLES)], label=curve.label)  # fmt: skip
        low, high = zip(*(count.interval for count in counts), strict=True) if counts else ((), ())
        axes.fill_between(xs, low, high, color=colour, alpha=0.18, lw=0)
    axes.set(xlabel=xlabel, ylabel="exact match", ylim=(-0.02, 1.03), title=title)
    points = [x for curve in curves for x in curve.points]
    if max(points, default=0) > FAR:
        axes.set_xscale("log")
        axes.set_xlim(left=max(0.9, 0.9 * min(points)))
    else:
        axes.xaxis.get_major_locator().set_params(integer=True)
        if points:
            axes.set_xlim(left=min(points) - 0.5)
    axes.legend(frameon=False, fontsize=8)
    return save(figure, path)


def new_figure(width: float = 6.4, height: float = 3.8, columns: int = 1) -> tuple[Any, Any]:
    """Figure and axes (a list of them for several columns) without any global state, so drawing works in threads and
    without a screen."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    panels = [figure.add_subplot(1, columns, column + 1) for column in range(columns)]
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    return figure, panels if columns > 1 else panels[0]


def save(figure: Any, path: Path) -> Path:
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # No date in the file: the same results give the same bytes.
    metadata = {"Date": None} if path.suffix == ".svg" else {"Software": None} if path.suffix == ".png" else {}
    figure.savefig(path, dpi=130, metadata=metadata)
    return path
