"""Attention read out of trained models: whole, at the right tokens, and how much of it is far away."""

import numpy as np
import pytest
import torch
from small import SMALL, posed

from digitwise.answers.solver import load
from digitwise.data import ExactLength
from digitwise.encodings import Absolute, Relative
from digitwise.models import Architecture
from digitwise.models.looking import attention, far_share, positions
from digitwise.rng import generator
from digitwise.tasks import Addition, Kind


def built(encoding, task, layers=2):
    torch.manual_seed(0)
    architecture = Architecture(layers=layers, width=16, heads=2, feedforward=32)
    return architecture.build(encoding, task.extent, len(task.symbols), task.answer_symbols)


@pytest.mark.parametrize("encoding", [Absolute(), Relative(1.0)])
def test_weights_of_every_layer_are_those_at_the_answer(encoding):
    task = Addition(5)
    model, batch = built(encoding, task), task.encode(task.draw(ExactLength(3), generator(0), 4))
    found = attention(model, batch)
    assert [layer.shape for layer in found] == [(4, 2, 6, 11)] * 2
    assert all(np.allclose(layer.sum(-1), 1, atol=1e-5) for layer in found)
    assert model.training and not any(part._forward_hooks for part in model.modules())  # left as it was
    # The first layer by hand: the query of slot 0 is the last token.
    layer, tokens = model.layers[0], torch.as_tensor(batch.tokens).long()
    with torch.no_grad():
        x = model.embedding(tokens)
        prepared = model.prepare(batch.coordinates)
        added = model.vectors.embed(prepared.vectors)
        x = layer.norms[0](model.embedding_norm(x if added is None else x + added))
        query, key = (
            part(x).unflatten(-1, (2, 8)).transpose(1, 2) for part in (layer.attention.query, layer.attention.key)
        )
        query = query / 8**0.5
        scores = query @ key.mT
        pairs = model.vectors.scores(0, query, prepared.vectors)
        weights = (scores if pairs is None else scores + pairs).softmax(-1)
    assert np.allclose(found[0][:, :, 0], weights[:, :, -1], atol=1e-5)
    assert np.allclose(found[0][:, :, 5], weights[:, :, 5], atol=1e-5)  # the overflow is read at the operator


def test_the_share_of_far_digits_is_counted_by_hand():
    task = Addition(4)
    model = built(Absolute(), task, layers=1)
    with torch.no_grad():  # keys of zeros: all tokens weigh the same
        for part in (model.layers[0].attention.key, model.layers[0].attention.query):
            part.weight.zero_(), part.bias.zero_()
    batch = task.encode(posed(task, Kind("+", 2), 123, 456))
    # Of 9 tokens 6 are digits. The answer 579 has places 0, 1, 2; far are two places away: 2 digits, 0 and 2.
    assert far_share(model, batch) == pytest.approx(np.full((1, 2), (2 + 0 + 2) / 3 / 9))
    assert far_share(model, batch, near=0) == pytest.approx(np.full((1, 2), 4 / 9))
    assert (far_share(model, batch, near=9) == 0).all()


def test_positions_are_the_learned_ones():
    task = SMALL.task
    batch = task.encode(task.draw(ExactLength(2), generator(0), 2))
    absolute, relative = built(Absolute(), task), built(Relative(1.0), task)
    (table,) = positions(absolute, batch).values()
    assert np.array_equal(table, absolute.vectors.table.detach().numpy())
    found = positions(relative, batch)
    assert list(found) == ["pairs, layer 1", "pairs, layer 2"] and found["pairs, layer 1"].shape == (25, 8)


def test_cells_have_no_attention_over_the_whole_problem():
    solver = load("addition")
    batch = solver.task.encode(solver.task.draw(ExactLength(4), generator(0), 2))
    assert attention(solver.model, batch) == [] and positions(solver.model, batch) == {}
    assert far_share(solver.model, batch).size == 0
