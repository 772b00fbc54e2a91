"""The rippling encoder: gathered neighbours equal scores of all pairs, and settling equals rounds without end."""

import math

import pytest
import torch

from digitwise.coordinates import Coordinates, extent
from digitwise.encodings import ByPlace, Relative
from digitwise.model import Architecture, Encoder
from digitwise.ripple import Ripple
from digitwise.rng import generator
from digitwise.tasks import Arithmetic, ExactLength

ARCHITECTURE = Architecture(layers=1, repeated=1, rounds=4, width=16, heads=2, feedforward=32)
CASES = {
    "sums": (Arithmetic("+"), ByPlace()),
    "sums of three, window 2": (Arithmetic("+", summands=3), ByPlace(window=2)),
    "products": (Arithmetic("*", multiplier=2), ByPlace(reach=1, uniform=0)),
    "everything": (Arithmetic("+-*"), ByPlace(reach=2, uniform=0)),
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
    return model, tokens, task.coordinates(tokens.shape[1]).map(lambda array: torch.as_tensor(array.copy()))


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
def test_a_round_by_hand(name):
    """Loops over problems, columns and neighbours, with nothing gathered."""
    model, tokens, coordinates = problem(name, length=3, count=2)
    layer, heads, vectors = model.layers[-1], ARCHITECTURE.heads, model.vectors
    with torch.no_grad():
        columns = model._columns(tokens, coordinates)
        once = model(tokens, coordinates, rounds=1)
        prepared = vectors.prepare(coordinates)
        x = model.embedding_norm(model.embedding(tokens.long()))
        x = model.layers[0](x, lambda q: vectors.scores(0, q, prepared))
        answers = (coordinates.slot >= 0).nonzero()[:, 0].tolist()
        for row in range(len(tokens)):
            for place, token in enumerate(answers):
                start = x[row, token]
                query = layer.attention.query(layer.norms[0](start)).view(heads, -1) / math.sqrt(8)
                keys, values = [], []
                for other, kind, bias in zip(*(part[token].tolist() for part in prepared), strict=True):
                    if bias < 0:
                        continue
                    seen = x[row, other]
                    if other in answers and other != token:  # a column below, as it was before the first round
                        seen = model.state_norm(seen)
                    normed = layer.norms[0](seen)
                    keys.append(layer.attention.key(normed).view(heads, -1) + vectors.tables[1][kind])
                    values.append(layer.attention.value(normed).view(heads, -1))
                weights = torch.stack([(query * key).sum(-1) for key in keys]).softmax(0)
                mixed = sum(weight[:, None] * value for weight, value in zip(weights, values, strict=True))
                out = start + layer.attention.out(mixed.flatten())
                out = model.state_norm(out + layer.feedforward(layer.norms[1](out)))
                torch.testing.assert_close(once[row, place], model.readout(out), rtol=1e-4, atol=1e-4)
    assert len(columns.start_AW) == len(tokens) * len(answers)


@pytest.mark.parametrize("name", CASES)
def test_settling_gives_what_rounds_without_end_give(name):
    model, tokens, coordinates = problem(name, length=12)
    with torch.inference_mode():
        settled = model.settle(tokens, coordinates)
        places = settled.symbols_BS.shape[1]
        enough, more = (model(tokens, coordinates, rounds=places + extra).softmax(-1) for extra in (0, 5))
    torch.testing.assert_close(enough, more, rtol=1e-4, atol=1e-5)  # at rest after as many rounds as columns
    confidence, symbols = enough.max(-1)
    sure = confidence > enough.topk(2).values[..., 1] + 0.05
    assert sure.float().mean() > 0.5
    assert torch.equal(settled.symbols_BS[sure], symbols[sure])
    assert (settled.confidence_BS - confidence)[sure].abs().max() < 0.05
    assert 0 < int(settled.rounds_B.max()) <= places + 1


def test_several_numbers_of_rounds_at_once():
    model, tokens, coordinates = problem("sums")
    with torch.no_grad():
        both = model(tokens, coordinates, rounds=(2, 5))
        torch.testing.assert_close(both[0], model(tokens, coordinates, rounds=2))
        torch.testing.assert_close(both[1], model(tokens, coordinates, rounds=5))


def test_nothing_flows_down_and_a_round_carries_by_one_window():
    model, tokens, coordinates = problem("sums", length=9, count=1)
    changed = tokens.clone()
    changed[0, 4] = (changed[0, 4] + 1) % 10  # place 4 of the first summand
    with torch.no_grad():
        for rounds in (1, 3):
            gap = (model(tokens, coordinates, rounds) - model(changed, coordinates, rounds)).abs().amax(-1)[0]
            reached = (gap > 1e-6).nonzero()[:, 0].tolist()
            # one place in the distinct layer and one in each round after it
            assert reached[0] == 4 and reached[-1] <= 4 + rounds + 1


@pytest.mark.parametrize("length", [400, 800])
def test_neighbours_grow_linearly(length):
    model, tokens, coordinates = problem("products", length=length, count=1)
    prepared = model.vectors.prepare(coordinates)
    assert prepared.tokens.shape[1] == 2 + 2 * 2 - 2 + 2  # itself and below; the other row twice; two multiplier digits


def test_models_without_a_canvas_refuse_what_they_cannot_be():
    reach = extent(Arithmetic().coordinates())
    with pytest.raises(ValueError, match="--encoding place"):
        Ripple(ARCHITECTURE, Relative(), reach, 14, 11)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="--repeated 1"):
        Ripple(Architecture(layers=2), ByPlace(), reach, 14, 11)
