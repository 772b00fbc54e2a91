"""Other alpha and beta: the paper prints none, so the three outcomes are repeated with four more pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from digitwise.theory import predictions
from digitwise.theory.experiments import OTHER_WEIGHTS, experiment, shift_bound, unlearned_bound, unseen_bound
from digitwise.theory.ring import APE, APE_SHIFTS, RPE, Ring
from digitwise.theory.rows import SPREAD, Row, around


def rows(seeds: Sequence[int]) -> Iterator[Row]:
    """One row for each setting, on the first seed."""
    first = tuple(seeds[:1])
    rings = [Ring(alpha=alpha, beta=beta) for alpha, beta in OTHER_WEIGHTS]
    words = ", ".join(f"{alpha:g}/{beta[0]:g}" for alpha, beta in OTHER_WEIGHTS)
    ape = [experiment(ring, APE, first[0]) for ring in rings]
    ratios = [run.test_loss[run.ring.n_1 :].mean() / run.ring.variance for run in ape]
    yield Row(
        "other-ape",
        f"other alpha/beta ({words}): loss outside [n_1] over alpha^2 + 2 beta^2 (furthest from 1)",
        1.0,
        float(max(ratios, key=lambda ratio: abs(ratio - 1))),
        around(1.0, max(unseen_bound(run) / run.ring.variance for run in ape)),
        "derived: finite time and decay",
        first,
    )
    shifted = [experiment(ring, APE_SHIFTS, first[0]) for ring in rings]
    scaled = [float(run.test_loss.mean()) / predictions.shifts_test_loss(run.ring) for run in shifted]
    deviation = predictions.shifts_test_loss_deviation(rings[0]) / predictions.shifts_test_loss(rings[0])
    yield Row(
        "other-ape-shifts",
        "the same for shifts: loss over alpha^2 (n - 2 n_1 + 1) / d, mean (all from one start, so as one sample)",
        1.0,
        float(np.mean(scaled)),
        around(1.0, SPREAD * deviation),
        "sampling: leading-order standard deviation of one start",
        first,
    )
    rpe = [experiment(ring, RPE, first[0]) for ring in rings]
    shares = [float(run.test_loss.max()) / run.ring.variance for run in rpe]
    allowed = [(shift_bound(run) + unlearned_bound(run)) / run.ring.variance for run in rpe]
    yield Row(
        "other-rpe",
        "the same for RPE: loss over alpha^2 + 2 beta^2 (largest)",
        0.0,
        max(shares),
        (0.0, max(allowed)),
        "derived: finite time and decay",
        first,
    )
