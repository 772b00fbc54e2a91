"""Linear attention: the paper's predictions beside their measurements, with numpy and scipy only.

ring.py            the task, and the counts of pairs on which its expected loss depends
attention.py       factored and full models, their gradients and their gradient flow
descent.py         gradient descent on the expected loss, and the paper's two experiments
rows.py            prediction next to measurement; descent, samples and flow compared
absolute.py        APE: predictions and rows of the first part
shifts.py          APE with every circular shift: the second part
relative.py        RPE: the third part
full.py            what P P' cannot fit, and what absorbing W_K, W_Q, W_V and h changes
plots.py           the paper's seven figures and four more

>>> from digitwise.theory import RPE, Descent, Ring, train
>>> run = train(Ring(n=21, n_1=7, d=64), RPE, seed=0, descent=Descent(step=0.005, steps=5000, decay=0.2))
>>> bool(run.test_loss.max() < 1e-3)
True
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from digitwise.theory import absolute, full, plots, relative, rows, shifts
from digitwise.theory.attention import check_decay
from digitwise.theory.descent import DECAY, Descent, Diverged, experiment, schedule, train
from digitwise.theory.ring import APE, APE_SHIFTS, RPE, SETTINGS, Array, Ring, Setting
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


def table(seeds: Sequence[int] = range(5), progress: Callable[[str], None] | None = None) -> list[dict[str, Any]]:
    """All rows, as plain JSON values: name, claim, statement, prediction, measured, interval, allowed, seeds, verdict.

    `interval` is the range around the prediction in which the measured value must lie for the verdict `holds`. It is
    either derived (what finite time, steps and decay can still change) or 99.9 % of the sampling spread: `allowed`
    gives the reason, `rows.Row` the rules. Rows with `claim` true are the three parts of the paper's proposition.
    """
    chosen = tuple(int(seed) for seed in seeds)
    if not chosen or len(set(chosen)) < len(chosen) or min(chosen) < 0:
        raise ValueError(f"seeds must be one or more different numbers from 0 on, not {list(chosen)!r}")
    sections = (
        ("APE", chosen, absolute.rows),
        ("APE and weight decay", chosen, absolute.decay_rows),
        ("what P P' cannot fit", chosen, full.semidefinite_rows),
        ("APE with shifts", chosen, shifts.rows),
        ("APE with shifts, invariant starts", chosen, shifts.invariant_rows),
        ("APE with shifts, scaling", chosen, shifts.scaling_rows),
        ("APE with shifts, long windows", chosen, shifts.window_rows),
        ("RPE", chosen, relative.rows),
        ("RPE, variations", chosen, relative.variation_rows),
        ("three ways of training", chosen, rows.agreement_rows),
        ("APE, other alpha and beta", chosen[:1], absolute.other_rows),
        ("APE with shifts, other alpha and beta", chosen[:1], shifts.other_rows),
        ("RPE, other alpha and beta", chosen[:1], relative.other_rows),
        ("full parametrisation, dynamics", chosen, full.rows),
        ("full parametrisation, outcome", chosen, full.outcome_rows),
    )
    done: list[dict[str, Any]] = []
    for title, used, section in sections:
        for row in section(used):
            done.append(row.as_dict(used))
            if progress is not None:
                progress(f"{title}: {row.name} {row.verdict}")
    return done


def explore(
    n: int = 51,
    n_1: int = 10,
    d: int = 200,
    alpha: float = 2.0,
    beta: Sequence[float] = (0.5,),
    settings: Sequence[str] = ("ape", "ape-shifts", "rpe"),
    seed: int = 0,
    step: float | None = None,
    steps: int | None = None,
    decay: float = DECAY,
) -> list[dict[str, Any]]:
    """One dictionary of plain values per setting: losses in training and by position, beside the predicted ones.

    Step size and number of steps are chosen to fit if not given. An impossible task, or a step that makes the loss
    rise, is a `ValueError` that names what would work.
    """
    ring = Ring(n=n, n_1=n_1, d=d, alpha=float(alpha), beta=tuple(float(weight) for weight in beta))
    check_decay(decay)
    known = {setting.name: setting for setting in SETTINGS}
    for name in settings:
        if name not in known:
            raise ValueError(f"setting must be one of {', '.join(known)}, not {name!r}")

    def mean(loss: Array | None, where: NDArray[np.bool_]) -> float | None:
        return None if loss is None or not where.any() else float(loss[where].mean())

    results = []
    for setting in (known[name] for name in settings):
        chosen = schedule(ring, setting, decay)
        size = chosen.step if step is None else step
        descent = Descent(size, 1 if steps is None else steps, decay)  # checks the size before it divides anything
        if steps is None:
            descent = Descent(size, max(1, round(chosen.time / size)), decay)
        run = train(ring, setting, seed, descent)
        measured, predicted = run.test_loss, predicted_loss(ring, setting, decay)
        results.append(
            {
                "setting": setting.name,
                "training_loss": run.training_loss,
                "seen": mean(measured, ring.window),
                "seen_predicted": mean(predicted, ring.window),
                "unseen": mean(measured, ~ring.window),
                "unseen_predicted": mean(predicted, ~ring.window),
                "by_position": measured.tolist(),
                "by_position_predicted": None if predicted is None else predicted.tolist(),
                "step": descent.step,
                "steps": descent.steps,
                "decay": decay,
            }
        )
    return results


def predicted_loss(ring: Ring, setting: Setting, decay: float) -> Array | None:
    """[n]: the expected loss at each position in the limit of small decay; None where there is no prediction.

    Without any decay APE and RPE keep their random first weights wherever nothing is taught. With shifts the prediction
    is a mean over starts, to leading order in 1 / d, and needs a target that P P' can fit on all shifts at once.
    """
    if setting.shifts:
        single = ring.n_1 == 1 and ring.alpha > 0
        fits = ring.d >= ring.n and absolute.best_spectrum(ring)[1] < 1e-9
        return np.full(ring.n, shifts.limit_loss(ring)) if single or fits else None
    if decay == 0:
        return None
    if setting.relative:
        return np.full(ring.n, float(np.sum((relative.limit_lags(ring) - ring.lag_target) ** 2)))
    return absolute.limit_loss(ring)


def figures(folder: Path, progress: Callable[[str], None] | None = None, *endings: str) -> list[Path]:
    """Draw the seven figures of the paper and four of ours into `folder`; the paths written, in that order."""
    return plots.draw_all(Path(folder), progress, *endings)
