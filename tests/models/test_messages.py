"""Cells that tell each other bits: one function, whether it is run cell by cell or looked up."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from digitwise.data import ExactLength
from digitwise.models import Messages
from digitwise.models.cell import bits_of
from digitwise.models.margins import nearest_code, price
from digitwise.models.wiring import join
from digitwise.numbers import digits as dg
from digitwise.paper import arms
from digitwise.rng import generator
from digitwise.runs.engine import loss_of, seeded
from digitwise.runs.evaluation import answer
from digitwise.tasks import Kind

ARMS = arms("proof", "smoke")


def built(arm):
    """A cell with random weights, large enough that what it says and writes differs from situation to situation."""
    with seeded(5, arm):
        model = ARMS[arm].build().eval()
        for weight in model.parameters():
            if weight.ndim > 1:
                torch.nn.init.normal_(weight, std=0.7)
    return model


def batch_of(arm, length=4, count=12, kind=None):
    task = ARMS[arm].task
    return task.encode(task.draw(ExactLength(length), generator(1, arm), count, kind))


@pytest.mark.parametrize("arm", ARMS)
def test_tables_write_what_cells_write_in_order(arm):
    model = built(arm)
    for kind in ARMS[arm].task.kinds:
        batch = batch_of(arm, kind=kind)
        with torch.inference_mode():
            logits = model(torch.as_tensor(batch.tokens), batch.coordinates)
        found = answer(model, batch)
        assert (found.symbols_BS == logits.argmax(-1)).all()
        assert torch.allclose(found.confidence_BS, logits.softmax(-1).amax(-1), atol=1e-3)
        distinct = {tuple(row) for row in found.symbols_BS.tolist()}
        assert len(distinct) > 1 or kind.operator == "?"  # one symbol, which can be the same for all of twelve


def test_a_table_forgets_when_weights_change():
    model, batch = built("sum"), batch_of("sum")
    before = answer(model, batch).confidence_BS
    with torch.no_grad():
        model.readout.weight.mul_(2)
    assert not torch.equal(before, answer(model, batch).confidence_BS)


def test_cells_that_are_not_there_say_nothing():
    """A sum of two on the rows of five is the sum of two by itself; so is a short multiplier on three rows."""
    for arm, kind, numbers in (("sums", Kind("+", 2), ["407", "95"]), ("product", Kind("*", 1), ["7", "408"])):
        model, wide = built(arm), ARMS[arm].task
        narrow = replace(wide, summands=3) if arm == "sums" else replace(wide, multiplier=1)
        posed = [task.encode(task.pose(kind, [dg.parse([n]) for n in numbers])) for task in (wide, narrow)]
        slots = min(batch.targets.shape[1] for batch in posed)
        with torch.inference_mode():
            first, second = (model(torch.as_tensor(b.tokens), b.coordinates)[:, :slots] for b in posed)
        assert torch.allclose(first, second, atol=1e-5), arm


@pytest.mark.parametrize("arm", ["difference", "division"])
def test_batches_that_are_joined_are_what_they_are_alone(arm):
    model = built(arm)
    batches = [batch_of(arm, length, count) for length, count in ((1, 3), (5, 7), (2, 4))]
    parts = [(torch.as_tensor(batch.tokens), batch.coordinates) for batch in batches]
    with torch.inference_mode():
        together = model(*parts[0], *parts[1:])
        for logits, part in zip(together, parts, strict=True):
            assert torch.allclose(logits, model(*part), atol=1e-5)


def test_a_cell_waits_for_those_that_it_hears():
    model, batch = built("difference"), batch_of("difference", 3, 2, Kind("-"))
    wiring = model.prepare(batch.coordinates)
    graph = join([(wiring, 2)])
    for index in graph.heard:
        for first, last in zip(graph.bounds[:-1], graph.bounds[1:], strict=True):
            assert (index[first:last] <= first).all()
    assert wiring.down_R == [False, True] and wiring.shift == 0


def test_bits_are_soft_then_noisy_then_hard_and_at_test_always_hard():
    model, batch = built("sums"), batch_of("sums")
    tokens, targets = torch.as_tensor(batch.tokens), torch.as_tensor(batch.targets)

    def logits():
        with torch.no_grad(), seeded(0, "noise"):
            found = model(tokens, batch.coordinates)
            return found, float(model.pay())

    hard, _ = logits()
    model.train()
    model.progress = 0.0
    soft, price = logits()
    assert price == 0 and not torch.allclose(soft, hard, atol=1e-3)
    model.progress = 1.0
    late, price = logits()
    assert price > 0 and not torch.allclose(late, soft, atol=1e-3)
    model.blueprint = replace(model.blueprint, noise=0.0)
    without_noise, _ = logits()
    assert torch.allclose(without_noise, hard, atol=1e-4)
    # The gradient of hard bits is that of soft ones: it reaches the cells of the first row.
    loss_of(model(tokens, batch.coordinates), targets).backward()
    assert all(say.weight.grad.abs().sum() > 0 for say in model.say)


def test_noise_can_fall_again_once_all_bits_are_hard():
    model = built("sums").train()
    model.blueprint = replace(model.blueprint, hard=0.5, noise=0.4, rest=0.25)
    for progress, noise in ((0.0, 0.0), (0.5, 0.4), (0.75, 0.25), (1.0, 0.1), (1.5, 0.1)):
        model.progress = progress
        assert model._voice()[1] == pytest.approx(noise)


def test_strays_are_heard_as_the_nearest_code_that_is_said_often():
    often = bits_of(torch.tensor([0b000, 0b110]), 3)
    z = torch.tensor([[-1.0, 2.0, 1.5], [0.2, 1.5, 1.0], [0.1, -2.0, -1.5], [-1.0, -1.0, -1.0]], requires_grad=True)
    strays, nearest = nearest_code(z, often)
    assert strays.flatten().tolist() == [False, True, True, False]  # 110, 111, 001 and 000, the lowest bit first
    assert nearest.tolist() == [[-1, 1, 1], [-1, 1, 1], [-1, -1, -1], [-1, -1, -1]]
    price(z, 0.0, 1.0, often).backward()
    assert torch.equal(z.grad, torch.tensor([[0.0, 0, 0], [1, 0, 0], [1, 0, 0], [0, 0, 0]]))
    assert price(z, 0.0, 1.0, None) == 0


def test_only_what_is_told_to_the_next_row_is_brought_back_and_only_when_all_bits_are_hard():
    model, batch = built("product").train(), batch_of("product")
    model.blueprint = replace(model.blueprint, noise=0.0, push=0.0, settle=1.0)
    tokens = torch.as_tensor(batch.tokens)

    def logits(progress, often):
        model.progress, model.often = progress, often
        with torch.no_grad():
            return model(tokens, batch.coordinates), float(model.pay())

    every = list(range(2 ** model.bits[1]))
    (free, none), (settled, paid) = logits(1.0, every), logits(1.0, [0])
    assert none == 0 and paid > 0 and not torch.allclose(free, settled)
    assert torch.equal(logits(0.2, [0])[0], logits(0.2, every)[0])
    model.eval()
    assert torch.equal(logits(1.0, [0])[0], logits(1.0, every)[0])


def test_messages_say_no_more_than_their_bits():
    model = built("product")
    wiring = model.prepare(batch_of("product").coordinates)
    table = model.table(wiring)
    rng = np.random.default_rng(0)
    table.know(rng.integers(table.codes[0] * table.codes[1], len(table.symbol), 500))
    known = table.along[table.along != -2]
    assert known.max() < 2 ** model.bits[0] and len(np.unique(known)) > 2


def test_sizes_that_cannot_be_are_refused():
    for changes, reason in (
        ({"along": 0}, "at most 8 bits"),
        ({"across": 9}, "at most 8 bits"),
        ({"hard": 0.0}, "hard"),
        ({"rest": 1.5}, "rest"),
    ):
        with pytest.raises(ValueError, match=reason):
            Messages(**changes)
    experiment, batch = ARMS["sums"], batch_of("sums")
    model = replace(experiment, architecture=replace(experiment.architecture, across=0)).build()
    with pytest.raises(ValueError, match="--across"):
        model.prepare(batch.coordinates)
    with pytest.raises(ValueError, match="by-column"):
        replace(experiment, encoding=arms("quickstart")["relative"].encoding).build()
