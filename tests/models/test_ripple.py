"""The rippling encoder: its neighbours are those of the format, waves and rounds come to the same rest."""

import math

import numpy as np
import pytest
import torch

from digitwise.coordinates import Coordinates, extent
from digitwise.data import ExactLength
from digitwise.encodings import ByColumn, Relative
from digitwise.encodings.by_column import CLASSES
from digitwise.models.encoder import Architecture
from digitwise.models.ripple import Ripple
from digitwise.rng import generator
from digitwise.tasks import Arithmetic

ARCHITECTURE = Architecture(layers=1, repeated=1, rounds=4, width=16, heads=2, feedforward=32)
CASES = {
    "sums": (Arithmetic("+"), ByColumn()),
    "sums of up to four": (Arithmetic("+", summands=4), ByColumn()),
    "products": (Arithmetic("*", multiplier=2), ByColumn(products=True)),
    "everything": (Arithmetic("+-*"), ByColumn(products=True)),
    "everything, many summands": (Arithmetic("+-*", summands=5, multiplier=2), ByColumn(products=True)),
}


def problem(name: str, length: int = 6, count: int = 5) -> tuple[Ripple, torch.Tensor, Coordinates]:
    task, encoding = CASES[name]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Ripple(ARCHITECTURE, encoding, extent(task.coordinates()), 14, 11).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.2 * torch.randn_like(parameter))
            model.readout.weight.mul_(3)  # so that it is sure of most answers
    tokens = torch.as_tensor(task.write(task.draw(ExactLength(length), generator(0, "ripple"), count)))
    return model, tokens, task.coordinates(tokens).map(lambda array: torch.as_tensor(array.copy()))


def looks_at(task: Arithmetic, tokens: torch.Tensor, coordinates: Coordinates) -> dict[int, dict[str, int]]:
    """What each cell sees, from the description of the format alone: class -> token."""
    _, operand, place, _ = (array.tolist() for array in coordinates)
    index = {key: token for token, key in enumerate(zip(operand, place, strict=True))}
    summands = max(operand) + 1 - (2 if task.alone else 0)
    found = {}
    for token, (number, here) in enumerate(zip(operand, place, strict=True)):
        if number >= 0:
            continue
        from_end = -1 - number
        seen = {"itself": (number, here), "below": (number, here - 1), "above": (number - 1, here)}
        if summands > from_end:
            seen["summand"] = (max(operand) - from_end, here)
        if summands == 2 and task.steps == 1:
            seen["first"] = (2 if task.alone else 0, here)
        if task.alone:
            seen |= {"shifted": (number - 1, here - 1), "multiplier": (0, from_end), "multiplicand": (1, here)}
        found[token] = {kind: index[key] for kind, key in seen.items() if key in index}
    return found


@pytest.mark.parametrize("name", CASES)
def test_the_cells_by_hand(name):
    """Loops over problems, cells and neighbours, with nothing gathered."""
    model, tokens, coordinates = problem(name, length=3, count=2)
    heads, vectors = ARCHITECTURE.heads, model.vectors
    neighbours = looks_at(CASES[name][0], tokens, coordinates)
    with torch.no_grad():
        logits = model(tokens, coordinates)
        x = model.embedding_norm(model.embedding(tokens.long()))

        def apply(number: int, row: int, token: int, start: torch.Tensor, others: dict) -> torch.Tensor:
            layer = model.layers[number]
            query = layer.attention.query(layer.norms[0](start)).view(heads, -1) / math.sqrt(8)
            keys, values = [], []
            for kind, other in neighbours[token].items():
                seen = start if kind == "itself" else others.get(other, None if other in neighbours else x[row, other])
                if seen is not None:
                    normed = layer.norms[0](seen)
                    vector = vectors.tables[number][CLASSES.index(kind)]
                    keys.append(layer.attention.key(normed).view(heads, -1) + vector)
                    values.append(layer.attention.value(normed).view(heads, -1))
            weights = torch.stack([(query * key).sum(-1) for key in keys]).softmax(0)
            mixed = sum(weight[:, None] * value for weight, value in zip(weights, values, strict=True))
            out = start + layer.attention.out(mixed.flatten())
            return out + layer.feedforward(layer.norms[1](out))

        for row in range(len(tokens)):
            state: dict[int, torch.Tensor] = {}
            for token in sorted(neighbours):  # row by row, each from its lowest place up
                state[token] = model.state_norm(apply(1, row, token, apply(0, row, token, x[row, token], {}), state))
                if coordinates.slot[token] >= 0:
                    expected = logits[row, coordinates.slot[token]]
                    torch.testing.assert_close(expected, model.readout(state[token]), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", CASES)
def test_rounds_come_to_rest_where_the_columns_in_order_do(name, monkeypatch):
    model, tokens, coordinates = problem(name, length=12)
    with torch.no_grad():
        in_order = model(tokens, coordinates).softmax(-1)
        enough = in_order.shape[1] + CASES[name][0].steps - 1
        monkeypatch.setattr("digitwise.models.ripple.STILL", 0.0)
        torch.testing.assert_close(model(tokens, coordinates, rounds=enough).softmax(-1), in_order)
        assert (model(tokens, coordinates, rounds=2).softmax(-1) - in_order).abs().max() > 1e-5
        monkeypatch.undo()
        settled = model.settle(tokens, coordinates)
    confidence, symbols = in_order.max(-1)
    sure = confidence > in_order.topk(2).values[..., 1] + 0.05
    assert sure.float().mean() > 0.5
    assert torch.equal(settled.symbols_BS[sure], symbols[sure])
    assert (settled.confidence_BS - confidence)[sure].abs().max() < 0.05
    assert 2 <= int(settled.rounds_B.max()) <= enough


def test_every_round_is_a_shorter_problem(monkeypatch):
    """In round r a column knows r - 1 columns below: its answer is that of the numbers without their lower digits."""
    _, tokens, coordinates = problem("sums", length=9, count=3)
    monkeypatch.setattr("digitwise.models.ripple.STILL", 0.0)
    task, tiny = CASES["sums"][0], Architecture(layers=1, repeated=1, width=16, heads=2)
    places = int(coordinates.place.max()) + 1
    with torch.no_grad():
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


def test_nothing_flows_down_and_a_round_carries_by_one_place(monkeypatch):
    monkeypatch.setattr("digitwise.models.ripple.STILL", 0.0)
    model, tokens, coordinates = problem("sums", length=9, count=1)
    changed = tokens.clone()
    changed[0, 4] = (changed[0, 4] + 1) % 10  # place 4 of the first summand
    with torch.no_grad():
        for rounds in (1, 3):
            gap = (model(tokens, coordinates, rounds) - model(changed, coordinates, rounds)).abs().amax(-1)[0]
            reached = (gap > 1e-6).nonzero()[:, 0].tolist()
            assert reached[0] == 4 and reached[-1] == 4 + rounds - 1  # one place in each round after the first


def test_neighbours_do_not_grow_with_the_length_nor_with_the_rows():
    for multiplier, length in ((2, 40), (2, 400), (9, 40)):
        task = Arithmetic("*", multiplier=multiplier)
        tokens = task.write(task.draw(ExactLength(length), generator(0, "long"), 1))
        coordinates = task.coordinates(tokens).map(lambda array: torch.as_tensor(array.copy()))
        model = Ripple(ARCHITECTURE, ByColumn(products=True), extent(task.coordinates()), 14, 11)
        prepared = model.vectors.prepare(coordinates)
        kinds = [CLASSES[index] for index in prepared.classes_K]
        assert kinds == ["itself", "below", "above", "shifted", "multiplier", "multiplicand"]
        assert all(len(table) == len(CLASSES) for table in model.vectors.tables)


def test_models_without_a_canvas_refuse_what_they_cannot_be():
    reach = extent(Arithmetic().coordinates())
    with pytest.raises(ValueError, match="--encoding by-column"):
        Ripple(ARCHITECTURE, Relative(), reach, 14, 11)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="--repeated 1"):
        Ripple(Architecture(layers=2), ByColumn(), reach, 14, 11)
