"""The rippling encoder: its neighbours are those of the format, waves and rounds come to the same rest."""

import math
from dataclasses import replace

import pytest
import torch
from small import located

from digitwise.coordinates import Coordinates
from digitwise.data import ExactLength
from digitwise.encodings import ByColumn, Relative, by_column
from digitwise.encodings.by_column import CLASSES
from digitwise.models import Columns, Ripple
from digitwise.rng import generator
from digitwise.tasks import Arithmetic

COLUMNS = Columns(layers=1, width=16, heads=2, feedforward=32)
CASES = {
    "sums": (Arithmetic("+"), ByColumn()),
    "sums of up to four": (Arithmetic("+", summands=4), ByColumn()),
    "products": (Arithmetic("*", multiplier=2), ByColumn()),
    "everything": (Arithmetic("+-*"), ByColumn()),
    "everything, many summands": (Arithmetic("+-*", summands=5, multiplier=2), ByColumn()),
}


def problem(name: str, length: int = 6, count: int = 5) -> tuple[Ripple, torch.Tensor, Coordinates]:
    task, encoding = CASES[name]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Ripple(COLUMNS, encoding, task.extent, 14, 11).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.2 * torch.randn_like(parameter))
            model.readout.weight.mul_(3)  # so that it is sure of most answers
    tokens, coordinates = task.write(task.draw(ExactLength(length), generator(0, "ripple"), count))
    return model, torch.as_tensor(tokens), coordinates.map(torch.as_tensor)


def looks_at(task: Arithmetic, coordinates: Coordinates) -> dict[int, dict[str, int]]:
    """What each cell sees, from the layout of the format alone: class -> token."""
    places = int(coordinates.place.max()) + 1
    digits, multiplicand = task.multiplier_digits, int("*" in task.operators)

    def line(number: int, place: int) -> int:
        return digits + number * places + place

    cells = multiplicand + task.summand_lines  # the first line of cells
    found = {}
    for row in range(task.rows):
        for here in range(places):
            from_end = task.rows - 1 - row
            seen = {"itself": line(cells + row, here)}
            if here:
                seen["below"] = line(cells + row, here - 1)
            if row:
                seen["above"] = line(cells + row - 1, here)
            if task.summand_lines > from_end:
                seen["summand"] = line(cells - 1 - from_end, here)
            if task.summand_lines == 2 and task.rows == 1:
                seen["first"] = line(cells - 2, here)
            if digits:
                seen |= {"multiplier": from_end, "multiplicand": line(0, here)} if from_end < digits else {}
                if row and here:
                    seen["shifted"] = line(cells + row - 1, here - 1)
                if from_end >= digits:
                    seen["multiplicand"] = line(0, here)
            found[line(cells + row, here)] = seen
    return found


@pytest.mark.parametrize("name", CASES)
def test_the_cells_by_hand(name):
    """Loops over problems, cells and neighbours, with nothing gathered."""
    model, tokens, coordinates = problem(name, length=3, count=2)
    heads, vectors = COLUMNS.heads, model.vectors
    neighbours = looks_at(CASES[name][0], coordinates)
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
        enough = in_order.shape[1] + CASES[name][0].rows - 1
        monkeypatch.setattr("digitwise.models.ripple.STILL", 0.0)
        torch.testing.assert_close(model(tokens, coordinates, rounds=enough).softmax(-1), in_order)
        assert (model(tokens, coordinates, rounds=2).softmax(-1) - in_order).abs().max() > 1e-5
        monkeypatch.undo()
        settled = model.answer(tokens, coordinates)
    confidence, symbols = in_order.max(-1)
    sure = confidence > in_order.topk(2).values[..., 1] + 0.05
    assert sure.float().mean() > 0.5
    assert torch.equal(settled.symbols_BS[sure], symbols[sure])
    assert (settled.confidence_BS - confidence)[sure].abs().max() < 0.05
    assert 2 <= int(settled.rounds_B.max()) <= enough


@pytest.mark.parametrize("name", CASES)
def test_equal_cells_are_worked_out_once(name, monkeypatch):
    """Fewer cells than all with stand-ins, the same logits, the same gradients."""
    model, tokens, coordinates = problem(name, length=3, count=20)
    model, found, sizes = model.double(), [], []

    def in_waves(combination_BRP, classes, _):
        waves = by_column.in_waves(combination_BRP, classes, once=not sizes)
        sizes.append(sum(waves.sizes))
        return waves

    monkeypatch.setattr("digitwise.models.ripple.in_waves", in_waves)
    for _ in range(2):
        logits = model(tokens, coordinates)
        found.append((logits, *torch.autograd.grad(logits.square().sum(), list(model.parameters()))))
    places = int(coordinates.place.max()) + 1
    rows = CASES[name][0].rows
    assert sizes[0] < 20 * rows * places and sizes[1] == 20 * rows * (rows + places - 1)
    torch.testing.assert_close(*found)


def test_every_round_is_a_shorter_problem(monkeypatch):
    """In round r a column knows r - 1 columns below: its answer is that of the numbers without their lower digits."""
    _, tokens, coordinates = problem("sums", length=9, count=3)
    monkeypatch.setattr("digitwise.models.ripple.STILL", 0.0)
    task, tiny = CASES["sums"][0], Columns(layers=1, width=16, heads=2)
    places = int(coordinates.place.max()) + 1
    with torch.no_grad():
        flat = Ripple(tiny, ByColumn(), task.extent, 14, 11)
        third = flat(tokens, coordinates, rounds=3)
        for place in range(3, places):
            kept = tokens.view(3, 3, places)[:, :, place - 2 : place + 1].flatten(1)
            shorter = located(replace(task, pads=0), 2)  # and one place for the overflow
            torch.testing.assert_close(flat(kept, shorter)[:, -1], third[:, place], rtol=1e-4, atol=1e-5)


def test_columns_at_rest_are_left_alone(monkeypatch):
    """A model that has learned nothing of carries: the work of later rounds shrinks instead of staying the same."""
    model, tokens, coordinates = problem("sums", length=200, count=2)
    sizes, original = [], Ripple._state
    monkeypatch.setattr(Ripple, "_state", lambda *a: (sizes.append(len(a[1].start_AW)), original(*a))[1])
    with torch.inference_mode():
        rounds = model.answer(tokens, coordinates).rounds_B
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
        model = Ripple(COLUMNS, ByColumn(), task.extent, 14, 11)
        prepared = model.vectors.prepare(located(task, length))
        kinds = [CLASSES[index] for index in prepared.classes_K]
        assert kinds == ["itself", "below", "above", "shifted", "multiplier", "multiplicand"]
        assert all(len(table) == CLASSES.index("higher") for table in model.vectors.tables)  # no row flows down


def test_models_without_a_canvas_refuse_what_they_cannot_be():
    with pytest.raises(ValueError, match="--encoding by-column"):
        Ripple(COLUMNS, Relative(), Arithmetic().extent, 14, 11)
    with pytest.raises(ValueError, match="multiple of heads"):
        Columns(width=10, heads=4)


@pytest.mark.parametrize("name", CASES)
def test_windows_of_places_change_no_answer(name, monkeypatch):
    """All that a window needs of those below is what their highest place remembers."""
    model, tokens, coordinates = problem(name, length=40)
    monkeypatch.setattr("digitwise.models.ripple.STILL", 1e-5)
    sizes, original = [], Ripple._cells
    monkeypatch.setattr(Ripple, "_cells", lambda *a: (sizes.append(a[2].cells_RP.shape[1]), original(*a))[1])
    with torch.inference_mode():
        whole = model.answer(tokens, coordinates)
        monkeypatch.setattr("digitwise.models.ripple.WINDOW", 1)
        windows = model.answer(tokens, coordinates)
    places = int(coordinates.place.max()) + 1
    assert (
        sizes[0] == places and sizes[1] == 8 and set(sizes[2:-1]) == {9} and sum(sizes[1:]) - len(sizes) + 2 == places
    )
    assert torch.equal(whole.symbols_BS, windows.symbols_BS)
    torch.testing.assert_close(whole.confidence_BS, windows.confidence_BS, rtol=1e-3, atol=1e-4)
    assert (windows.rounds_B <= whole.rounds_B).all()


def test_long_numbers_need_little_more_memory_than_short_ones():
    """The largest tensor of the network has the size of a window, whatever the length."""
    model, tokens, coordinates = problem("sums", length=30_000, count=1)
    largest = 0

    def look(module: torch.nn.Module, _: object, out: torch.Tensor) -> None:
        nonlocal largest
        largest = max(largest, len(out.flatten(0, -2)))

    for layer in model.layers:
        layer.feedforward.register_forward_hook(look)
    with torch.inference_mode():
        assert model.answer(tokens, coordinates).symbols_BS.shape == (1, int(coordinates.place.max()) + 1)
    assert 1000 < largest < 10_000
