"""The encoder: what it reads out, and its layers applied once or again and again."""

import pytest
import torch
from small import located

from digitwise.coordinates import Coordinates, extent
from digitwise.encodings import Relative
from digitwise.models.encoder import Architecture, Encoder, slot_positions
from digitwise.tasks import Addition, Multiplication


def built(architecture: Architecture, task=None) -> tuple[Encoder, Coordinates]:
    torch.manual_seed(0)
    coordinates = located(task or Addition(4))
    model = Encoder(architecture, Relative(deviation=0.5), extent(coordinates), 14, 11).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(5)  # the small weights of the start make everything nearly equal
    return model, coordinates


@pytest.mark.parametrize("task", [Addition(4), Multiplication(3, 5)], ids=str)
def test_symbols_are_read_where_the_slots_are(task):
    coordinates = located(task)
    positions = slot_positions(coordinates)
    assert coordinates.slot[positions].tolist() == list(range(task.longest + task.overflow))
    model, _ = built(Architecture(layers=1, width=8, heads=2), task)
    tokens = torch.randint(0, 11, (2, task.extent.positions))
    hidden = model.hidden(tokens, coordinates)
    torch.testing.assert_close(model(tokens, coordinates), model.readout(hidden[:, positions]))


def test_distance_vectors_reach_the_scores():
    """A model that cannot tell positions apart would give equal answers for reordered summands."""
    model, coordinates = built(Architecture(layers=1, width=8, heads=2))
    one = torch.tensor([[1, 2, 3, 4, 11, 5, 6, 7, 8]])
    other = torch.tensor([[4, 3, 2, 1, 11, 5, 6, 7, 8]])
    with torch.no_grad():
        assert (model(one, coordinates) - model(other, coordinates)).abs().max() > 1e-4


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_repeated_layers(norm):
    """By hand: each round adds the embedded input to the normalised state and applies the same layers."""
    model, coordinates = built(Architecture(layers=1, repeated=1, rounds=3, width=8, heads=2, norm=norm))
    tokens = torch.randint(0, 11, (2, 9))
    prepared = model.vectors.prepare(coordinates)

    def layer(index, state):
        return model.layers[index](state, lambda q: model.vectors.scores(index, q, prepared))

    with torch.no_grad():
        embedded = model.embedding_norm(model.embedding(tokens))
        state = layer(0, embedded)
        for _ in range(3):
            state = layer(1, model.state_norm(state) + embedded)
        torch.testing.assert_close(model.hidden(tokens, coordinates), model.state_norm(state))
        fewer, more = model(tokens, coordinates, rounds=2), model(tokens, coordinates, rounds=5)
    assert (fewer - more).abs().max() > 1e-5
    assert len(model.layers) == 2 and len(model.vectors.tables) == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 10, "heads": 4}, "multiple of heads"),
        ({"norm": "rms"}, "'pre' or 'post'"),
        ({"layers": 0}, "at least one layer"),
        ({"dropout": 1.0}, "below 1"),
    ],
)
def test_impossible_architectures_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        Architecture(**changes)
