"""The paper's four plots of the complexity (appendix "Distribution of the Complexity").

Bars are the exact laws of `numbers`. Points are a Monte Carlo estimate by the measures of `complexity` with its 95 %
intervals, so the laws and the measures check each other.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from digitwise import plots
from digitwise.counts import wilson
from digitwise.numbers import complexity
from digitwise.numbers.products import levels_law
from digitwise.numbers.sums import Law, law
from digitwise.rng import generator

SAMPLES = 200_000
SHOWN = 9  # classes 0 to 8
FLOOR = 5e-7  # the lowest probability shown; the same in all four plots, so that they can be compared
Z_999 = 3.290527  # of a two-sided 99.9 % interval: four checks of a right law should not fail by chance


@dataclass(frozen=True, eq=False)
class Panel:
    name: str
    title: str
    xlabel: str
    law: Callable[[], Law]
    length: int
    multiplier: int = 0  # 0 for sums
    at_most: bool = False  # whether the paper prints P(at most 4) or P(4)
    paper: str = ""  # that number as printed, because the number of its digits matters


PANELS = (
    Panel("cascade-50", "50-digit sums", "cascade length", lambda: law(50), 50, at_most=True, paper="0.998"),
    Panel("cascade-5", "5-digit sums", "cascade length", lambda: law(5), 5, paper="8.3e-4"),
    Panel(
        "levels-20", "1 x 20-digit products", "levels", lambda: levels_law(1, 20), 20, 1, at_most=True, paper="0.998"
    ),
    Panel("levels-5", "1 x 5-digit products", "levels", lambda: levels_law(1, 5), 5, 1, paper="1.9e-3"),
)


def report(samples: int = SAMPLES, seed: int = 0) -> dict[str, Any]:
    """The four laws, their Monte Carlo estimates, and the paper's numbers beside ours."""
    return {"samples": samples, "seed": seed, "laws": [_report(panel, samples, seed) for panel in PANELS]}


def draw(folder: Path | str, samples: int = SAMPLES, seed: int = 0) -> list[Path]:
    """Draw the four plots and return one file per plot."""
    return [_draw(panel, Path(folder) / f"complexity-{panel.name}", samples, seed) for panel in PANELS]


def estimate(panel: Panel, samples: int, seed: int) -> list[int]:
    """How many of `samples` uniform problems fall into each class, counted by the measures without the law."""
    rng = generator(seed, "complexity", panel.name)
    second = rng.integers(0, 10, (samples, panel.length), dtype=np.uint8)
    if panel.multiplier:
        found = complexity.product_rounds(rng.integers(1, 10, (samples, 1), dtype=np.uint8), second)
    else:
        found = complexity.cascade(rng.integers(0, 10, second.shape, dtype=np.uint8), second)
    return np.bincount(found, minlength=panel.length + 1).tolist()


def _report(panel: Panel, samples: int, seed: int) -> dict[str, Any]:
    exact, counts = panel.law(), estimate(panel, samples, seed)
    classes = max(len(exact), len(counts))
    floats = np.pad(exact.floats(), (0, classes - len(exact)))
    counts += [0] * (classes - len(counts))
    return {
        "name": panel.name,
        "title": panel.title,
        "measure": panel.xlabel,
        **exact.to_json(),
        "estimate": [count / samples for count in counts],
        "intervals": [list(wilson(count, samples)) for count in counts],
        "check": _check(panel, floats, counts, samples),
    }


def _check(panel: Panel, chances: NDArray[np.float64], counts: list[int], samples: int) -> dict[str, Any]:
    """The paper's number beside the law and the 99.9 % interval of the estimate. A printed number stands for all that
    round to it."""
    classes = slice(0, 5) if panel.at_most else slice(4, 5)
    stated = float(panel.paper)
    rounding = 0.5 * 10.0 ** int(Decimal(panel.paper).as_tuple().exponent)
    low, high = wilson(sum(counts[classes]), samples, z=Z_999)
    ours = float(chances[classes].sum())
    return {
        "what": "P(<= 4)" if panel.at_most else "P(4)",
        "paper": stated,
        "law": ours,
        "estimate": sum(counts[classes]) / samples,
        "interval": [low, high],
        "law_within": low <= ours <= high,
        "paper_within": low <= stated + rounding and stated - rounding <= high,
        "paper_rounds_law": stated - rounding <= ours <= stated + rounding,
    }


def _draw(panel: Panel, path: Path, samples: int, seed: int) -> Path:
    found = _report(panel, samples, seed)
    classes = range(min(SHOWN, panel.length + 1))
    chances, intervals = found["probabilities"], found["intervals"]
    figure, axes = plots.new_figure(5.6, 3.6)
    bars, dots = plots.COLOURS[5], plots.RED
    axes.bar(classes, [chances[index] for index in classes], color=bars, width=0.72, label="exact law", zorder=2)
    seen = [index for index in classes if found["estimate"][index] > 0]
    middle = np.array([found["estimate"][index] for index in seen])
    low, high = np.array([intervals[index] for index in seen]).T
    spread = [middle - low, high - middle]
    label = f"{samples:,} problems, 95 %"
    axes.errorbar(seen, middle, yerr=spread, fmt="o", ms=4, lw=1.3, capsize=3, color=dots, label=label, zorder=3)
    # No problem of these classes was drawn, so the estimate gives only an upper bound.
    unseen = [index for index in classes if index not in seen and chances[index] > 0]
    if unseen:
        axes.plot(
            unseen,
            [intervals[index][1] for index in unseen],
            ls="",
            marker="v",
            ms=5,
            mfc="none",
            color=dots,
            label="none drawn: upper bound",
        )
    for index in classes:
        top = max(chances[index], intervals[index][1] if index in seen else FLOOR)
        axes.annotate(
            _number(chances[index]), (index, top), (0, 4), textcoords="offset points", ha="center", fontsize=7.5
        )
    check = found["check"]
    note = f"{check['what']}: law {check['law']:.4g}, paper {panel.paper}"
    axes.annotate(note, (0.985, 0.72), xycoords="axes fraction", ha="right", fontsize=8, color=plots.QUIET)
    axes.set_yscale("log")
    axes.set(xlabel=panel.xlabel, ylabel="probability", xticks=classes, ylim=(FLOOR, 20))
    axes.set_title(f"{panel.title}: the law and {samples:,} problems", fontsize=10)
    axes.set_yticks([10.0**power for power in range(-6, 1)])
    axes.minorticks_off()
    axes.grid(axis="x", visible=False)
    axes.legend(frameon=False, fontsize=8, loc="upper right")
    return plots.save(figure, path)


def _number(chance: float) -> str:
    return "0" if chance == 0 else f"{chance:.3f}" if chance >= 0.01 else f"{chance:.2e}".replace("e-0", "e-")
