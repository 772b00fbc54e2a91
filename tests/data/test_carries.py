"""Samplers against rejection: draw uniformly, keep what has the property, and compare how often each problem comes."""

import doctest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, chisquare

from digitwise.data import ExactLength, NoCarry, UniformValues, machines
from digitwise.data.carries import (
    CONDITIONAL,
    Cascade,
    ConsecutiveCarries,
    MixedComplexity,
    NinesRun,
    UniformComplexity,
)
from digitwise.numbers import complexity as cx
from digitwise.numbers import digits as dg
from digitwise.rng import generator

UNLIKELY = 1e-4  # all draws are seeded, so a test that passes once passes always


def measure(function, drawn):
    return function(drawn[:, 0], drawn[:, 1])


def has(distribution, drawn):
    """Which problems have the property that a distribution promises."""
    if isinstance(distribution, Cascade):
        return measure(cx.cascade, drawn) == distribution.cascade
    if isinstance(distribution, ConsecutiveCarries):
        in_a_row, cascade = measure(cx.consecutive_carries, drawn), measure(cx.cascade, drawn)
        return (in_a_row == distribution.carries) & (cascade <= 1)
    if distribution.carry_in:
        return measure(cx.cascade, drawn) == distribution.run + 1
    return measure(cx.untriggered, drawn) == distribution.run


def uniform(distribution, rng, count):
    source = ExactLength(distribution.length) if distribution.exactly else UniformValues(distribution.length)
    return source.draw(rng, count, 2, distribution.length)


def rejected(distribution, rng, count):
    """Uniform over the problems with the property, by throwing the others away."""
    kept = np.empty((0, 2, distribution.length), dtype=np.uint8)
    while len(kept) < count:
        drawn = uniform(distribution, rng, 100_000)
        kept = np.concatenate([kept, drawn[has(distribution, drawn)]])
    return kept[:count]


def codes(drawn):
    """One number for each problem."""
    return (drawn.reshape(len(drawn), -1) * 10 ** np.arange(drawn[0].size)).sum(-1)


def sort_codes(drawn):
    """One number for each sequence of sorts of columns: coarse enough for longer numbers."""
    sums = drawn.sum(1, dtype=np.int64)
    return (((sums > 8).astype(int) + (sums > 9)) * 3 ** np.arange(drawn.shape[-1])).sum(-1)


def p_value(first, second):
    """Chance of so different frequencies if both samples have one law; rare cells are thrown together."""
    cells, where = np.unique(np.concatenate([first, second]), return_inverse=True)
    counts = np.stack([np.bincount(part, minlength=len(cells)) for part in (where[: len(first)], where[len(first) :])])
    rare = counts.sum(0) < 20
    counts = np.column_stack([counts[:, ~rare], counts[:, rare].sum(1)]) if rare.any() else counts
    return chi2_contingency(counts[:, counts.sum(0) > 0]).pvalue


SMALL = [
    *[Cascade(cascade, 3, exactly) for cascade in range(4) for exactly in (False, True)],
    Cascade(0, 1, True),
    Cascade(1, 1),
    Cascade(2, 5),
    *[ConsecutiveCarries(carries, 3, exactly) for carries in range(4) for exactly in (False, True)],
    ConsecutiveCarries(2, 5),
]


@pytest.mark.parametrize("distribution", SMALL, ids=repr)
def test_the_same_law_as_rejection(distribution):
    ours = distribution.draw(generator(1, "ours"), 40_000, 2, 8)
    theirs = rejected(distribution, generator(1, "theirs"), 40_000)
    assert has(distribution, ours).all()
    assert p_value(sort_codes(ours), sort_codes(theirs)) > UNLIKELY
    for operand in (0, 1):  # the digits within a column, which the sorts do not show
        for place in range(distribution.length):
            assert p_value(ours[:, operand, place], theirs[:, operand, place]) > UNLIKELY


def test_the_comparison_notices_a_wrong_law():
    """Planting a cascade at a uniform place draws the right problems with wrong chances."""
    rng = generator(2, "planted")
    drawn = UniformValues(4).draw(rng, 200_000, 2, 4)
    drawn[:, :, 0], drawn[:, :, 1] = (7, 8), (4, 5)
    ends = np.arange(len(drawn)) % 2 == 0
    drawn[ends] = np.roll(drawn[ends], 2, axis=-1)
    planted = drawn[has(Cascade(2, 4), drawn)][:30_000]
    assert p_value(sort_codes(planted), sort_codes(rejected(Cascade(2, 4), rng, 30_000))) < 1e-9


@pytest.mark.parametrize("exactly", [False, True])
@pytest.mark.parametrize("cascade", [0, 1, 2])
def test_every_problem_equally_often(cascade, exactly):
    """All problems of two digits: each one of the class is reached, none else, and all alike."""
    distribution = Cascade(cascade, 2, exactly)
    numbers = np.arange(10 if exactly else 0, 100)
    every = np.stack(np.meshgrid(numbers, numbers, indexing="ij"), -1).reshape(-1, 2)
    every = (every[..., None] // [1, 10] % 10).astype(np.uint8)
    members = np.sort(codes(every[has(distribution, every)]))
    seen, counts = np.unique(
        codes(distribution.draw(generator(3, "all"), 200 * len(members), 2, 2)), return_counts=True
    )
    assert seen.tolist() == members.tolist()
    assert chisquare(counts).pvalue > UNLIKELY


def planted_runs(distribution, rng, count):
    """What NinesRun promises, by rejection: a uniform place first, then uniform problems until one fits there."""
    length, run, carry_in = distribution.length, distribution.run, distribution.carry_in
    places = range(int(carry_in), length - run + 1)
    share, out = count // len(places), []
    for place in places:
        kept = np.empty((0, 2, length), dtype=np.uint8)
        while len(kept) < share:
            drawn = uniform(distribution, rng, 100_000)
            sums = drawn.sum(1, dtype=np.int64)
            fits = has(distribution, drawn) & (sums[:, place : place + run] == 9).all(-1)
            if place + run < length:
                fits &= sums[:, place + run] != 9
            if place:
                fits &= sums[:, place - 1] > 9 if carry_in else sums[:, place - 1] < 9
            kept = np.concatenate([kept, drawn[fits]])
        out.append(kept[:share])
    return np.concatenate(out)


@pytest.mark.parametrize("exactly", [False, True])
@pytest.mark.parametrize("carry_in", [False, True])
@pytest.mark.parametrize("run", [1, 2])
def test_runs_of_nines_have_the_promised_law(run, carry_in, exactly):
    distribution = NinesRun(run, 4, carry_in, exactly)
    ours = distribution.draw(generator(4, "ours"), 20_000, 2, 4)
    theirs = planted_runs(distribution, generator(4, "theirs"), 12_000)
    assert has(distribution, ours).all()
    assert p_value(sort_codes(ours), sort_codes(theirs)) > UNLIKELY
    for operand in (0, 1):
        for place in range(4):
            assert p_value(ours[:, operand, place], theirs[:, operand, place]) > UNLIKELY


@pytest.mark.parametrize("carry_in", [False, True])
def test_every_run_of_nines_is_reached(carry_in):
    distribution = NinesRun(1, 2, carry_in)
    every = (np.arange(10**4)[:, None, None] // np.array([[1, 10], [100, 1000]]) % 10).astype(np.uint8)
    drawn = distribution.draw(generator(5, "reach"), 60_000, 2, 2)
    assert set(codes(drawn).tolist()) == set(codes(every[has(distribution, every)]).tolist())


@settings(max_examples=60)
@given(st.data())
def test_long_problems_have_what_was_asked_for(data):
    length, exactly = data.draw(st.integers(1, 60)), data.draw(st.booleans())
    wanted = data.draw(st.integers(0, length))
    choices = [Cascade(wanted, length, exactly), ConsecutiveCarries(wanted, length, exactly)]
    choices += [NinesRun(wanted, length, carry, exactly) for carry in (False, True) if 1 <= wanted <= length - carry]
    for distribution in choices:
        drawn = distribution.draw(generator(6, length, wanted), 40, 2, 60)
        assert drawn.shape == (40, 2, length) and drawn.dtype == np.uint8 and drawn.max() <= 9
        assert has(distribution, drawn).all()
        if exactly:
            assert (dg.lengths(drawn) == length).all()


def test_very_long_and_very_rare():
    """The chance of this cascade, 10^-500, is below the smallest float; its problems are drawn all the same."""
    drawn = Cascade(501, 600).draw(generator(7, "rare"), 50, 2, 600)
    assert (measure(cx.cascade, drawn) == 501).all()
    sums = drawn.sum(1, dtype=np.int64)
    first = (np.cumsum(sums == 9, axis=1) >= 450).argmax(1)
    assert len(set(first.tolist())) > 5  # the cascade does not always begin at the same place


def test_uniform_over_complexity():
    drawn = UniformComplexity(5).draw(generator(8, "classes"), 60_000, 2, 20)
    classes = measure(cx.cascade, drawn)
    assert drawn.shape[-1] == 5
    assert chisquare(np.bincount(classes, minlength=6)).pvalue > UNLIKELY
    inside = drawn[classes == 2]
    assert p_value(sort_codes(inside), sort_codes(rejected(Cascade(2, 5), generator(8, "r"), 10_000))) > UNLIKELY


def test_the_papers_mixture():
    """Half uniform over values, half over the six classes: of 100,000 sums 8,000 have a cascade of 5."""
    classes = measure(cx.cascade, MixedComplexity(5).draw(generator(9, "mixed"), 60_000, 2, 5))
    values = np.array([0.0503284375, 0.7757465625, 0.160425, 0.0126, 0.000855, 0.000045])
    assert chisquare(np.bincount(classes, minlength=6), 60_000 * (values + 1 / 6) / 2).pvalue > UNLIKELY


def test_the_machine_of_the_docstring():
    failed, tried = doctest.testmod(machines)
    assert tried and not failed


def test_no_carries_is_one_law():
    ours = ConsecutiveCarries(0, 2).draw(generator(10, "a"), 50_000, 2, 2)
    assert p_value(codes(ours), codes(NoCarry(2).draw(generator(10, "b"), 50_000, 2, 2))) > UNLIKELY


@pytest.mark.parametrize(
    ("distribution", "message"),
    [
        (Cascade(6, 5), "length from 0 to 5, not 6"),
        (Cascade(-1, 5), "length from 0 to 5, not -1"),
        (Cascade(2, -5), "at least 1, not -5"),
        (Cascade(2, 0), "at least 1, not 0"),
        (Cascade(2, 21), "canvas of at least 21, and this one has 20"),
        (UniformComplexity(0), "at least 1, not 0"),
        (UniformComplexity(21), "canvas of at least 21"),
        (MixedComplexity(21), "canvas of at least 21"),
        (NinesRun(5, 5, True), "with a carry has from 1 to 4 columns in 5 digits, not 5"),
        (NinesRun(6, 5, False), "without a carry has from 1 to 5 columns in 5 digits, not 6"),
        (NinesRun(0, 5, False), "from 1 to 5 columns"),
        (NinesRun(1, 1, True), "no columns at all in 1 digits"),
        (NinesRun(3, 30, True), "canvas of at least 30"),
        (ConsecutiveCarries(6, 5), "from 0 to 5 carries in a row, not 6"),
        (ConsecutiveCarries(-1, 5), "from 0 to 5 carries in a row, not -1"),
    ],
    ids=repr,
)
def test_impossible_requests(distribution, message):
    for refused in (lambda: distribution.width(20), lambda: distribution.draw(generator(0), 3, 2, 20)):
        with pytest.raises(ValueError, match=message):
            refused()


@pytest.mark.parametrize("kind", CONDITIONAL.values())
def test_every_sampler(kind):
    """By its defaults: two summands only, any count, and the same problems for the same seed."""
    distribution = kind()
    with pytest.raises(ValueError, match=f"{kind.__name__} draws sums of two numbers"):
        distribution.draw(generator(0), 3, 1, 20)
    assert distribution.draw(generator(0), 0, 2, 20).shape == (0, 2, 5)
    first, again = (distribution.draw(generator(0), 30, 2, 20) for _ in range(2))
    assert np.array_equal(first, again)
