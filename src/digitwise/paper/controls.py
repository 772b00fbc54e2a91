"""Controls for the models without a canvas: other models over columns, and a ladder that takes their structure away.

What is built into `columns` is the alignment of digits, the order of dependence (a cell hears the next lower place),
and for products the shift between rows. Other models over columns are given less of that, with the same data, about as
many parameters and as many steps. A rung of the ladder changes one thing of `lattice`.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from digitwise.data import Distribution, FewExamples, Practice, UniformLengths, WithoutPairs
from digitwise.encodings import ByColumn
from digitwise.models import Blueprint, Columns, Lattice, Looped, NeuralGPU, Recurrent
from digitwise.paper.recipes import Arms, Check, Recipe
from digitwise.plots import look, new_figure, save
from digitwise.runs.evaluation import load_model
from digitwise.runs.experiment import Experiment, Testing, Training
from digitwise.runs.folder import Run
from digitwise.tasks import Arithmetic

#: The same for all of them.
TRAINING = Training(steps=1500, batch=64, rate=2e-3, average=0.99, checkpoints=1)
CELL = Lattice(width=96, feedforward=288)
EITHER_SIDE = tuple(offset for offset in range(-4, 5) if offset)
GATE = 0.003
"""Price of an open gate."""


def on_columns(name: str, architecture: Blueprint, data: Distribution | None = None) -> Experiment:
    """Sums of two numbers of at most 5 digits."""
    return Experiment(
        name=name,
        task=Arithmetic("+"),
        data=data or Practice(5),
        encoding=ByColumn(("below",)),
        architecture=architecture,
        training=TRAINING,
        testing=Testing((5, 10, 50, 200), problems=300, validation_lengths=(5,)),
    )


def on_products(name: str, architecture: Blueprint) -> Experiment:
    """Multipliers of 1 and 2 digits, so that one row of cells hears another one."""
    experiment = on_columns(name, architecture)
    return replace(
        experiment,
        task=Arithmetic("*", multiplier=2, zeros=True, pads=1),
        encoding=ByColumn(("below", "shifted")),
        training=replace(TRAINING, steps=5000, rate=4e-3, schedule="cosine", floor=0.02),
        testing=replace(experiment.testing, lengths=(5, 10, 50)),
    )


def controls(profile: str) -> Arms:
    models: dict[str, Blueprint] = {
        "columns": Columns(layers=1, width=64, heads=4),
        "gru": Recurrent("gru", width=120),
        "lstm": Recurrent("lstm", width=104),
        "neural-gpu": NeuralGPU(layers=2, width=72),
        "looped": Looped(width=96, feedforward=384),
    }
    return {arm: on_columns("controls", model) for arm, model in models.items()}


def ladder(profile: str) -> Arms:
    rungs: dict[str, Blueprint] = {
        "neighbour": CELL,
        "superfluous": replace(CELL, along=(-2, -1)),
        "window": replace(CELL, along=(-4, -3, -2, -1)),
        "either-side": replace(CELL, along=(-1, 1)),
        "free-window": replace(CELL, along=EITHER_SIDE),
        "cell-per-place": replace(CELL, cells=16),
        "wrong-way": replace(CELL, along=(1,)),
        "random": replace(CELL, random=True),
        "learned": learned_wiring(),
    }
    made = {arm: on_columns("ladder", rung) for arm, rung in rungs.items()}
    return made | {"looped": controls(profile)["looped"]}  # full attention, trained once for both


def learned_wiring() -> Lattice:
    return replace(CELL, along=EITHER_SIDE, price=GATE)


def shifts(profile: str) -> Arms:
    """Products: the row before is heard one place lower, which is right, at the same place, or wherever is learned."""
    rungs = {
        "shifted": replace(CELL, across=(-1,)),
        "wrong-shift": replace(CELL, across=(0,)),
        "learned-products": replace(learned_wiring(), across=tuple(range(-4, 5))),
    }
    return {arm: on_products("ladder-products", rung) for arm, rung in rungs.items()}


def ablations(profile: str) -> Arms:
    """Of the first rung of the ladder: data taken away, fewer examples, smaller cells."""
    name = "ablations"
    data: dict[str, Distribution] = {
        "no-nines": UniformLengths(5),
        "held-out-pairs": WithoutPairs(Practice(5)),
        **{f"examples-{n}": FewExamples(Practice(5), n) for n in (100, 300, 1000, 3000, 10_000)},
    }
    sizes = {f"width-{width}": replace(CELL, width=width, feedforward=3 * width) for width in (8, 16, 32, 64, 96)}
    return {arm: on_columns(name, CELL, drawn) for arm, drawn in data.items()} | {
        arm: on_columns(name, cell) for arm, cell in sizes.items()
    }


def wirings(profile: str) -> Arms:
    return {"learned": ladder(profile)["learned"], "learned-products": shifts(profile)["learned-products"]}


def measure_wiring(run: Run) -> list[dict[str, Any]]:
    """How far training has opened each gate, by way and offset."""
    model: Any = load_model(run, run.select("last")[0])
    gates = cast(dict[tuple[str, int], float], model.gates())
    return [
        {"experiment": run.experiment.name, "seed": run.experiment.seed, "way": way, "offset": offset,
         "open": round(value, 3)}
        for (way, offset), value in gates.items()
    ]  # fmt: skip


def draw_wiring(rows: list[dict[str, Any]], folder: Path) -> list[Path]:
    """The gates of every seed over their offsets."""
    panels = list(dict.fromkeys((row["experiment"], row["way"]) for row in rows))
    figure, found = new_figure(3.2 * len(panels), 3.0, len(panels))
    for axes, (experiment, way) in zip(found if len(panels) > 1 else [found], panels, strict=True):
        mine = [row for row in rows if (row["experiment"], row["way"]) == (experiment, way)]
        for number, seed in enumerate(dict.fromkeys(row["seed"] for row in mine)):
            points = {row["offset"]: row["open"] for row in mine if row["seed"] == seed}
            axes.plot(list(points), list(points.values()), lw=0.8, **look(number))
        axes.set_title(f"{experiment}: {'own row' if way == 'along' else 'row before'}", fontsize=9)
        axes.set(xlabel="offset of the place that is heard", ylim=(-0.05, 1.05))
    (found[0] if len(panels) > 1 else found).set_ylabel("gate, one line per seed")
    return [save(figure, folder / "wiring")]


#: Fewer problems where numbers are long: cells that never rest take as many rounds as there are places.
FAR = (
    Check("uniform", (5, 10), 300), Check("uniform", (50,), 300, trained=True),
    Check("uniform", (200,), 100, trained=True), Check("uniform", (1000,), 10, trained=True),
    Check("runs", (5, 10), 100), Check("runs", (50,), 100, trained=True),
    Check("runs", (200,), 30, trained=True), Check("runs", (1000,), 3, trained=True),
)  # fmt: skip
NEAR = tuple(check for check in FAR if 1000 not in (check.lengths or ()))
PRODUCTS = (Check("uniform", (5, 10), 300), Check("uniform", (50,), 300, trained=True))

RECIPES = [
    Recipe("controls", "Sums in columns by models that are not built like an addition: GRU, LSTM, Neural GPU, and a "
           "looped transformer.", controls, checks=FAR, seeds=range(10, 13), checkpoints="last"),
    Recipe("ladder", "Sums by cells of which the structure is taken away rung by rung.", ladder, checks=FAR,
           seeds=range(10, 13), checkpoints="last"),
    Recipe("ladder-products", "Products by cells that hear the row before at the right place, at a wrong one, or where "
           "training finds it.", shifts, checks=PRODUCTS, seeds=range(10, 13), checkpoints="last"),
    Recipe("ablations", "Sums by cells that were shown less, or that are smaller.", ablations, checks=NEAR,
           seeds=range(10, 13), checkpoints="last"),
    Recipe("wiring", "Which gates training leaves open where each has a price.", wirings, checks=(),
           seeds=range(10, 13), analysis="wiring"),
]  # fmt: skip
