"""Speed, as rates and as ratios measured in one run."""

import platform
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from digitwise.data import Distribution, ExactLength, UniformValues
from digitwise.data.carries import Cascade, ConsecutiveCarries, MixedComplexity, NinesRun, UniformComplexity
from digitwise.encodings import Absolute, Relative
from digitwise.paper import PAPER
from digitwise.rng import generator
from digitwise.runs.engine import Engine, loss_of
from digitwise.runs.experiment import Experiment
from digitwise.runs.training import Source
from digitwise.tasks import Addition, Multiplication, Task


def best_time(function: Callable[[], Any], repeats: int) -> float:
    """The fastest of several calls, after one to warm up: what the code costs when nothing else disturbs it."""
    function()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def data(problems: int = 50_000, repeats: int = 10) -> list[dict[str, Any]]:
    """Problems a second, drawn, solved and encoded into token and target arrays, on one core."""
    cases: list[tuple[str, Task, Distribution, int | None]] = [
        ("5 digits on canvas 5", Addition(5), ExactLength(5), 2_000_000),
        ("up to 5 digits on canvas 20", Addition(20), UniformValues(5), 1_000_000),
        ("50 digits on canvas 50", Addition(50), ExactLength(50), 300_000),
        ("3 x up to 5 digits on canvas 20", Multiplication(3, 20), UniformValues(5), None),
    ]
    rows = []
    for label, task, distribution, goal in cases:
        rng = generator(0, "bench", label)
        seconds = best_time(lambda: task.encode(task.draw(distribution, rng, problems)), repeats)  # noqa: B023
        rows.append(
            {
                "task": type(task).__name__.lower(),
                "problems": label,
                "a second": round(problems / seconds),
                "goal": goal,
            }
        )
    return rows


def samplers() -> list[dict[str, Any]]:
    """Problems per second of each conditional sampler on one core; rare problems must cost as much as common ones."""
    return [
        {"sampler": name, "digits": digits, "a second": round(rate)}
        for digits in (50, 40)
        for name, rate in sampler_rates(digits).items()
        if digits == 50 or name.startswith("cascade")
    ]


def sampler_rates(length: int = 50, count: int = 20_000) -> dict[str, float]:
    """Problems per second of each conditional sampler, once its tables are built."""
    samplers: dict[str, Distribution] = {
        "cascade 2": Cascade(2, length),
        f"cascade {length}": Cascade(length, length),
        "uniform over complexity": UniformComplexity(length),
        "mixed": MixedComplexity(length),
        f"nines {length // 2} with carry": NinesRun(length // 2, length, True),
        f"nines {length // 2} without carry": NinesRun(length // 2, length, False),
        f"consecutive {length // 2}": ConsecutiveCarries(length // 2, length),
    }
    rates = {}
    for name, sampler in samplers.items():
        rng = generator(0, "rates", name)
        rates[name] = count / best_time(partial(sampler.draw, rng, count, 2, length), repeats=1)
    return rates


def step(batch: int = 64, canvas: int = 50, rounds: int = 4) -> dict[str, Any]:
    """Time of a training step at the paper's size with absolute and with relative positions, in turns in one run."""
    base = Experiment(task=Addition(canvas), data=UniformValues(5), architecture=PAPER)
    base = replace(base, training=replace(base.training, batch=batch))
    sides = {
        "absolute": _one_step(replace(base, encoding=Absolute())),
        "relative": _one_step(replace(base, encoding=Relative())),
    }
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for function in sides.values():
        function()
    for _ in range(rounds):
        for name, function in sides.items():
            start = time.perf_counter()
            function()
            seconds[name].append(time.perf_counter() - start)
    # Whatever else a machine does only adds time, so the fastest steps are the ones to compare.
    ratio = min(seconds["relative"]) / min(seconds["absolute"])
    return {
        "setting": f"6 layers, width 768, 8 heads, canvas {canvas}, batch {batch}, float32, dropout 0.1",
        "seconds": {name: [round(value, 3) for value in values] for name, values in seconds.items()},
        "relative / absolute, fastest steps": round(ratio, 4),
        "goal": 1.1,
        "threads": torch.get_num_threads(),
        "machine": platform.machine(),
    }


def _one_step(experiment: Experiment) -> Callable[[], Any]:
    model = experiment.build()
    engine = Engine(model, torch.optim.AdamW(model.parameters(), lr=1e-4))
    batch = Source(experiment).batch(0)
    tokens, targets = (torch.as_tensor(part, device=engine.device) for part in batch[:2])
    return lambda: engine.step([lambda: loss_of(engine.model(tokens, batch.coordinates), targets)], 1e-4, 1.0)
