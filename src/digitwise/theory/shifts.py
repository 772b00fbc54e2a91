"""Absolute positions and every circular shift: what is conserved, and its cost (second part of the proposition)."""

from collections.abc import Iterator, Sequence

import numpy as np

from digitwise.theory.absolute import floor_of_decay
from digitwise.theory.attention import check_decay, flow_gram, flow_lags
from digitwise.theory.descent import DECAY, Descent, begin_invariant, descend, experiment, schedule, train
from digitwise.theory.ring import (
    APE_SHIFTS,
    M1,
    M5,
    OTHER_WEIGHTS,
    Array,
    Ring,
    circulant,
    invariant_spectrum,
    lags_of_spectrum,
    pair_counts,
    stream,
)
from digitwise.theory.rows import SPREAD, Row, mean, near, sampling_error, zero

# w = 0, beta = 0 (case 1 of the proof): each sequence holds one token, and the task is to repeat it times alpha.
SINGLE = Ring(n=51, n_1=1, d=200, alpha=2.0, beta=())
FIT = Descent(step=0.02, steps=120)  # time 2.4: the logistic curve has closed its gap by exp(-8 alpha 2.4)


def logistic(ring: Ring, first: float, times: Array, decay: float = 0.0) -> Array:
    """A_0(t) for w = 0, beta = 0 (eq. wzero): a logistic curve to alpha - decay / 4, with rate 8 times that."""
    check_decay(decay)
    top = ring.alpha - decay / 4
    if top <= 0 or first <= 0:
        raise ValueError(f"alpha - decay / 4 and the first A_0 must be positive, not {top:g} and {first:g}")
    return np.asarray(top / (1 + (top / first - 1) * np.exp(-8 * top * np.asarray(times))))


def limit_loss(ring: Ring, invariant: bool = False) -> float:
    """alpha^2 (unseen lags) / d, plus the beta^2 of any neighbour that never shares a window with its output.

    For w = 0, beta = 0 every p_k only changes length, so cosines are conserved, and the squared cosine of independent
    directions in d dimensions is 1 / d on average: alpha^2 (n - 1) / d exactly. A translation-invariant start
    (`invariant_spectrum`) gives d + 2 instead of d. For wider windows it is the leading order in 1 / d: only pairs
    further apart than a window remain at random, n - 2 n_1 + 1 lags of them.
    """
    unseen = pair_counts(ring, shifts=True)[0] == 0
    missed = float(np.sum(ring.lag_target[unseen] ** 2))
    return ring.alpha**2 * float(unseen.sum()) / (ring.d + 2 if invariant else ring.d) + missed


def deviation(ring: Ring) -> float:
    """Standard deviation over random starts of the loss averaged over positions.

    Squared cosines of distinct pairs are pairwise independent with variance 2 (d - 1) / (d^2 (d + 2)).
    """
    unseen = int((pair_counts(ring, shifts=True)[0] == 0).sum())
    variance = 2 * (ring.d - 1) / (ring.d**2 * (ring.d + 2))
    return float(ring.alpha**2 * np.sqrt(2 * unseen / ring.n * variance))


def next_order(ring: Ring) -> float:
    """At most by what share of itself the leading order of `limit_loss` falls short: (n_1 - 1) / d.

    To forget its overlap with a neighbour r, p_k gives up half of it: p_k - <p_k, p_r> p_r / 2. For an unseen pair k, l
    that adds <p_k, p_r> <p_r, p_l> / 2 for each of at most 2 (n_1 - 1) neighbours of k, and as many of l: random
    terms of variance 1 / (4 d^2), against 1 / d. (Neighbours of both add less.)
    """
    return (ring.n_1 - 1) / ring.d


def rows(seeds: Sequence[int]) -> Iterator[Row]:
    """Windows of one position, as in the proof, from random starts."""
    runs = [train(SINGLE, APE_SHIFTS, seed, FIT) for seed in seeds]
    error = SPREAD * deviation(SINGLE) / np.sqrt(len(seeds))
    why = "sampling: exact standard deviation of the mean squared cosine of n random directions"
    yield Row(
        "theory-ape-shifts",
        "APE with every shift, w = 0, beta = 0: the loss with tokens everywhere is alpha^2 (n - 1) / d",
        *near(limit_loss(SINGLE), mean(run.test_loss.mean() for run in runs), error, why),
        claim=True,
    )
    why = "derived: the gap closes as exp(-8 alpha t)"
    yield Row(
        "shifts-diagonal",
        "p_i . p_i goes to alpha (largest departure over positions)",
        *zero(max(np.abs(np.diag(run.weights[0]) - SINGLE.alpha).max() for run in runs), 1e-9, why),
    )
    ends = [(run.start["p"], run.run.params["p"]) for run in runs]
    units = [[p / np.linalg.norm(p, axis=1, keepdims=True) for p in pair] for pair in ends]
    turned = max(np.abs(one @ one.T - two @ two.T).max() for one, two in units)
    yield Row(
        "shifts-cosines",
        "every p_k only changes its length: largest change of a cosine between two of them",
        *zero(turned, 1e-12, "derived: rounding"),
    )
    decayed = [train(SINGLE, APE_SHIFTS, seed, Descent(FIT.step, FIT.steps, DECAY)) for seed in seeds]
    diagonal = np.eye(SINGLE.n, dtype=bool)
    left, less = (np.array([np.linalg.norm(run.weights[0][~diagonal]) for run in done]) for done in (runs, decayed))
    yield Row(
        "shifts-decay-no-help",
        "weight decay does not remove what is left: it scales all inner products alike, by 1 - epsilon / (4 alpha)",
        *near((SINGLE.alpha - DECAY / 4) / SINGLE.alpha, mean(less / left), 1e-9, why),
    )


def invariant_rows(seeds: Sequence[int]) -> Iterator[Row]:
    """From starts whose inner products depend on the distance only (eq. initialization)."""
    halfway = Descent(0.1 / 100, 100)
    gaps, allowed, kept = [], [], []
    for seed in seeds:
        _, model, start, supervision = begin_invariant(SINGLE, seed, "invariant start")
        walks = [descend(model, start, supervision, descent).params["p"] for descent in (halfway, halfway.halved())]
        first, coarse, fine = (float(p[0] @ p[0]) for p in (start["p"], *walks))  # A_0
        gaps.append(fine - logistic(SINGLE, first, np.array([0.1]))[0])
        allowed.append(2 * abs(coarse - fine))
        before, after = start["p"] @ start["p"][0] / first, walks[1] @ walks[1][0] / fine  # A_j / A_0
        kept.append(np.abs(before - after).max())
    yield Row(
        "shifts-logistic",
        "A_0(t) is logistic: departure of descent from alpha / (1 + (alpha / A_0(0) - 1) exp(-8 alpha t)) at t = 0.1",
        *near(0.0, mean(gaps), mean(allowed), "derived: twice the change on halving the step"),
    )
    yield Row(
        "shifts-ratio",
        "A_j / A_0 is conserved: largest change over all j on the way",
        *zero(max(kept), 1e-12, "derived: rounding"),
    )
    losses, counts = [], pair_counts(SINGLE, shifts=True)[0]
    for seed in seeds:
        for repeat in range(20):
            lags = lags_of_spectrum(invariant_spectrum(SINGLE, stream(seed, f"spectrum {repeat}")))
            last = flow_lags(lags, counts, SINGLE.lag_target, [3.0])[-1]
            losses.append(float(np.sum((last - SINGLE.lag_target) ** 2)))
    expected, why = limit_loss(SINGLE, invariant=True), "sampling: spread over the starts"
    yield Row(
        "shifts-invariant-loss",
        "the same from translation-invariant starts (20 for each seed, by the flow of A_j): alpha^2 (n - 1) / (d + 2)",
        *near(expected, mean(losses), sampling_error(losses), why),
    )
    ring = Ring(n=31, n_1=7, d=62)
    asymmetry, difference = [], []
    for seed in seeds:
        spectrum, model, start, supervision = begin_invariant(ring, seed, "invariant window")
        vectors = descend(model, start, supervision, Descent(0.002, 150)).params["p"]
        gram = vectors @ vectors.T
        asymmetry.append(np.abs(gram - circulant(gram[:, 0])).max())
        by_lags = flow_lags(lags_of_spectrum(spectrum), supervision.counts[0], ring.lag_target, [0.3])[-1]
        by_pairs = flow_gram(start["p"] @ start["p"].T, supervision, [0.3])[-1]
        difference.append(np.abs(by_pairs - circulant(by_lags)).max())
    yield Row(
        "shifts-lemma",
        "lemma: a translation-invariant start stays so (n_1 7, beta 0.5): largest departure of P P' from a circulant",
        *zero(max(asymmetry), 1e-9, "derived: rounding"),
    )
    yield Row(
        "shifts-two-flows",
        "the appendix's equations for A_j and for A_kl agree on such a start",
        *zero(max(difference), 1e-6, "derived: tolerance of the integrator"),
    )


def scaling_rows(seeds: Sequence[int]) -> Iterator[Row]:
    """How the loss depends on n and d, for windows of one position and of ten."""
    rings = [Ring(n=n, n_1=1, d=d, alpha=2.0, beta=()) for n in (11, 21, 41, 61) for d in (50, 100, 200, 400)]
    runs = [train(ring, APE_SHIFTS, seed, FIT) for ring in rings for seed in seeds]
    x = np.array([(run.ring.n - 1) / run.ring.d for run in runs])
    y = np.array([run.test_loss.mean() / run.ring.alpha**2 for run in runs])
    weight = np.array([(run.ring.alpha**2 / deviation(run.ring)) ** 2 for run in runs])
    slope, error = np.sum(weight * x * y) / np.sum(weight * x**2), SPREAD / np.sqrt(np.sum(weight * x**2))
    yield Row(
        "shifts-scaling",
        "loss / alpha^2 against (n - 1) / d over 16 sizes, n 11 to 61 and d 50 to 400: slope of the line through 0",
        *near(1.0, slope, error, "sampling: exact standard deviation of every point"),
    )
    wide = [Ring(n=51, n_1=10, d=d, alpha=2.0, beta=(0.5,)) for d in (100, 200, 400, 800)]
    losses = [mean(train(ring, APE_SHIFTS, s, Descent(0.003, 400)).test_loss.mean() for s in seeds) for ring in wide]
    logs = np.log([ring.d for ring in wide]) - np.mean(np.log([ring.d for ring in wide]))
    spread = SPREAD * deviation(wide[-1]) / limit_loss(wide[-1]) / np.sqrt(len(seeds) * (logs @ logs))
    bend = float(logs @ np.log1p([next_order(ring) for ring in wide]) / (logs @ logs))  # negative: small d lies above
    yield Row(
        "shifts-scaling-window",
        "beyond the proof, n_1 10 and beta 0.5: log loss against log d, d 100 to 800, slope",
        prediction=-1.0,
        measured=float(logs @ np.log(losses) / (logs @ logs)),
        interval=(-1.0 + bend - spread, -1.0 + spread),
        allowed="sampling: leading-order standard deviation of every point; and the next order, (n_1 - 1) / d at most",
    )


def window_rows(seeds: Sequence[int]) -> Iterator[Row]:
    """Windows longer than the proof's: without neighbours, then the paper's two experiments."""
    wide = Ring(n=51, n_1=10, d=200, alpha=2.0, beta=())
    error = SPREAD * deviation(wide) / float(np.sqrt(len(seeds)))
    yield Row(
        "shifts-window",
        "beyond the proof, n_1 10, beta 0: only lags that fit no window stay random, alpha^2 (n - 2 n_1 + 1) / d",
        prediction=limit_loss(wide),
        measured=mean(train(wide, APE_SHIFTS, seed, Descent(0.004, 300)).test_loss.mean() for seed in seeds),
        interval=(limit_loss(wide) - error, limit_loss(wide) * (1 + next_order(wide)) + error),
        allowed="sampling: leading-order standard deviation; and the next order, (n_1 - 1) / d at most",
    )
    for ring in (M1, M5):
        runs = [experiment(ring, APE_SHIFTS, seed) for seed in seeds]
        floor = floor_of_decay(ring, DECAY, shifts=True)
        yield Row(
            f"shifts-paper-m{ring.m}-training",
            f"m = {ring.m}: training loss of one output goes to 0, up to (epsilon / (4 n_1))^2 from decay",
            *near(floor, mean(run.training_loss for run in runs), 1e-5 * floor, "derived: finite time"),
        )
        flows, walks, tolerances = zip(*(_flow_and_descent(ring, seed) for seed in seeds), strict=True)
        yield Row(
            f"shifts-paper-m{ring.m}-loss",
            f"m = {ring.m}: mean loss with tokens everywhere, descent against the flow of A_kl from the same start",
            *near(mean(flows), mean(walks), mean(tolerances), "derived: twice the change of M on halving the step"),
        )
        seen = (runs[0].supervision.counts > 0) & ~np.eye(ring.n, dtype=bool)
        errors = [np.abs(run.weights[0] - ring.target)[seen].max() for run in runs]
        yield Row(
            f"shifts-paper-m{ring.m}-near",
            f"m = {ring.m}: inner products of positions that share a window are right (largest error off the diagonal)",
            *zero(max(errors), 1e-4, "derived: finite time"),
        )


def _flow_and_descent(ring: Ring, seed: int) -> tuple[float, float, float]:
    """Test loss by the flow and by descent without decay, and how much the step size can change it.

    Descent at half the step is about as far from the flow as from descent at the full step (first order), which bounds
    the change of M; twice that, put through the loss |M - B|^2 / n, is the tolerance.
    """
    step = schedule(ring, APE_SHIFTS).step / 2
    descent = Descent(step, round(4 / ring.n_1 / step))
    coarse, fine = (train(ring, APE_SHIFTS, seed, walk) for walk in (descent, descent.halved()))
    gram = flow_gram(coarse.start["p"] @ coarse.start["p"].T, coarse.supervision, [descent.time])[-1]
    flow = float(ring.test_loss(gram, coarse.theta, coarse.theta).mean())
    change = 2 * float(np.linalg.norm(coarse.weights[0] - fine.weights[0]))
    return flow, float(fine.test_loss.mean()), (2 * np.sqrt(flow * ring.n) * change + change**2) / ring.n


def other_rows(seeds: Sequence[int]) -> Iterator[Row]:
    """The second part with other alpha and beta."""
    runs = [experiment(ring, APE_SHIFTS, seed) for ring in OTHER_WEIGHTS for seed in seeds]
    ratio = mean(run.test_loss.mean() / limit_loss(run.ring) for run in runs)
    spread = SPREAD * deviation(OTHER_WEIGHTS[0]) / limit_loss(OTHER_WEIGHTS[0])
    yield Row(
        "other-ape-shifts",
        "the same for shifts: loss over alpha^2 (n - 2 n_1 + 1) / d, mean (all from one start, so as one sample)",
        *near(1.0, ratio, spread, "sampling: leading-order standard deviation of one start"),
    )
