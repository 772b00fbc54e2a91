"""Attention to far digits: what counts as far, and that a mask takes it away and nothing else."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from small import SMALL

from digitwise.data import ExactLength
from digitwise.encodings import Rotary
from digitwise.models.attention import fold
from digitwise.models.looking import attention, far_share
from digitwise.paper.leak import near_only
from digitwise.rng import generator
from digitwise.tasks import Addition


@pytest.fixture(params=[SMALL.encoding, Rotary()], ids=["vectors", "angles"])
def model_and_batch(request):
    experiment = replace(SMALL, task=Addition(9), encoding=request.param)
    torch.manual_seed(0)
    model = experiment.build().eval()
    fold(model, 300.0)
    batch = experiment.task.encode(experiment.task.draw(ExactLength(8), generator(0), 5))
    return model, batch


def test_nothing_is_far_if_everything_is_near(model_and_batch):
    model, batch = model_and_batch
    assert far_share(model, batch, near=9).max() == 0
    tokens = torch.as_tensor(batch.tokens)
    same = near_only(model, batch, reach=9)(tokens, batch.coordinates)
    assert torch.equal(same, model(tokens, batch.coordinates))


def test_a_mask_takes_far_digits_away_and_leaves_the_rest(model_and_batch):
    model, batch = model_and_batch
    masked = near_only(model, batch, reach=2)
    assert far_share(model, batch, near=2).max() > 0.01
    assert far_share(masked, batch, near=2).max() == 0
    assert all(np.allclose(layer.sum(-1), 1, atol=1e-5) for layer in attention(masked, batch))
    assert far_share(model, batch, near=2).max() > 0.01, "the model itself stays as it was"


def test_no_token_passes_on_what_the_others_may_not_see(model_and_batch):
    """The sign has no place, and reads the overflow: it may look as far as the highest place does."""
    model, batch = model_and_batch
    hidden = near_only(model, batch, reach=2).vectors.mask_BHNN[0, 0].isinf().sum(-1)
    (sign,) = np.flatnonzero(batch.coordinates.place < 0)
    (highest,) = np.flatnonzero((batch.coordinates.operand == 0) & (batch.coordinates.place == 8))
    assert hidden[sign] >= hidden[highest] > 0
