"""Models over columns: who can hear whom, gates, and what training may not change."""

from dataclasses import replace

import pytest
import torch
from small import posed

from digitwise.data import ExactLength
from digitwise.encodings import ByColumn, Relative
from digitwise.models import Lattice, Looped, NeuralGPU, Recurrent
from digitwise.models.lattice import random_offsets
from digitwise.paper import controls
from digitwise.rng import generator
from digitwise.runs.folder import Run
from digitwise.tasks import Arithmetic, Kind

SUMS, PRODUCTS = Arithmetic("+", pads=0), Arithmetic("*", multiplier=2, zeros=True, pads=0)
SMALL = Lattice(width=16, feedforward=16)
PLACES = 8


def built(blueprint, task=SUMS, seed: int = 0):
    torch.manual_seed(seed)
    cells = ("below",) if task is SUMS else ("below", "shifted")
    model = blueprint.build(ByColumn(cells), task.extent, len(task.symbols), task.answer_symbols)
    for parameter in model.parameters():
        parameter.data.mul_(2)
    return model.eval()


def changed(model, task, place: int) -> list[int]:
    """Places of the answer that change when one digit of the first number of any length does."""
    problems = task.draw(ExactLength(PLACES - task.overflow), generator(0, "controls"), 20, task.kinds[-1])
    others = problems[:]
    others.numbers[:] = problems.numbers
    digits = others.numbers[:, 0, place].copy()
    before = [model(*batch(task, problems)), None]
    others.numbers[:, 0, place] = (digits + 3) % 9 + 1
    after = model(*batch(task, others))
    others.numbers[:, 0, place] = digits
    moved = (before[0] - after).abs().amax((0, 2)) > 1e-3
    return moved.nonzero()[:, 0].tolist()


def batch(task, problems):
    tokens, coordinates = task.write(problems)
    return torch.as_tensor(tokens), coordinates


@pytest.mark.parametrize(
    ("blueprint", "heard"),
    [
        (SMALL, range(3, PLACES)),
        (replace(SMALL, along=(1,)), range(4)),
        (replace(SMALL, along=(-1, 1)), range(PLACES)),
        (replace(SMALL, along=(-2,)), [3, 5, 7]),
        (replace(SMALL, cells=3), range(3, PLACES)),
        (Recurrent("gru", width=16), range(3, PLACES)),
        (Recurrent("lstm", width=16), range(3, PLACES)),
        (NeuralGPU(layers=1, width=16), range(PLACES)),
        (Looped(width=16, feedforward=32), range(PLACES)),
    ],
    ids=str,
)
def test_who_hears_of_a_digit(blueprint, heard):
    with torch.no_grad():
        found = changed(built(blueprint), SUMS, 3)
    assert set(found) <= set(heard) and 3 in found
    assert len(found) > 1  # something is heard


def test_rows_hear_the_row_before_where_it_is_stated():
    """A digit of the multiplicand reaches its place in both rows, and from the first row the place that hears it."""
    for across, heard in (((-1,), {2, 3}), ((0,), {2}), ((2,), {0, 2})):
        # Along its row a cell hears only what is too far away to be there.
        with torch.no_grad():
            found = changed(built(replace(SMALL, along=(-20,), across=across), PRODUCTS), PRODUCTS, 2)
        assert set(found) == heard


def test_a_closed_gate_is_exactly_closed_and_open_ones_are_paid_for():
    model = built(replace(SMALL, along=(-1, 1), price=0.5))
    with torch.no_grad():
        model.openness[:] = torch.tensor([0.5, -0.5])
    assert model.gates() == {("along", -1): 1.0, ("along", 1): 0.0}
    with torch.no_grad():
        assert min(changed(model, SUMS, 3)) == 3  # nothing is heard of higher places
    problems = SUMS.draw(ExactLength(3), generator(0, "gates"), 4)
    model.train()(*batch(SUMS, problems))
    assert 0.49 < model.pay().item() < 0.51 and model.pay() == 0.0
    model.eval()(*batch(SUMS, problems)), model.pay().backward()
    assert (model.openness.grad > 0).all()  # a lower price is a closed gate


@pytest.mark.parametrize("openness", [[0.5, -0.5], [-0.5, -0.5]], ids=["one closed", "all closed"])
def test_what_a_closed_gate_hides_costs_nothing_and_changes_nothing(openness):
    model, heard = built(replace(SMALL, along=(-1, 1), price=0.5)), built(SMALL)
    with torch.no_grad():
        model.openness[:] = torch.tensor(openness)
        weights = dict(model.state_dict())
        weights["hear.weight"] = weights["hear.weight"][:, : SMALL.width] * (openness[0] > 0)
        heard.load_state_dict({name: weights[name] for name in heard.state_dict()})
    shown = batch(SUMS, SUMS.draw(ExactLength(4), generator(0, "gates"), 4))
    torch.testing.assert_close(model(*shown), heard(*shown))
    model.train()(*shown).sum().backward()
    assert model._heard().weight.shape[1] == SMALL.width * (openness[0] > 0)
    assert (model.hear.weight.grad[:, SMALL.width :] == 0).all()


def test_gates_without_a_price_are_open():
    assert built(replace(SMALL, along=(-1, 1))).gates() == {("along", -1): 1.0, ("along", 1): 1.0}


def test_random_wiring_is_always_the_same_and_never_the_carrys():
    assert torch.equal(random_offsets(500, 0)[:50], random_offsets(50, 0))
    assert not set(random_offsets(500, 0).tolist()) & {0, -1} and set(random_offsets(500, 0).tolist()) >= {-4, 1, 4}


@pytest.mark.parametrize("blueprint", [SMALL, Recurrent(width=16), NeuralGPU(width=16), Looped(width=16)], ids=str)
def test_what_else_is_in_the_batch_changes_no_answer(blueprint):
    model = built(blueprint)
    problems = SUMS.draw(ExactLength(6), generator(1, "alone"), 5)
    tokens, coordinates = batch(SUMS, problems)
    with torch.no_grad():
        together = model(tokens, coordinates)
        alone = torch.cat([model(row[None], coordinates) for row in tokens])
    # A test ends when all of a batch rest: what still moves below the tolerance may differ by that much.
    assert (together.softmax(-1) - alone.softmax(-1)).abs().max() < 0.02


def test_a_sum_by_hand_reaches_the_grid():
    """Every symbol of a column has its own vector for its role: swapping numbers swaps vectors, nothing else."""
    model = built(SMALL)
    tokens, coordinates = batch(SUMS, posed(SUMS, Kind("+"), 17, 25))
    seen, starts = model.prepare(coordinates)
    assert seen.shape == (1, 3, 3) and (starts >= 0).all()
    columns = tokens[0][seen[0]]
    assert columns[:, 1:].sort(-1).values.tolist() == [[5, 7], [1, 2], [10, 10]]
    assert (columns[:, 0] == 11).all()  # the cell's own symbol is the operator


@pytest.mark.parametrize("arms", [controls.controls, controls.ladder, controls.shifts, controls.ablations])
def test_experiments_come_back_from_their_files(arms, tmp_path):
    for arm, experiment in arms("cpu").items():
        found = Run.create(tmp_path / arm, experiment)
        assert Run.open(found.folder).experiment == experiment


def test_what_cannot_be_is_refused():
    for blueprint, message in (
        (lambda: Recurrent("rnn"), "gru or lstm"),
        (lambda: NeuralGPU(kernel=2), "odd"),
        (lambda: replace(SMALL, along=()), "at least one place"),
        (lambda: Looped(width=10, heads=4), "multiple of heads"),
        (lambda: replace(SMALL, price=-1), "not negative"),
    ):
        with pytest.raises(ValueError, match=message):
            blueprint()
    with pytest.raises(ValueError, match="by-column"):
        SMALL.build(Relative(), SUMS.extent, 14, 11)
    with pytest.raises(ValueError, match="one row"), torch.no_grad():
        changed(built(Recurrent(width=16), PRODUCTS), PRODUCTS, 2)
