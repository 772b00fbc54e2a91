"""Counts: the same seed gives the same, they merge by adding, and no test problem chose the checkpoint."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from small import SMALL

from digitwise.counts import Count, merge, updated, wilson
from digitwise.data import SUITES
from digitwise.data.suites import UPPER
from digitwise.encodings import ByColumn
from digitwise.models import Columns
from digitwise.runs import evaluation
from digitwise.runs.evaluation import evaluate, load_model, validation_problems
from digitwise.runs.folder import Run
from digitwise.runs.training import train
from digitwise.tasks import Addition, Arithmetic, Multiplication


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    run = Run.create(tmp_path_factory.mktemp("runs") / "run", SMALL)
    train(run)
    return run


def test_same_seed_same_counts_and_nothing_is_done_twice(run, monkeypatch):
    first = evaluate(run, checkpoints="all")
    assert {count.checkpoint for count in first} == {10, 20}
    assert [count.length for count in first] == [1, 3, 5] * 2
    with monkeypatch.context() as patch:
        patch.setattr(evaluation, "load_model", lambda *_: pytest.fail("counted again what was counted"))
        assert evaluate(run, checkpoints="all") == first
    (run.folder / "counts.json").unlink()
    assert evaluate(run, checkpoints="all") == first
    other = evaluate(run, seed=1)
    assert len(run.counts()) == 9
    assert {count.seed for count in other} == {1}


def test_exact_match_counts_every_symbol(run):
    """Against a plain loop over problems and symbols."""
    model, task = load_model(run, 20), SMALL.task
    suite = SUITES["uniform"]
    stratum = suite.strata(task, [1])[0]
    operands = suite.draw(stratum, 40, 0)
    batch = task.encode(operands)
    right = 0
    for tokens, target in zip(batch.tokens, batch.targets, strict=True):
        said = model.eval()(torch.as_tensor(tokens[None]), batch.coordinates)[0].argmax(-1)
        right += all(int(a) == int(b) for a, b in zip(said, target, strict=True))
    assert [c.correct for c in evaluate(run, lengths=[1])] == [right]


def test_places_are_counted_one_by_one(run):
    counts = evaluate(run, "places", lengths=[3])
    assert [count.group for count in counts] == ["", "place 0", "place 1", "place 2", "place 3"]
    whole = evaluate(run, "uniform", lengths=[3])[0]
    assert all(count.tried == 40 for count in counts)
    assert whole.correct <= min(count.correct for count in counts)


def test_places_of_products_reach_as_far_as_the_product():
    stratum = SUITES["places"].strata(Multiplication(3, 6), [5])[0]
    right = np.ones((2, 9), dtype=bool)
    right[1, 6] = False
    tallied = SUITES["places"].tally(stratum, None, right)
    assert list(tallied)[-2:] == ["place 7", UPPER]
    assert tallied[UPPER].tolist() == [True, False]  # all of them must be right


def test_fewer_problems_do_not_replace_more(run):
    many = evaluate(run, lengths=[3])[0]
    few = evaluate(run, lengths=[3], problems=5)[0]
    assert few.tried == 5
    assert many in run.counts() and few not in run.counts()


def test_no_validation_problem_is_in_a_test(run):
    reserved = validation_problems(SMALL)[5]
    assert len(reserved.without(reserved)) == 0
    assert len(reserved.without(reserved[:7])) == len(reserved) - 7
    one_digit = replace(SMALL, testing=replace(SMALL.testing, validation_lengths=(1,), validation_problems=60))
    suite = SUITES["uniform"]
    drawn = suite.draw(suite.strata(one_digit.task, [1])[0], 200, 0)
    chosen = validation_problems(one_digit)[1]
    kept = drawn.without(chosen)
    assert 0 < len(kept) < 200
    assert not set(one_digit.task.render(chosen)) & set(one_digit.task.render(kept))


def test_batches_shrink_with_the_square_of_the_length(run):
    model = load_model(run, 20)
    assert model.floats(2000) > 50 * model.floats(200)
    columns = replace(SMALL, task=Arithmetic(), encoding=ByColumn(), architecture=Columns(width=16, heads=2)).build()
    assert columns.floats(2000) == 10 * columns.floats(200)
    long = replace(SMALL, task=Addition(1000), testing=replace(SMALL.testing, lengths=(1000,)))
    operands = SUITES["uniform"].draw(SUITES["uniform"].strata(long.task, [1000])[0], 3, seed=0)
    assert evaluation.correct_symbols(long.build(), long.task, operands).shape == (3, 1001)


def test_length_beyond_the_canvas_is_refused_before_any_work(run):
    before = run.counts()
    with pytest.raises(ValueError, match="canvas of at least 9"):
        evaluate(run, lengths=[1, 9])
    with pytest.raises(ValueError, match="did you mean uniform"):
        evaluate(run, "unifrom")
    assert run.counts() == before


def cell(**changes) -> Count:
    plain = {"suite": "uniform", "version": 1, "length": 5, "stratum": "", "group": "", "seed": 0, "checkpoint": 10}
    return Count(**{**plain, "tried": 10, "correct": 5, **changes})


def test_counts_merge_by_adding():
    merged = merge([cell(), cell(seed=1, correct=7), cell(length=6)], by=lambda count: count.length)
    assert (merged[5].tried, merged[5].correct) == (20, 12) and merged[6].tried == 10
    with pytest.raises(ValueError, match="do not merge"):
        merge([cell(), cell(version=2)], by=lambda count: count.length)
    assert [c.correct for c in updated([cell(), cell(length=6)], [cell(correct=9)])] == [9, 5]
    with pytest.raises(ValueError, match="not a count"):
        cell(correct=11)


@given(st.integers(0, 300), st.integers(0, 300))
def test_wilson_against_scipy(correct, wrong):
    tried = correct + wrong
    if tried:
        theirs = binomtest(correct, tried).proportion_ci(method="wilson")
        assert wilson(correct, tried) == pytest.approx((theirs.low, theirs.high), abs=1e-6)
    else:
        assert wilson(0, 0) == (0.0, 1.0)
