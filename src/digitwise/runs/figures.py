"""Pictures of counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from digitwise.counts import Count, merge
from digitwise.plots import COLOURS, STYLES, new_figure, save

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
