"""The linear-attention theory: gradients, equations, predictions, errors, and the page that reports them."""

from __future__ import annotations

import doctest
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import digitwise.theory as theory
from digitwise.theory import absolute, full, plots, relative, shifts
from digitwise.theory.attention import (
    FactoredAbsolute,
    FactoredRelative,
    FullAbsolute,
    FullRelative,
    attention_matrix,
    flow_gram,
    flow_lags,
    flow_parameters,
    gram_rate,
    lag_rate,
    population_gradient,
)
from digitwise.theory.descent import Descent, Diverged, begin, descend, train
from digitwise.theory.full import absorb, literal_outputs
from digitwise.theory.ring import (
    APE,
    APE_SHIFTS,
    RPE,
    SETTINGS,
    Ring,
    circulant,
    invariant_spectrum,
    invariant_vectors,
    lags_of_spectrum,
    pair_counts,
    pool_lags,
    stream,
    supervise,
    unit_vector,
)
from digitwise.theory.rows import descend_on_samples, sample_gradient, sampled_test_loss

DOCS = Path(__file__).parents[2] / "docs"
SMALL = Ring(n=9, n_1=4, d=6, alpha=1.5, beta=(0.6, -0.3))
MODELS = [
    FactoredAbsolute(),
    FactoredAbsolute(frozen=()),
    FactoredRelative(),
    FullAbsolute(frozen=()),
    FullAbsolute(tied=True),
    FullRelative(),
    FullRelative(tied=True),
]


@st.composite
def rings(draw):
    n = draw(st.integers(3, 14))
    beta = draw(st.lists(st.floats(-1, 1), max_size=(n - 1) // 2))
    return Ring(
        n=n, n_1=draw(st.integers(1, n)), d=draw(st.integers(1, 5)), alpha=draw(st.floats(-2, 2)), beta=tuple(beta)
    )


# ---- the task


@given(rings(), st.integers(0, 2**16))
def test_target_is_the_sum_the_paper_writes(ring, seed):
    s = np.random.default_rng(seed).standard_normal(ring.n)
    y = ring.alpha * s
    for m, beta in enumerate(ring.beta, start=1):
        y = y + beta * (np.roll(s, m) + np.roll(s, -m))
    np.testing.assert_allclose(ring.target @ s, y, atol=1e-12)
    assert ring.variance == pytest.approx(ring.alpha**2 + 2 * sum(beta**2 for beta in ring.beta))


@given(rings(), st.booleans())
def test_pair_counts_count_windows_also_when_they_wrap_around(ring, shifts):
    counts = np.zeros((ring.n, ring.n))
    for shift in range(ring.n if shifts else 1):
        inside = [(shift + t) % ring.n for t in range(ring.n_1)]
        for i in inside:
            for r in inside:
                counts[i, r] += 1
    np.testing.assert_array_equal(pair_counts(ring, shifts), counts)


@given(st.integers(1, 12), st.integers(0, 2**16))
def test_pooling_is_the_transpose_of_spreading(n, seed):
    rng = np.random.default_rng(seed)
    lags, pairs = rng.standard_normal(n), rng.standard_normal((n, n))
    assert np.sum(circulant(lags) * pairs) == pytest.approx(lags @ pool_lags(pairs))


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s.name)
@pytest.mark.parametrize("n_1", [4, 7])  # 7 of 9: windows overlap around the ring
def test_population_loss_and_gradient_are_the_mean_of_sampled_ones(setting, n_1):
    ring = Ring(n=9, n_1=n_1, d=6, alpha=1.5, beta=(0.6, -0.3))
    model = FactoredRelative() if setting.relative else FactoredAbsolute(frozen=())
    _, params, supervision = begin(ring, setting, 3, model)
    e, v = model.effective(params)
    exact_e, exact_v = supervision.gradient(e, v)
    rng = stream(0, "many samples")
    draws = [sample_gradient(model, params, ring, setting, supervision.theta, 50, rng) for _ in range(400)]
    for exact, drawn in ((exact_e, [a for a, _ in draws]), (exact_v, [b for _, b in draws])):
        error = np.std(drawn, axis=0) / np.sqrt(len(drawn))
        assert np.all(np.abs(np.mean(drawn, axis=0) - exact) <= 5 * error + 1e-12)
    matrix, _ = attention_matrix(model, params)
    drawn_loss = sampled_test_loss(ring, [(matrix, v)], supervision.theta, 20000, rng)[0]
    np.testing.assert_allclose(drawn_loss, ring.test_loss(matrix, v, supervision.theta), rtol=0.06)


def test_sampling_leaves_the_global_random_state_alone_and_repeats_itself():
    np.random.seed(1)
    before = np.random.get_state()[1].copy()
    _, start, supervision = begin(SMALL, APE_SHIFTS, 0)
    one, two = (
        descend_on_samples(
            FactoredAbsolute(), start, SMALL, APE_SHIFTS, supervision, Descent(0.002, 20), 8, stream(5, "x")
        ).params["p"]
        for _ in range(2)
    )
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(before, np.random.get_state()[1])


# ---- the models


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("shifts", [False, True])
def test_gradients_are_those_of_the_loss(model, shifts):
    setting = next(s for s in (APE, APE_SHIFTS) if s.shifts == shifts) if not model.relative else RPE
    _, params, supervision = begin(SMALL, setting, 1, model)
    gradients = population_gradient(model, params, supervision)
    assert set(gradients) == set(params) - set(model.frozen)
    rng = np.random.default_rng(0)
    for name in gradients:
        direction = rng.standard_normal(params[name].shape)
        if name == "w_k" and getattr(model, "tied", False):
            continue  # tied: w_q and w_k move together, see the step below
        moved = {sign: dict(params) for sign in (-1, 1)}
        for sign in moved:
            moved[sign][name] = params[name] + sign * 1e-6 * direction
            if name == "w_q" and getattr(model, "tied", False):
                moved[sign]["w_k"] = moved[sign]["w_q"]
        slope = (supervision.loss(*model.effective(moved[1])) - supervision.loss(*model.effective(moved[-1]))) / 2e-6
        assert slope == pytest.approx(np.sum(gradients[name] * direction), rel=1e-5, abs=1e-7)


@given(st.integers(0, 1000))
@settings(max_examples=10, deadline=None)
def test_full_models_compute_what_the_paper_writes(seed):
    x = stream(seed, "x").standard_normal((3, SMALL.n, SMALL.d))
    for model in (FullAbsolute(frozen=()), FullRelative(), FullAbsolute(tied=True, frozen=()), FullRelative(tied=True)):
        _, params, _ = begin(SMALL, APE, seed, model)
        matrix, v = attention_matrix(model, params)
        np.testing.assert_allclose(literal_outputs(model, params, x), (x @ v) @ matrix.T, atol=1e-10)
        if model.tied:
            factored = FactoredRelative() if model.relative else FactoredAbsolute()
            for ours, theirs in zip(attention_matrix(factored, absorb(params)), (matrix, v), strict=True):
                np.testing.assert_allclose(ours, theirs, atol=1e-10)


def test_only_the_tied_model_can_be_absorbed():
    _, params, _ = begin(SMALL, APE, 0, FullAbsolute())
    with pytest.raises(ValueError, match="W_K = W_Q"):
        absorb(params)


# ---- the equations of the appendix


@pytest.mark.parametrize("w", [0, 1, 2])
def test_rate_of_the_gram_matrix_is_the_printed_one_with_its_lost_minus(w):
    """Eq. A_derivative, term by term, for an odd window 2w + 1 and v = theta."""
    ring = Ring(n=11, n_1=2 * w + 1, d=7, alpha=1.3, beta=(0.4,))
    p = stream(0, "p").standard_normal((ring.n, ring.d))
    a = p @ p.T
    printed = {sign: np.zeros_like(a) for sign in (-1, 1)}
    for k in range(ring.n):
        for m in range(ring.n):
            total = 0.0
            for r in range(-2 * w, 2 * w + 1):
                kr, mr = (k + r) % ring.n, (m + r) % ring.n
                total += (2 * w + 1 - abs(r)) * (a[k, kr] * a[m, kr] + a[m, mr] * a[k, mr])
            up, down = (k + 1) % ring.n, (k - 1) % ring.n
            right, left = (m + 1) % ring.n, (m - 1) % ring.n
            rest = 8 * (2 * w + 1) * ring.alpha * a[k, m]
            rest += 8 * w * ring.beta[0] * (a[m, down] + a[m, up] + a[k, left] + a[k, right])
            for sign in printed:
                printed[sign][k, m] = sign * 4 * total + rest
    counts = pair_counts(ring, shifts=True)
    np.testing.assert_allclose(gram_rate(a, counts, ring.target), printed[-1], rtol=1e-10)
    assert not np.allclose(gram_rate(a, counts, ring.target), printed[1])
    # ... and it is the motion of p_k . p_l when p follows its gradient
    _, start, supervision = begin(ring, APE_SHIFTS, 0)
    by_p = population_gradient(FactoredAbsolute(), {**start, "p": p}, supervision)["p"]
    np.testing.assert_allclose(gram_rate(a, counts, ring.target), -(by_p @ p.T + p @ by_p.T), rtol=1e-9)


@pytest.mark.parametrize("w", [0, 1, 3])
def test_rate_of_the_lags_is_eq_diff(w):
    ring = Ring(n=17, n_1=2 * w + 1, d=20, alpha=1.3, beta=(0.4,))
    a = lags_of_spectrum(invariant_spectrum(ring, stream(1, "spectrum")))
    printed = np.zeros(ring.n)
    for j in range(ring.n):
        total = sum((2 * w + 1 - r) * a[r] * (a[(j - r) % ring.n] + a[(j + r) % ring.n]) for r in range(1, 2 * w + 1))
        printed[j] = 8 * (2 * w + 1) * (ring.alpha - a[0]) * a[j] - 8 * total
        printed[j] += 16 * w * ring.beta[0] * (a[(j + 1) % ring.n] + a[(j - 1) % ring.n])
    counts = pair_counts(ring, shifts=True)
    np.testing.assert_allclose(lag_rate(a, counts[0], ring.lag_target), printed, atol=1e-12)
    np.testing.assert_allclose(gram_rate(circulant(a), counts, ring.target), circulant(printed), atol=1e-12)


def test_invariant_start_has_the_gram_matrix_it_promises_and_keeps_its_symmetry():
    ring = Ring(n=12, n_1=5, d=24)
    rng = stream(2, "start")
    spectrum = invariant_spectrum(ring, rng)
    p = invariant_vectors(ring, spectrum, rng)
    np.testing.assert_allclose(p @ p.T, circulant(lags_of_spectrum(spectrum)), atol=1e-12)
    model, start, supervision = begin(ring, APE_SHIFTS, 0)
    run = descend(model, {**start, "p": p}, supervision, Descent(0.002, 200, 0.5))
    gram = run.params["p"] @ run.params["p"].T
    np.testing.assert_allclose(gram, circulant(gram[:, 0]), atol=1e-12)
    by_lags = flow_lags(lags_of_spectrum(spectrum), supervision.counts[0], ring.lag_target, [0.0, 0.4], 0.5)
    np.testing.assert_allclose(by_lags[0], lags_of_spectrum(spectrum))
    np.testing.assert_allclose(circulant(by_lags[-1]), gram, atol=0.01)


def test_invariant_start_needs_room():
    with pytest.raises(ValueError, match="d of at least n = 9"):
        invariant_vectors(SMALL, np.ones(9), stream(0, "x"))


@given(st.floats(0.2, 4), st.floats(0.05, 3), st.floats(0, 0.5))
@settings(max_examples=15, deadline=None)
def test_lags_follow_the_logistic_curve_and_keep_their_ratio(alpha, first, decay):
    ring = Ring(n=8, n_1=1, d=8, alpha=alpha, beta=())
    lags = first * np.array([1, 0.3, -0.2, 0.1, 0.05, 0.1, -0.2, 0.3])
    times = [0.0, 0.05, 0.2, 1.0]
    path = flow_lags(lags, pair_counts(ring, shifts=True)[0], ring.lag_target, times, decay)
    np.testing.assert_allclose(path[:, 0], shifts.logistic(ring, first, np.array(times), decay), rtol=1e-5)
    np.testing.assert_allclose(path / path[:, :1], np.tile(lags / first, (4, 1)), atol=1e-7)


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s.name)
def test_descent_samples_and_flow_meet(setting):
    ring = Ring(n=11, n_1=4, d=16)
    model, start, supervision = begin(ring, setting, 4)
    start = {**start, "v": (start["v"] + supervision.theta) / 2} if setting.relative else start
    descent = Descent(0.001, 600, 0.4)
    flow = attention_matrix(model, flow_parameters(model, start, supervision, [descent.time], 0.4)[-1])
    walk = attention_matrix(model, descend(model, start, supervision, descent).params)
    rng = stream(4, "batches")
    drawn = descend_on_samples(model, start, ring, setting, supervision, descent, 128, rng)
    functions = [np.multiply.outer(*weights) for weights in (flow, walk, attention_matrix(model, drawn.params))]
    size = np.linalg.norm(functions[0])
    assert np.linalg.norm(functions[1] - functions[0]) < 0.005 * size
    assert np.linalg.norm(functions[2] - functions[0]) < 0.03 * size
    if not setting.relative:
        gram = flow_gram(start["p"] @ start["p"].T, supervision, [descent.time], 0.4)[-1]
        np.testing.assert_allclose(gram, flow[0], atol=1e-6)


# ---- the predictions


@given(st.integers(1, 12), st.integers(0, 4), st.floats(0.05, 0.99))
def test_apes_loss_is_zero_inside_and_complete_outside(n_1, m, share):
    """Positive definite because the neighbours together weigh less than alpha."""
    beta = tuple(share * 0.5 / max(m, 1) for _ in range(m))
    ring = Ring(n=13, n_1=n_1, d=13, alpha=1.0, beta=beta)
    loss = absolute.limit_loss(ring)
    np.testing.assert_allclose(loss[n_1:], ring.variance)
    for i in range(n_1):
        missed = sum(beta[k - 1] ** 2 for k in range(1, m + 1) for j in (i - k, i + k) if (j % 13) >= n_1)
        assert loss[i] == pytest.approx(missed, abs=1e-12)
    padded = absolute.padded_loss(ring)
    np.testing.assert_allclose(padded[:n_1], 0, atol=1e-12)
    outside = [np.sum(ring.target[i, :n_1] ** 2) for i in range(n_1, 13)]
    np.testing.assert_allclose(padded[n_1:], outside, atol=1e-12)


@given(st.integers(2, 12), st.floats(0.1, 1.5))
def test_threshold_of_the_fit(n_1, ratio):
    ring = Ring(n=25, n_1=n_1, d=25, alpha=1.0, beta=(ratio,))
    floor, threshold = absolute.training_floor(ring), absolute.psd_threshold(n_1)
    if abs(ratio - threshold) > 1e-6:
        assert (floor > 1e-20) == (ratio > threshold)
    best, least = absolute.best_spectrum(ring)
    assert np.all(best >= 0)
    counts = pair_counts(ring, shifts=True)
    direct = np.sum(counts * (circulant(lags_of_spectrum(best)) - ring.target) ** 2)
    assert least == pytest.approx(direct, abs=1e-9)
    # a fit of all windows at once fits each of them
    assert least >= 25 * floor - 1e-9


@pytest.mark.parametrize("decay", [0.0, 0.4])
def test_decay_shifts_eigenvalues_by_a_quarter(decay):
    ring = Ring(n=9, n_1=5, d=12, alpha=1.0, beta=(0.3,))
    run = train(ring, APE, 0, Descent(0.03, 2500, decay))
    gram = absolute.limit_gram(ring, decay)
    np.testing.assert_allclose(run.weights[0][:5, :5], gram[:5, :5], atol=1e-9)
    left = run.run.params["p"][5:] / run.start["p"][5:]
    np.testing.assert_allclose(left, run.descent.remaining, rtol=1e-9)


def test_relative_limit_with_decay_and_a_neighbour_out_of_reach():
    """m = 3 does not fit a window of 3: RPE learns the two nearer neighbours and can know nothing of the third."""
    ring = Ring(n=15, n_1=3, d=20, alpha=1.0, beta=(0.5, 0.4, 0.3))
    run = train(ring, RPE, 2, Descent(0.01, 12000, 0.2))
    e, v = run.model.effective(run.run.params)
    lags = relative.limit_lags(ring, 0.2)
    np.testing.assert_allclose(e * (v @ run.theta), lags, atol=1e-5)
    assert np.all(lags[3:-2] == 0)
    np.testing.assert_allclose(relative.limit_lags(ring)[[0, 1, 2, 3]], [1.0, 0.5, 0.4, 0.0])
    with pytest.raises(ValueError, match="decay = 50 is too strong"):
        relative.limit_lags(ring, 50)


def test_balance_of_the_full_model_is_conserved():
    ring = Ring(n=7, n_1=3, d=9)
    model, start, supervision = begin(ring, APE_SHIFTS, 0, FullAbsolute(tied=True))

    def balance(params):
        return params["p"].T @ params["p"] - params["w_q"].T @ params["w_q"]

    end = flow_parameters(model, start, supervision, [0.5])[-1]
    np.testing.assert_allclose(balance(end), balance(start), atol=1e-6)
    assert not np.allclose(end["p"], start["p"], atol=0.1)


def test_absorbing_w_changes_where_training_ends():
    """Same function at the start, other function at the end: what the reduction keeps is the function, not the path."""
    ring = full.SINGLE
    start, _ = full.balanced_start(ring, 1)
    _, _, supervision = begin(ring, APE_SHIFTS, 1)
    whole, factored = FullAbsolute(tied=True), FactoredAbsolute()
    np.testing.assert_allclose(whole.effective(start)[0], factored.effective(absorb(start))[0], atol=1e-12)
    ends = [
        model.effective(flow_parameters(model, params, supervision, [2.0])[-1])[0]
        for model, params in ((whole, start), (factored, absorb(start)))
    ]
    np.testing.assert_allclose([np.diag(end) for end in ends], ring.alpha, atol=1e-5)  # both fit
    apart = [float(np.sum(end**2) - np.sum(np.diag(end) ** 2)) for end in ends]
    assert apart[0] > 1.3 * apart[1]


# ---- mistakes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_1": 52}, "n_1 must not exceed n"),
        ({"n_1": 0}, "n_1 must be a whole number"),
        ({"n": 10.5}, "n must be a whole number"),
        ({"d": 0}, "d must be a whole number"),
        ({"n": 5, "n_1": 2, "beta": (0.1, 0.1, 0.1)}, "give at most 2 values of beta"),
        ({"beta": 0.5}, r"beta must be a tuple .* for instance \(0.5,\)"),
        ({"alpha": float("nan")}, "alpha and beta must be finite"),
        ({"beta": (float("inf"),)}, "alpha and beta must be finite"),
    ],
)
def test_tasks_out_of_range_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        Ring(**change)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.1, 10, -0.1), "decay must be 0 or more, not -0.1"),
        ((0.1, 10, float("nan")), "decay must be 0 or more"),
        ((0.0, 10), "step must be a positive number"),
        ((float("inf"), 10), "step must be a positive number"),
        ((0.1, 0), "steps must be at least 1"),
        ((2.0, 10, 0.5), "keep it below 1"),
    ],
)
def test_schedules_out_of_range_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Descent(*arguments)


def test_other_mistakes_are_refused():
    _, start, supervision = begin(SMALL, APE, 0)
    with pytest.raises(ValueError, match="decay must be 0 or more"):
        flow_gram(np.eye(9), supervision, [1.0], decay=-1)
    with pytest.raises(ValueError, match="times must be given in rising order"):
        flow_gram(np.eye(9), supervision, [1.0, 0.5])
    with pytest.raises(ValueError, match="lags must be symmetric"):
        flow_lags(np.arange(9.0), np.ones(9), np.ones(9), [1.0])
    with pytest.raises(ValueError, match="batch must be at least 1"):
        descend_on_samples(FactoredAbsolute(), start, SMALL, APE, supervision, Descent(0.1, 1), 0, stream(0, "x"))
    with pytest.raises(ValueError, match="seeds must be one or more different numbers"):
        theory.table(seeds=[])
    with pytest.raises(ValueError, match="must be positive"):
        shifts.logistic(Ring(alpha=-1.0), 1.0, np.array([1.0]))
    with pytest.raises(ValueError, match="seed must not be negative"):
        stream(-1, "x")


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s.name)
@pytest.mark.parametrize("step", [0.5, 100.0])
def test_divergence_is_named_and_its_advice_works(setting, step):
    ring = Ring(n=15, n_1=5, d=20)
    model, start, supervision = begin(ring, setting, 0)
    with pytest.raises(Diverged, match=rf"diverged by step \d+ with step size {step:g}; try \S+ or less") as caught:
        descend(model, start, supervision, Descent(step, 500))
    assert "nan" not in str(caught.value) and isinstance(caught.value, ValueError)
    run = descend(model, start, supervision, Descent(caught.value.suggestion, 4000))
    assert run.losses[-1] < 0.01 * run.losses[0]
    with pytest.raises(Diverged, match="stochastic gradient descent diverged"):
        descend_on_samples(model, start, ring, setting, supervision, Descent(step, 500), 4, stream(0, "x"))


def test_a_step_that_rattles_without_overflow_is_caught_too():
    """Above 2 / curvature but far from blowing up: one weight, target 1, (p^2 - 1)^2 has curvature 8 at its minimum."""
    ring = Ring(n=1, n_1=1, d=1, alpha=1.0, beta=())
    supervision = supervise(ring, APE, np.ones(1))
    start = {"p": np.full((1, 1), 0.9), "v": np.ones(1)}
    assert descend(FactoredAbsolute(), start, supervision, Descent(0.2, 300)).losses[-1] < 1e-12
    with pytest.raises(Diverged):
        descend(FactoredAbsolute(), start, supervision, Descent(0.3, 300))


def test_exploring_gives_predictions_where_there_are_some():
    ape, shifts, rpe = theory.explore(n=15, n_1=5, d=40, alpha=1.0, beta=(0.3,), seed=1)
    assert ape["unseen"] == pytest.approx(ape["unseen_predicted"], rel=0.01) == pytest.approx(1.18, rel=0.01)
    assert ape["seen"] == pytest.approx(2 * 0.09 / 5, rel=0.1)
    assert shifts["unseen"] == pytest.approx(6 / 40, rel=0.5)
    assert max(rpe["by_position"]) < 1e-3 and rpe["seen_predicted"] == 0
    assert len(ape["by_position"]) == len(ape["by_position_predicted"]) == 15
    json.dumps([ape, shifts, rpe], allow_nan=False)
    # d too small to fit: the d largest eigenvalues are what P P' can have
    narrow = theory.explore(n=9, n_1=5, d=3, alpha=1.0, beta=(0.3,), settings=["ape"], decay=0.02)[0]
    assert narrow["seen"] == pytest.approx(narrow["seen_predicted"], rel=0.01)
    everything = theory.explore(n=7, n_1=7, d=10, alpha=1.0, beta=(), settings=["ape"], decay=0)[0]
    assert everything["unseen"] is None and everything["seen_predicted"] is None
    assert (
        theory.explore(n=9, n_1=3, d=10, alpha=0.5, beta=(1.0,), settings=["ape-shifts"])[0]["seen_predicted"] is None
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_1": 60}, "the window of 60 does not fit a ring of 51"),
        ({"decay": -0.1}, "decay must be 0 or more, not -0.1"),
        ({"step": 5.0}, r"diverged by step \d+ with step size 5; try"),
        ({"step": 0.0}, "step must be a positive number"),
        ({"steps": 0}, "steps must be at least 1"),
        ({"settings": ["nope"]}, "setting must be one of ape, ape-shifts, rpe, not 'nope'"),
        ({"seed": -1}, "seed must not be negative"),
    ],
)
def test_exploring_out_of_range_says_what_would_work(arguments, message):
    with pytest.raises(ValueError, match=message):
        theory.explore(**arguments)


# ---- the table, the figures, the page


@pytest.fixture(scope="module")
def rows():
    return theory.table(seeds=[0])


def test_every_row_holds(rows):
    assert [row["name"] for row in rows if row["verdict"] != "holds"] == []
    assert len({row["name"] for row in rows}) == len(rows)
    assert [row["name"] for row in rows if row["claim"]] == ["theory-ape", "theory-ape-shifts", "theory-rpe"]
    for row in rows:
        assert {"prediction", "measured", "interval", "verdict", "statement", "seeds", "allowed"} <= set(row)
        assert row["interval"][0] <= row["prediction"] <= row["interval"][1]
    json.dumps(rows, allow_nan=False)


SEVEN = ["loss_iter_m1", "gener_pos_m1", "loss_iter", "gener_pos", "p_ape", "p_aug", "p_rpe"]


def test_the_papers_figures_are_drawn(rows, tmp_path, monkeypatch):
    """From the runs of the table, hence quick; `other_weights` too."""
    monkeypatch.setattr(plots, "SEEDS", range(1))
    monkeypatch.setattr(plots, "SAMPLES", 300)
    drawings = plots.drawings()
    assert list(drawings)[:8] == [*SEVEN, "other_weights"]
    for name in list(drawings)[:8]:
        figure = drawings[name]()
        assert all(
            panel.get_xlabel() and panel.get_title() for panel in figure.axes if panel.get_label() != "<colorbar>"
        )
        figure.savefig(tmp_path / "figure.png", dpi=50)


@pytest.mark.slow
def test_all_figures_are_written(tmp_path):
    seen = []
    paths = theory.figures(tmp_path / "new", seen.append)
    assert [path.stem for path in paths] == [*SEVEN, "other_weights", "scaling", "psd", "full"]
    assert len(seen) == len(paths)
    assert all(path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 5000 for path in paths)


def made(page: str, committed: list[dict]) -> str:
    """The page with its two tables made anew from the committed rows."""
    claims = [row for row in committed if row["claim"]]
    for name, chosen in (("claims", claims), ("rows", committed)):
        before, _, rest = page.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition(f"<!-- end {name} -->")
        assert end, f"the page has lost its {name}"
        page = f"{before}<!-- {name} -->\n{theory.markdown_table(chosen)}{end}{after}"
    return page


def test_the_page_shows_the_committed_rows_and_figures(rows):
    page = (DOCS / "theory.md").read_text(encoding="utf-8")
    committed = json.loads((DOCS / "figures" / "theory" / "rows.json").read_text(encoding="utf-8"))
    assert made(page, committed) == page, "run: python tests/theory/test_theory.py"
    assert all(row["verdict"] == "holds" and len(row["seeds"]) in (1, 5) for row in committed)
    assert [(row["name"], row["statement"], row["claim"]) for row in committed] == [
        (row["name"], row["statement"], row["claim"]) for row in rows
    ]
    for figure in (DOCS / "figures" / "theory").glob("*.png"):
        assert f"figures/theory/{figure.name}" in page


def test_importing_the_theory_is_cheap_and_its_example_runs():
    code = "import sys, digitwise.theory; sys.exit(any(m in sys.modules for m in ('matplotlib', 'torch')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert doctest.testmod(theory).failed == 0


def test_unit_vectors_are_units():
    assert np.linalg.norm(unit_vector(7, stream(0, "theta"))) == pytest.approx(1)


def test_the_pages_example_runs(capsys):
    page = (DOCS / "theory.md").read_text(encoding="utf-8")
    exec(compile(page.partition("```python\n")[2].partition("```")[0], "theory.md", "exec"), {})
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["ape", "ape-shifts", "rpe"]


if __name__ == "__main__":  # rows, figures and tables of docs/theory.md made anew
    folder = DOCS / "figures" / "theory"
    new = theory.table(progress=print)
    (folder / "rows.json").write_text(json.dumps(new, indent=1) + "\n", encoding="utf-8")
    theory.figures(folder, print)
    (DOCS / "theory.md").write_text(made((DOCS / "theory.md").read_text(encoding="utf-8"), new), encoding="utf-8")
