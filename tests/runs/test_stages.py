"""Training in stages: what a stage takes over, how a canvas grows, and that an interruption changes nothing."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from small import SMALL

from digitwise.encodings import Absolute, ByColumn, ByPlace, Relative, Sum, Uniform
from digitwise.models.attention import fold, sharpen
from digitwise.paper import stages
from digitwise.rng import generator
from digitwise.runs.evaluation import load_model
from digitwise.runs.experiment import Experiment, Training
from digitwise.runs.folder import Run
from digitwise.runs.places import seconds, stage_before
from digitwise.runs.source import Source
from digitwise.runs.training import Stopped, train
from digitwise.runs.written import changed
from digitwise.tasks import Addition, Arithmetic, Multiplication

SHORT = replace(SMALL.training, steps=6, checkpoints=2, save_seconds=0.0)


def staged(**last) -> Experiment:
    first = replace(SMALL, name="first", task=Addition(6), training=replace(SHORT, optimizer="muon", table_decay=0.6))
    second = replace(first, name="second", training=replace(SHORT, sharpness=3.0, dropout=0.1), after=first)
    training = replace(SHORT, **{"steps": 0, "factor": 2.0} | last)
    return replace(second, name="third", task=Addition(9), training=training, after=second)


def coordinates(canvas: int):
    task = Addition(canvas)
    return task.encode(task.draw(SMALL.data, generator(0), 1)).coordinates


def last_weights(run: Run) -> dict[str, torch.Tensor]:
    return run.load_checkpoint(run.select("last")[0])


def test_stages_train_one_network():
    changed = replace(staged(), encoding=Absolute(), seed=7)
    before = changed.after
    while before is not None:
        assert (before.encoding, before.seed, before.architecture) == (Absolute(), 7, changed.architecture)
        before = before.after
    assert changed.steps == 12 and changed.steps_before == 12


def test_all_stages_are_trained_and_can_be_shared(tmp_path):
    run = Run.create(tmp_path / "third" / "a", staged())
    told = []
    train(run, lambda step, loss: told.append(step))
    assert told == list(range(1, 13))
    assert run.finished and run.checkpoints() == [0]
    second = stage_before(run)
    assert second is not None and second.finished and second.folder == tmp_path / "second" / "a"
    other = Run.create(tmp_path / "other" / "a", replace(staged(), name="other"))
    train(other, lambda step, loss: told.append(step))
    assert len(told) == 12, "stages that are there are not trained again"


@pytest.mark.parametrize("stop_at", [3, 6, 9, 12, 15])
def test_a_stop_in_any_stage_changes_nothing(stop_at, tmp_path, monkeypatch):
    import os
    import signal

    whole = Run.create(tmp_path / "third" / "whole", staged(steps=6, factor=1.5))
    train(whole)
    cut = Run.create(tmp_path / "third" / "cut", whole.experiment)

    def interrupt(step: int, loss: float) -> None:
        if step == stop_at:
            os.kill(os.getpid(), signal.SIGINT)

    try:
        train(cut, interrupt)
    except Stopped:
        train(Run.open(cut.folder))
    ours, theirs = last_weights(whole), last_weights(cut)
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_a_factor_is_folded_into_the_weights():
    torch.manual_seed(0)
    model = SMALL.build().eval()
    fold(model, 1000.0)  # drawn weights are so small that attention looks at everything alike
    batch = SMALL.task.encode(SMALL.task.draw(SMALL.data, generator(1), 8))
    tokens = torch.as_tensor(batch.tokens)
    plain = model(tokens, batch.coordinates)
    sharpen(model, 3.0)
    sharp = model(tokens, batch.coordinates)
    sharpen(model, 1.0)
    fold(model, 3.0)
    assert not torch.allclose(plain, sharp, atol=1e-4)
    torch.testing.assert_close(model(tokens, batch.coordinates), sharp, atol=1e-5, rtol=1e-5)


def test_a_factor_changes_what_is_kept_and_not_how_it_is_trained(tmp_path):
    kept = []
    for factor in (1.0, 2.0):
        run = Run.create(tmp_path / str(factor) / "a", replace(SMALL, training=replace(SHORT, factor=factor)))
        train(run)
        kept.append(last_weights(run))
    plain, sharper = kept
    for name, weights in plain.items():
        assert torch.equal(sharper[name], weights * (2.0 if ".query." in name else 1.0)), name


def test_sharpness_grows_geometrically_and_then_stays():
    training = Training(steps=300, sharpness=4.0)
    assert [training.sharpness_at(step) for step in (0, 100, 200, 299)] == pytest.approx([1, 2, 4, 4])
    faster = replace(training, sharpened=1 / 3)
    assert [faster.sharpness_at(step) for step in (0, 50, 100, 299)] == pytest.approx([1, 2, 4, 4])
    with pytest.raises(ValueError, match="sharpened must be a share"):
        replace(training, sharpened=0.0)


def test_a_checkpoint_of_a_sharpened_stage_is_plain_attention(tmp_path):
    run = Run.create(tmp_path / "third" / "a", staged())
    train(run)
    second = stage_before(run)
    assert second is not None
    model = load_model(second, second.select("last")[0])
    assert all(layer.attention.sharpness == 1.0 for layer in model.layers)


def test_grown_distances_keep_their_columns():
    """Distance d from the ones of a number to another digit is the same column on both canvases."""
    small, large = 20, 50
    origins = Relative().origins(coordinates(small), coordinates(large)).numpy() - 2 * small
    old_of = dict(zip(range(-2 * large, 2 * large + 1), origins, strict=True))
    for centre, old_centre in ((0, 0), (large + 1, small + 1), (-large - 1, -small - 1)):
        for off in range(-10, 11):
            if abs(centre + off) <= 2 * large:
                assert old_of[centre + off] == np.clip(old_centre + off, -2 * small, 2 * small)
    assert old_of[20] == 10 and old_of[large + 1 - 20] == small + 1 - 10, "further ones take the furthest that was seen"


def test_grown_places_keep_their_absolute_vectors():
    small, large = (replace(SMALL, encoding=Absolute(), task=Addition(n)).build() for n in (6, 9))
    large.grow_from(small, coordinates(6), coordinates(9))
    before, now = coordinates(6), coordinates(9)
    for number in (0, 1):
        for place in range(9):
            (mine,) = np.flatnonzero((now.operand == number) & (now.place == place))
            (theirs,) = np.flatnonzero((before.operand == number) & (before.place == min(place, 5)))
            assert torch.equal(large.vectors.table[mine], small.vectors.table[theirs])


def test_grown_products_keep_their_uniform_vectors_and_their_distances():
    first = replace(SMALL, task=Multiplication(2, 6), encoding=Uniform(deviation=0.02))
    small, large = (replace(first, task=Multiplication(2, canvas)).build() for canvas in (6, 9))
    large.grow_from(small, first.located(), replace(first, task=Multiplication(2, 9)).located())
    for mine, theirs in zip(large.vectors.tables, small.vectors.tables, strict=True):
        assert torch.equal(mine[-2:], theirs[-2:])
        for distance in range(-8, 9):  # 9 and 12 tokens: distance d is row d + 8, and row d + 11
            near = max(-3, min(3, distance))
            if abs(distance) < 6:  # beyond that it is nearer to the ones of the multiplier
                assert torch.equal(mine[distance + 11], theirs[near + 8])


def on_canvases(*canvases: int, **more) -> Experiment:
    training = replace(SHORT, canvases=canvases)
    return replace(SMALL, **{"task": Addition(8), "encoding": Relative(reach=3), "training": training} | more)


def test_each_batch_stands_on_one_of_the_canvases(tmp_path):
    experiment = on_canvases(5, 6, 8)
    source = Source(experiment)
    widths = [source.batch(step).tokens.shape[1] for step in range(40)]
    assert set(widths) == {2 * canvas + 1 for canvas in (5, 6, 8)} and widths[:10] != sorted(widths[:10])
    assert widths == [Source(experiment).batch(step).tokens.shape[1] for step in range(40)]
    run = Run.create(tmp_path / "r", experiment)
    train(run)
    assert run.finished and load_model(run, 6).vectors.tables[0].shape[0] == 7


def test_one_canvas_is_the_tasks_own_and_draws_what_it_always_drew():
    plain, named = (Source(on_canvases(*canvases)).batch(3) for canvases in ((), (8,)))
    assert torch.equal(torch.as_tensor(plain.tokens), torch.as_tensor(named.tokens))


@pytest.mark.parametrize(
    ("refused", "why"),
    [
        (lambda: on_canvases(5, encoding=Relative()), "clipped distances"),
        (lambda: on_canvases(5, task=Arithmetic("+"), encoding=ByColumn()), "a task that has one"),
        (lambda: on_canvases(5, 9), "at most 8"),
        (lambda: on_canvases(2), "canvas"),
        (lambda: on_canvases(0), "canvas"),
    ],
)
def test_canvases_that_cannot_be_are_refused(refused, why):
    with pytest.raises(ValueError, match=why):
        refused()


@pytest.mark.parametrize(
    ("encoding", "why"),
    [(ByPlace(), "ByPlace does not say how its vectors move"), (Sum((Absolute(), Relative())), "cannot be moved")],
)
def test_an_encoding_that_cannot_grow_says_so_before_anything_is_trained(encoding, why, tmp_path):
    first = replace(SMALL, name="first", task=Addition(6), encoding=encoding)
    with pytest.raises(ValueError, match=why):
        Run.create(tmp_path / "x" / "a", replace(first, name="x", task=Addition(8), after=first))
    assert not (tmp_path / "x").exists()


def test_a_number_that_grows_shares_the_uniform_vector_of_its_highest_place():
    small, large = (replace(SMALL, task=Addition(n), encoding=Uniform(deviation=0.02)).build() for n in (6, 9))
    large.grow_from(small, coordinates(6), coordinates(9))
    mine, theirs = large.vectors.tables[0][-9:], small.vectors.tables[0][-6:]
    assert torch.equal(mine[:6], theirs) and torch.equal(mine[6:], theirs[-1:].expand(3, -1))


@pytest.mark.parametrize("task", [Multiplication(1, 9), Addition(5)])
def test_a_stage_has_the_problems_of_the_one_before_on_no_smaller_canvas(task):
    first = replace(SMALL, name="first", task=Addition(6), testing=replace(SMALL.testing, lengths=(2,)))
    with pytest.raises(ValueError, match="only the canvas may differ, and it may only grow"):
        replace(first, name="x", task=task, after=first)


def test_stages_of_a_run_in_a_folder_of_ones_own_stay_beside_it(tmp_path):
    run = Run.create(tmp_path / "runs" / "mine", staged())
    train(run)
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {"mine", "mine-second", "mine-second-first"}
    assert [path.name for path in tmp_path.iterdir()] == ["runs"] and seconds(run) > run.seconds()


@pytest.mark.parametrize("change", ["rate", "sharpness", "batch", "data.max_length"])
def test_a_change_of_a_stage_without_steps_is_refused(change):
    with pytest.raises(ValueError, match="third has no steps of training; try --after"):
        changed(staged(), {change: "2"})
    assert changed(staged(), {"factor": "3"}).training.factor == 3
    assert changed(staged(), {"steps": "5", "batch": "2"}).training.batch == 2
    assert changed(staged(), {"after.training.rate": "0.5"}).after.training.rate == 0.5


@pytest.mark.parametrize("field", ["encoding.deviation", "architecture.width", "seed"])
def test_what_all_stages_share_cannot_be_changed_in_one(field):
    with pytest.raises(ValueError, match=f"no field 'after.{field}'"):
        changed(staged(), {f"after.{field}": "1"})


def test_positional_vectors_decay_on_their_own():
    from digitwise.runs.optimizers import OPTIMIZERS

    model = SMALL.build()
    for optimizer in OPTIMIZERS.values():
        tables, others = optimizer(model, 1e-3, 0.1, 1.0).param_groups
        assert {id(p) for p in tables["params"]} == {id(p) for p in model.vectors.parameters()}
        assert (tables["weight_decay"], others["weight_decay"]) == (1.0, 0.1)
        assert len(tables["params"]) + len(others["params"]) == len(list(model.parameters()))


def test_the_recipe_of_the_headline_never_shows_more_than_five_digits():
    experiment = stages.canvas50()
    assert experiment.task == Addition(50) and experiment.trained_length == 5 and experiment.steps == 3000
