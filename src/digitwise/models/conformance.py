"""What every encoding must do, and what each one claims: `check(MyEncoding())` raises AssertionError if it does not."""

import torch
from safetensors import torch as safetensors

from digitwise.coordinates import Coordinates, Extent, extent
from digitwise.data.distributions import ExactLength
from digitwise.encodings import Encoding
from digitwise.encodings.symmetry import random_queries, what_is_added
from digitwise.models.encoder import Architecture, Encoder
from digitwise.rng import generator
from digitwise.tasks import Addition, Arithmetic, Multiplication, Task, TextAddition, TextMultiplication

ARCHITECTURE = Architecture(layers=2, width=16, heads=2, feedforward=32)
SYMBOLS, ANSWERS, BATCH = 14, 11, 3


def tasks_for(encoding: Encoding, length: int) -> list[Task]:
    """Return tasks that the encoding is for, with numbers of this length."""
    if encoding.columns:
        return [Arithmetic("+"), Arithmetic("+", summands=3), Arithmetic("*"), Arithmetic("+-*", summands=3)]
    # Little text, so that a larger canvas means longer rows.
    texts = [TextAddition(length, most=2), TextMultiplication(canvas=length, most=2)]
    return [Addition(length), Multiplication(canvas=length), *texts]


def coordinates_of(task: Task, length: int) -> Coordinates:
    """Return the coordinates of three problems; in a text they stand at other places in each row."""
    _, coordinates = task.write(task.draw(ExactLength(length), generator(0, "conformance"), BATCH))
    return coordinates.map(torch.as_tensor)


def check(encoding: Encoding) -> None:
    """Run every test on the coordinates of every task that the encoding is for."""
    for task, larger in zip(tasks_for(encoding, 6), tasks_for(encoding, 13), strict=True):
        coordinates = coordinates_of(task, 6)
        for test in (shapes, gradients, batch_independence, save_and_load, symmetry):
            test(encoding, coordinates)
        any_length(encoding, coordinates, coordinates_of(larger, 13))


def built(encoding: Encoding, reach: Extent) -> Encoder:
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        model = Encoder(ARCHITECTURE, encoding, reach, SYMBOLS, ANSWERS)
        with torch.no_grad():  # far from the tiny initial values, so that a violated claim shows
            for parameter in model.parameters():
                parameter.add_(0.3 * torch.randn_like(parameter))
    return model.eval()


def tokens_for(coordinates: Coordinates) -> torch.Tensor:
    size = (BATCH, coordinates.position.shape[-1])
    return torch.randint(0, SYMBOLS, size, generator=torch.Generator().manual_seed(2))


def shapes(encoding: Encoding, coordinates: Coordinates) -> None:
    vectors, shape = built(encoding, extent(coordinates)).vectors, ARCHITECTURE.shape
    q, count = random_queries(shape, coordinates), coordinates.position.shape[-1]
    embedded, *scores = what_is_added(vectors, shape, q, coordinates)
    assert embedded.shape == (*coordinates.position.shape, shape.width), f"embed gives {tuple(embedded.shape)}"
    for score in scores:
        assert score.shape == (len(q), shape.heads, count, count), f"scores gives {tuple(score.shape)}"
        assert score.isfinite().all(), "scores must be finite"


def gradients(encoding: Encoding, coordinates: Coordinates) -> None:
    """Every vector can be learned: some gradient reaches each parameter."""
    model = built(encoding, extent(coordinates)).train()
    model(tokens_for(coordinates), coordinates).square().sum().backward()
    for name, parameter in model.vectors.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, f"no gradient reaches {name}"


def batch_independence(encoding: Encoding, coordinates: Coordinates) -> None:
    """What else is in the batch changes no answer."""
    model, tokens = built(encoding, extent(coordinates)), tokens_for(coordinates)
    with torch.no_grad():
        together = model(tokens, coordinates)
        each = coordinates.map(lambda array: array.expand(BATCH, -1))
        rows = (Coordinates(*row).map(lambda array: array[None]) for row in zip(*each, strict=True))
        alone = torch.cat([model(row[None], where) for row, where in zip(tokens, rows, strict=True)])
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-5)


def save_and_load(encoding: Encoding, coordinates: Coordinates) -> None:
    first = built(encoding, extent(coordinates))
    written = safetensors.save(first.state_dict())
    second = Encoder(ARCHITECTURE, encoding, extent(coordinates), SYMBOLS, ANSWERS).eval()
    second.load_state_dict(safetensors.load(written))
    tokens = tokens_for(coordinates)
    with torch.no_grad():
        assert torch.equal(first(tokens, coordinates), second(tokens, coordinates)), "loading changed the answers"


def any_length(encoding: Encoding, coordinates: Coordinates, longer: Coordinates) -> None:
    """Longer sequences work where that is promised, and are refused with a ValueError where it is not."""
    model = built(encoding, extent(coordinates))
    try:
        with torch.no_grad():
            answers = model(tokens_for(longer), longer)
    except ValueError:
        assert not encoding.any_length, "a longer sequence was refused although any length is promised"
        return
    assert encoding.any_length, "a longer sequence was answered although it is beyond the learned vectors"
    assert answers.isfinite().all()


def symmetry(encoding: Encoding, coordinates: Coordinates) -> None:
    vectors = built(encoding, extent(coordinates)).vectors
    with torch.no_grad():
        for claim in encoding.symmetries:
            violation = claim.violation(vectors, ARCHITECTURE.shape, coordinates)
            assert violation < 1e-4, f"{type(encoding).__name__} claims {claim} and violates it by {violation:.3g}"
