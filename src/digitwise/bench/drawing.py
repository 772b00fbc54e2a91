"""How fast problems are drawn, solved and encoded, on one core."""

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from digitwise.bench.measure import Row, Session, row
from digitwise.data import Distribution, ExactLength, UniformValues
from digitwise.data.carries import Cascade, ConsecutiveCarries, MixedComplexity, NinesRun, UniformComplexity
from digitwise.rng import generator
from digitwise.tasks import Addition, Multiplication, Task


def data(session: Session) -> list[Row]:
    """Problems drawn, solved and encoded into token and target arrays, beside a loop over Python's own integers."""
    cases: list[tuple[str, Task, Distribution, Callable[[random.Random], str]]] = [
        ("5 digits on canvas 5", Addition(5), ExactLength(5), partial(_sum, 5, 10**4, 10**5)),
        ("up to 5 digits on canvas 20", Addition(20), UniformValues(5), partial(_sum, 20, 0, 10**5)),
        ("50 digits on canvas 50", Addition(50), ExactLength(50), partial(_sum, 50, 10**49, 10**50)),
        ("3 x up to 5 digits on canvas 20", Multiplication(3, 20), UniformValues(5), partial(_product, 20)),
    ]
    problems = 200 if session.smoke else 20_000
    rows = []
    for label, task, distribution, one in cases:
        sides: dict[str, Callable[[], Any]] = {
            "ours": partial(_ours, task, distribution, generator(0, "bench", label), problems),
            "a loop in Python": partial(_plain, one, random.Random(0), problems),
        }
        seconds = session.seconds(label, sides)
        rows.append(row(label, "problems a second", seconds, [("ours", "a loop in Python")], rate=problems))
    return rows


def _ours(task: Task, distribution: Distribution, rng: np.random.Generator, problems: int) -> None:
    task.encode(task.draw(distribution, rng, problems))


def _plain(one: Callable[[random.Random], str], rng: random.Random, problems: int) -> np.ndarray:
    """Tokens and targets side by side, one byte each."""
    lines = [one(rng) for _ in range(problems)]
    symbols = "".join(lines).encode().translate(SYMBOLS)
    return np.frombuffer(symbols, dtype=np.uint8).reshape(problems, -1)


SYMBOLS = bytes.maketrans(b"0123456789_+*", bytes(range(13)))


def _sum(canvas: int, low: int, high: int, rng: random.Random) -> str:
    a, b = rng.randrange(low, high), rng.randrange(low, high)
    return f"{a:_>{canvas}}+{b:_>{canvas}}{a + b:_>{canvas + 1}}"


def _product(canvas: int, rng: random.Random) -> str:
    a, b = rng.randrange(100, 1000), rng.randrange(10**5)
    return f"{a}*{b:_>{canvas}}{a * b:_>{canvas + 3}}"


def samplers(session: Session) -> list[Row]:
    """Each conditional sampler beside the plain one: rare problems must cost about as much as common ones."""
    problems, rows = 200 if session.smoke else 20_000, []
    for length in session.chosen((50, 40), (50,), (20,)):
        rng = generator(0, "rates", "plain")
        plain = partial(ExactLength(length).draw, rng, problems, 2, length)
        for name, sampler in conditional(length).items():
            draw = partial(sampler.draw, generator(0, "rates", name), problems, 2, length)
            seconds = session.seconds(f"{name}, {length} digits", {"ours": draw, "plain": plain})
            case = f"{name}, {length} digits"
            rows.append(row(case, "problems a second", seconds, [("ours", "plain")], rate=problems))
    return rows


def conditional(length: int) -> dict[str, Distribution]:
    """Samplers of problems of one kind, however rare."""
    return {
        "cascade 2": Cascade(2, length),
        f"cascade {length}": Cascade(length, length),
        "uniform over complexity": UniformComplexity(length),
        "mixed": MixedComplexity(length),
        f"nines {length // 2} with carry": NinesRun(length // 2, length, True),
        f"nines {length // 2} without carry": NinesRun(length // 2, length, False),
        f"consecutive {length // 2}": ConsecutiveCarries(length // 2, length),
    }
