"""The rippling encoder: gathered neighbours equal scores of all pairs, and settling equals rounds without end."""

import math

import numpy as np
import pytest
import torch

from digitwise.coordinates import Coordinates, extent
from digitwise.encodings import ByColumn, Relative
from digitwise.model import Architecture, Encoder
from digitwise.ripple import Ripple
from digitwise.rng import generator
from digitwise.tasks import Arithmetic, ExactLength

ARCHITECTURE = Architecture(layers=1, repeated=1, rounds=4, width=16, heads=2, feedforward=32)
CASES = {
    "sums": (Arithmetic("+"), ByColumn()),
    "sums of three, window 2": (Arithmetic("+", summands=3), ByColumn(window=2)),
    "products": (Arithmetic("*", multiplier=2), ByColumn(reach=1, uniform=0)),
    "everything": (Arithmetic("+-*"), ByColumn(reach=2, uniform=0)),
}


def problem(name: str, length: int = 6, count: int = 5) -> tuple[Ripple, torch.Tensor, Coordinates]:
    task, encoding = CASES[name]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Ripple(ARCHITECTURE, encoding, extent(task.coordinates()), 14, 11).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.2 * torch.randn_like(parameter))
    tokens = torch.as_tensor(task.write(task.draw(ExactLength(length), generator(0, "ripple"), count)))
    return model, tokens, task.coordinates(tokens).map(lambda array: torch.as_tensor(array.copy()))


@pytest.mark.parametrize("name", CASES)
def test_gathered_neighbours_equal_the_scores_of_all_pairs(name):
    """The distinct layer of a plain encoder with the same weights, which looks at all pairs and adds `scores`."""
    ripple, tokens, coordinates = problem(name)
    plain = Encoder(ARCHITECTURE, CASES[name][1], extent(CASES[name][0].coordinates()), 14, 11).eval()
    plain.load_state_dict(ripple.state_dict())
    with torch.no_grad():
        prepared = plain.vectors.prepare(coordinates)
        embedded = plain.embedding_norm(plain.embedding(tokens.long()))
        expected = plain.layers[0](embedded, lambda q: plain.vectors.scores(0, q, prepared))
        answers = coordinates.slot >= 0
        found = ripple._columns(tokens, coordinates).start_AW
    torch.testing.assert_close(found, expected[:, answers].flatten(0, 1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_the_columns_by_hand(name):
    """Loops over problems, columns and neighbours, with nothing gathered."""
    model, tokens, coordinates = problem(name, length=3, count=2)
    layer, heads, vectors = model.layers[-1], ARCHITECTURE.heads, model.vectors
    with torch.no_grad():
        logits = model(tokens, coordinates)
        prepared = vectors.prepare(coordinates)
        x = model.embedding_norm(model.embedding(tokens.long()))
        x = model.layers[0](x, lambda q: vectors.scores(0, q, prepared))
        answers = (coordinates.slot >= 0).nonzero()[:, 0].tolist()
        for row in range(len(tokens)):
            state = {}
            for place, token in enumerate(answers):
                start = x[row, token]
                query = layer.attention.query(layer.norms[0](start)).view(heads, -1) / math.sqrt(8)
                keys, values = [], []
                for other, kind, bias in zip(*(part[token].tolist() for part in prepared), strict=True):
                    if bias == 0:
                        normed = layer.norms[0](state.get(other, x[row, other]))
                        keys.append(layer.attention.key(normed).view(heads, -1) + vectors.tables[1][kind])
                        values.append(layer.attention.value(normed).view(heads, -1))
                weights = torch.stack([(query * key).sum(-1) for key in keys]).softmax(0)
                mixed = sum(weight[:, None] * value for weight, value in zip(weights, values, strict=True))
                out = start + layer.attention.out(mixed.flatten())
                state[token] = model.state_norm(out + layer.feedforward(layer.norms[1](out)))
                torch.testing.assert_close(logits[row, place], model.readout(state[token]), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", CASES)
def test_rounds_come_to_rest_where_the_columns_in_order_do(name, monkeypatch):
    model, tokens, coordinates = problem(name, length=12)
    with torch.no_grad():
        in_order = model(tokens, coordinates).softmax(-1)
        places = in_order.shape[1]
        monkeypatch.setattr("digitwise.ripple.STILL", 0.0)
        torch.testing.assert_close(model(tokens, coordinates, rounds=places).softmax(-1), in_order)
        assert (model(tokens, coordinates, rounds=2).softmax(-1) - in_order).abs().max() > 1e-5
        monkeypatch.undo()
        settled = model.settle(tokens, coordinates)
    confidence, symbols = in_order.max(-1)
    sure = confidence > in_order.topk(2).values[..., 1] + 0.05
    assert sure.float().mean() > 0.5
    assert torch.equal(settled.symbols_BS[sure], symbols[sure])
    assert (settled.confidence_BS - confidence)[sure].abs().max() < 0.05
    assert 2 <= int(settled.rounds_B.max()) <= places


def test_every_round_is_a_shorter_problem(monkeypatch):
    """In round r a column knows r - 1 columns below: its answer is that of the numbers without their lower digits."""
    _, tokens, coordinates = problem("sums", length=9, count=3)
    monkeypatch.setattr("digitwise.ripple.STILL", 0.0)
    task, tiny = CASES["sums"][0], Architecture(layers=0, repeated=1, width=16, heads=2)
    places = int(coordinates.place.max()) + 1
    with torch.no_grad():
        # Without a distinct layer nothing but the rounds reaches down.
        flat = Ripple(tiny, ByColumn(), extent(task.coordinates()), 14, 11)
        third = flat(tokens, coordinates, rounds=3)
        for place in range(3, places):
            kept = tokens.view(3, 3, places)[:, :, place - 2 : place + 1].flatten(1)
            shorter = task.coordinates(np.zeros((1, 9), dtype=np.uint8)).map(
                lambda array: torch.as_tensor(array.copy())
            )
            torch.testing.assert_close(flat(kept, shorter)[:, -1], third[:, place], rtol=1e-4, atol=1e-5)


def test_columns_at_rest_are_left_alone(monkeypatch):
    """A model that has learned nothing of carries: the work of later rounds shrinks instead of staying the same."""
    model, tokens, coordinates = problem("sums", length=200, count=2)
    sizes, original = [], Ripple._state
    monkeypatch.setattr(Ripple, "_state", lambda *a: (sizes.append(len(a[1].start_AW)), original(*a))[1])
    with torch.inference_mode():
        rounds = model.settle(tokens, coordinates).rounds_B
    assert sizes[0] == 2 * int(coordinates.place.max() + 1)
    assert sizes[1] < sizes[0] and sum(sizes) < 20 * sizes[0] and int(rounds.max()) < 20


def test_nothing_flows_down_and_a_round_carries_by_one_window():
    model, tokens, coordinates = problem("sums", length=9, count=1)
    changed = tokens.clone()
    changed[0, 4] = (changed[0, 4] + 1) % 10  # place 4 of the first summand
    with torch.no_grad():
        for rounds in (1, 3):
            gap = (model(tokens, coordinates, rounds) - model(changed, coordinates, rounds)).abs().amax(-1)[0]
            reached = (gap > 1e-6).nonzero()[:, 0].tolist()
            # one place in the distinct layer, and one in each round after the first
            assert reached[0] == 4 and reached[-1] == 4 + rounds


@pytest.mark.parametrize("length", [400, 800])
def test_neighbours_grow_linearly(length):
    model, _, coordinates = problem("products", length=length, count=1)
    prepared = model.vectors.prepare(coordinates)
    assert prepared.tokens.shape[1] == 2 + 2 * 2 - 2 + 2  # itself and below; the other row twice; two multiplier digits


def test_models_without_a_canvas_refuse_what_they_cannot_be():
    reach = extent(Arithmetic().coordinates())
    with pytest.raises(ValueError, match="--encoding by-column"):
        Ripple(ARCHITECTURE, Relative(), reach, 14, 11)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="--repeated 1"):
        Ripple(Architecture(layers=2), ByColumn(), reach, 14, 11)
