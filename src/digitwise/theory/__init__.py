"""The paper's linear-attention results, run next to what they predict, with numpy and scipy and no training framework.

ring.py            the task, and the counts of pairs that decide everything
attention.py       factored and full models: effective weights, and gradients pulled back to the arrays
descent.py         gradient descent on the expected loss, and on samples
flow.py            the appendix's differential equations, integrated
predictions.py     what the theory says, as functions of the task
experiments.py     the paper's two experiments
compare_*.py       prediction and measurement, row by row
comparison.py      all rows in one table
exploration.py     your own sizes, weights, step and decay
plots.py           the paper's seven figures (plots_beyond.py: four more)

>>> from digitwise.theory import RPE, Descent, Ring, train
>>> run = train(Ring(n=21, n_1=7, d=64), RPE, seed=0, descent=Descent(step=0.005, steps=5000, decay=0.2))
>>> bool(run.test_loss.max() < 1e-3)
True
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from digitwise.theory.comparison import table
from digitwise.theory.descent import Descent, Diverged
from digitwise.theory.experiments import experiment, train
from digitwise.theory.exploration import explore
from digitwise.theory.ring import APE, APE_SHIFTS, RPE, SETTINGS, Ring, Setting
from digitwise.theory.rows import markdown_table

__all__ = [
    "APE",
    "APE_SHIFTS",
    "RPE",
    "SETTINGS",
    "Descent",
    "Diverged",
    "Ring",
    "Setting",
    "experiment",
    "explore",
    "figures",
    "markdown_table",
    "table",
    "train",
]


def figures(folder: Path, progress: Callable[[str], None] | None = None) -> list[Path]:
    """Draw the seven figures of the paper and four of ours into `folder`; the paths written, in that order."""
    from digitwise.theory.plots import draw_all  # matplotlib is slow to import and needed nowhere else

    return draw_all(Path(folder), progress)
