"""Experiments by name: what is measured on weights, and the whole lot stopped and started again."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
import torch
from small import SMALL

from digitwise import plots
from digitwise.cli import main
from digitwise.counts import Count, wilson
from digitwise.data import ExactLength, UniformLengths
from digitwise.encodings import Relative, Uniform
from digitwise.models import Model
from digitwise.paper import PROFILES, RECIPES, Check, dependence, maps
from digitwise.paper.claims import CLAIMS
from digitwise.paper.evidence import Evidence
from digitwise.paper.reproduction import ANALYSES, Analysis, Runs, draw, reproduce, side_by_side
from digitwise.paper.trained import train_recipe
from digitwise.plots import COLOURS
from digitwise.rng import generator
from digitwise.runs import experiment as ex
from digitwise.runs import results
from digitwise.runs.evaluation import load_model
from digitwise.runs.folder import Run
from digitwise.runs.results import load_measured
from digitwise.runs.training import train
from digitwise.sweeps import drive
from digitwise.tasks import Kind, Multiplication


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_describes_experiments_that_can_run(name, profile):
    for experiment in RECIPES[name].arms(profile).values():
        experiment.rehearse()


@pytest.fixture(scope="module")
def product_run(tmp_path_factory) -> Run:
    experiment = ex.Experiment(
        name="m2-upe", task=Multiplication(1, 6), data=UniformLengths(3), encoding=Uniform(0.02),
        architecture=SMALL.architecture, training=SMALL.training, testing=ex.Testing((3,), 20, (5,), 10),
    )  # fmt: skip
    run = Run.create(tmp_path_factory.mktemp("maps") / "uniform-seed0", experiment)
    train(run)
    return run


def test_maps_measure_the_change_from_the_very_weights_that_training_began_with(product_run):
    rows = maps.measure_maps(product_run)
    start = maps.by_distance(maps.at_the_start(product_run.experiment), product_run.experiment)
    step = product_run.select("last")[0]
    learned = product_run.load_checkpoint(step)["vectors.tables.1"].numpy()
    assert [row["layer"] for row in rows] == [0, 1]
    assert np.allclose(rows[1]["value"], np.linalg.norm(learned, axis=1), atol=1e-4)
    assert np.allclose(rows[1]["change"], np.linalg.norm(learned - start[1], axis=1), atol=1e-4)
    assert 0 < max(rows[1]["change"]) < 0.2  # twenty small steps from the start, not from zero or another draw


def test_maps_put_the_longest_vector_first(product_run):
    row = maps.measure_maps(product_run)[0]
    by_distance = dict(zip(row["distances"], row["change"], strict=False))
    assert row["longest"][0] == max(by_distance, key=by_distance.get)
    assert len(row["value"]) == len(row["distances"]) + 1  # one uniform vector for the multiplier's digit


def test_maps_keep_the_vectors_of_every_class(product_run):
    rows = maps.measure_maps(product_run)
    learned = maps.by_distance(load_model(product_run, product_run.select("last")[0]), product_run.experiment)
    assert np.array([row["vectors"] for row in rows]).shape == learned.shape
    assert np.allclose([row["vectors"] for row in rows], learned, atol=5.1e-4)
    assert json.loads(json.dumps(rows)) == rows
    assert all(value == round(value, 3) for vector in rows[0]["vectors"] for value in vector)


class OnAnotherDevice(torch.Tensor):
    """Refuses what a tensor on a GPU refuses."""

    def numpy(self, **_):
        raise TypeError("use cpu() first")

    def cpu(self):
        return self.as_subclass(torch.Tensor)


def test_maps_of_a_model_that_evaluation_has_moved(product_run, monkeypatch):
    model = maps.at_the_start(product_run.experiment)
    here = maps.by_distance(model, product_run.experiment)
    moved = [table.detach().as_subclass(OnAnotherDevice) for table in model.vectors.tables]
    monkeypatch.delattr(model.vectors, "tables")
    monkeypatch.setitem(vars(model.vectors), "tables", moved)
    assert (maps.by_distance(model, product_run.experiment) == here).all()


@pytest.mark.parametrize(("norms", "number"), [([0, 3, 0], 1), ([1, 1, 1, 1], 4), ([0, 0], 0)])
def test_effective_number(norms, number):
    assert maps.effective_number(np.array(norms, dtype=float)) == pytest.approx(number)


@pytest.mark.parametrize("place", [0, 3])
def test_a_changed_digit_is_another_digit_and_a_lead_stays_a_lead(place):
    operands = SMALL.task.draw(ExactLength(4), generator(0, "t"), 500)
    (before, other), (first, second) = (
        problems.numbers.swapaxes(0, 1)
        for problems in (operands, dependence.changed(operands, 1, place, generator(1, "t")))
    )
    assert (first == before).all()
    assert (second[:, place] != other[:, place]).all()
    assert (np.delete(second, place, 1) == np.delete(other, place, 1)).all()
    assert second.max() == 9 and (place == 0 or second[:, place].min() == 1)


class Adder(Model):
    """Answers right: what it depends on is what the task demands."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(()))

    def forward(self, tokens, coordinates):
        canvas = SMALL.task.canvas
        digits = torch.where(tokens > 9, 0, tokens).numpy()
        operands = digits[:, :canvas][:, ::-1], digits[:, canvas + 1 :][:, ::-1]
        targets = SMALL.task.targets(SMALL.task.pose(Kind("+"), [np.ascontiguousarray(o, np.uint8) for o in operands]))
        return torch.nn.functional.one_hot(torch.as_tensor(targets).long(), 11).float()


def test_dependence_of_a_right_model_is_what_the_task_demands():
    measured, true = dependence.on_digits(Adder(), SMALL, 4, count=300)
    assert (measured == true).all()
    for place in range(4):
        assert true[0, place, place] == 1  # its own column always
        assert not true[0, place, :place].any()  # never a column above
    assert 0.2 < true[1, 0, 1] < 0.6 and true[1, 0, 3] < 0.05  # a carry often goes one column, seldom three


def test_only_what_is_new_is_measured_and_all_is_drawn(tmp_path, monkeypatch):
    """Runs that were measured stay, although their weights may be gone."""
    reproduce("fixed-map", "smoke", seeds=[0], root=tmp_path)
    measured, drawn = [], []
    monkeypatch.setitem(
        ANALYSES, "fixed-map",
        Analysis(lambda rows, folder: drawn.extend(rows) or [], lambda run: measured.append(run) or [{"seed": 1}]),
    )  # fmt: skip
    found = reproduce("fixed-map", "smoke", seeds=[0, 1], root=tmp_path)
    assert [run.experiment.seed for run in measured] == [1]
    assert {row["seed"] for row in found["rows"]} == {row["seed"] for row in drawn} == {0, 1}
    assert {row["seed"] for row in reproduce("fixed-map", "smoke", seeds=[1], root=tmp_path)["rows"]} == {1}
    assert len({row["run"] for row in load_measured(tmp_path / "fixed-map")}) == 2


def test_fixed_map_from_training_to_figure_and_not_twice(tmp_path, monkeypatch):
    first = reproduce("fixed-map", "smoke", root=tmp_path)
    assert [path.rpartition("/")[2] for path in first["figures"]] == ["fixed-map.png"]
    assert {row["length"] for row in first["rows"]} == set(dependence.LENGTHS)
    monkeypatch.setattr(dependence, "on_digits", None)  # would raise if it were called again
    assert reproduce("fixed-map", "smoke", root=tmp_path)["rows"] == first["rows"]


@pytest.mark.parametrize("profile", PROFILES)
def test_maps_are_measured_on_the_seeds_that_the_recipes_of_their_models_report(profile):
    for arm, experiment in RECIPES["maps"].arms(profile).items():
        assert RECIPES["maps"].seeds_in(profile, arm) == RECIPES[experiment.name].seeds_in(profile)


def test_arms_are_trained_with_seeds_of_their_own_in_turn(tmp_path, monkeypatch):
    trained = []
    monkeypatch.setattr(drive, "run", lambda jobs, *_: trained.extend(job.name for job in jobs) or {})
    monkeypatch.setattr(Run, "open", lambda folder: folder)
    runs = train_recipe(replace(RECIPES["maps"], own_seeds={"relative": (3, 4)}), "cpu", None, tmp_path)
    assert trained == [
        "m1-rpe/relative-seed3", "m2-upe/uniform-seed0", "m1-rpe-3/relative-3-seed0", "m2-upe-3/uniform-3-seed0",
        "m1-rpe/relative-seed4",
    ]  # fmt: skip
    assert [folder.name for folder in runs["relative"]] == ["relative-seed3", "relative-seed4"]
    assert {len(group) for group in train_recipe(RECIPES["maps"], "cpu", [5, 6], tmp_path).values()} == {2}


def test_relative_maps_have_no_uniform_part(tmp_path):
    run = Run.create(tmp_path / "r", replace(SMALL, encoding=Relative()))
    train(run)
    assert {len(row["value"]) for row in maps.measure_maps(run)} == {2 * SMALL.task.extent.positions - 1}


def test_distances_that_share_a_vector_are_all_measured(product_run, tmp_path):
    run = Run.create(tmp_path / "r", replace(product_run.experiment, encoding=Uniform(0.02, reach=2)))
    train(run)
    row, everything = maps.measure_maps(run)[0], maps.measure_maps(product_run)[0]
    assert row["distances"] == everything["distances"] and len(row["value"]) == len(everything["value"])
    vectors = dict(zip(row["distances"], row["vectors"], strict=False))
    assert vectors[-7] == vectors[-3] == vectors[-2] != vectors[-1]
    assert vectors[7] == vectors[2] != vectors[-2] and row["vectors"][-1] not in vectors.values()


@pytest.fixture(scope="module")
def two_seeds(tmp_path_factory) -> Runs:
    """Two seeds of one arm, with counts of cascades that are made up."""
    root, group = tmp_path_factory.mktemp("two"), []
    for seed in range(2):
        run = Run.create(root / f"relative-seed{seed}", replace(SMALL, seed=seed))
        run.log(step=20, validation=1.0)
        run.add_counts(
            Count("cascade", 1, 5, f"cascade {n}", "", 0, 20, 100, right)
            for n, right in enumerate(((90, 80), (50, 40))[seed])
        )
        group.append(run)
    return {"relative": group}


def test_tables_show_the_median_and_the_worst_seed(two_seeds):
    one_row, _ = side_by_side(two_seeds, RECIPES["c2"], "last")
    assert one_row == {
        "suite": "cascade", "digits": 5, "stratum": "cascade 0", "problems per seed": 100, "relative": 0.7,
        "relative worst": 0.5, "relative 95%": [round(wilson(50, 100)[0], 4), round(wilson(90, 100)[1], 4)],
    }  # fmt: skip


def test_a_table_of_one_seed_needs_no_worst(two_seeds):
    one_row, _ = side_by_side({"relative": two_seeds["relative"][:1]}, RECIPES["c2"], "last")
    assert one_row == {
        "suite": "cascade", "digits": 5, "stratum": "cascade 0", "problems": 100, "relative": 0.9,
        "relative 95%": [round(bound, 4) for bound in wilson(90, 100)],
    }  # fmt: skip


def test_strata_are_drawn_over_the_numbers_in_their_names(two_seeds, tmp_path, monkeypatch):
    drawn = {}
    monkeypatch.setattr(results, "draw", lambda curves, path, title, **more: drawn.update({path.name: (curves, title)}))
    draw(two_seeds, replace(RECIPES["c2"], checks=(Check("uniform"), Check("cascade"))), tmp_path)
    (curve,), title = drawn["cascade"]
    assert curve.label == "cascade" and {x: found.values for x, found in curve.points.items()} == {
        0: [0.9, 0.5], 1: [0.8, 0.4],
    }  # fmt: skip
    assert title.startswith("Addition, relative positions\n") and "c2" not in title
    assert plots.how_many([curve]) == "100 problems per point and seed, 2 seeds"  # `draw` adds it to the title


@pytest.mark.parametrize("name", ["complexity", "theory"])
def test_figures_without_a_run_are_reproduced(name, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["figure", name]) == 2
    assert f"digitwise reproduce {name}" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_everything_by_name_survives_being_stopped(tmp_path):
    command = [sys.executable, "-m", "digitwise", "reproduce", "--all", "--profile", "smoke", "--json"]
    process = subprocess.Popen([*command, "--out", tmp_path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not list(tmp_path.glob("*/*/metrics.jsonl")) and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 130
    done = subprocess.run([*command, "--out", tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert {result["recipe"] for result in json.loads(done.stdout)} == set(RECIPES)
    assert all(list((tmp_path / name).glob("*.png")) for name in RECIPES)
    for claim in CLAIMS:
        found = claim.verdict(Evidence(tmp_path, "smoke"))
        assert found["verdict"] != "not run", (claim.name, found["why"])


def curve(label: str, *correct: int, family: str = "") -> results.Curve:
    counts = [Count("uniform", 1, 5 * (n + 1), "", "", 0, 20, 1000, right) for n, right in enumerate(correct)]
    return replace(results.by_length(label, counts), family=family)


@pytest.fixture
def axes(monkeypatch):
    """The axes of the last figure that was drawn, instead of a file."""
    kept = []
    monkeypatch.setattr(plots, "save", lambda figure, path: kept.append(figure.axes[0]))
    return kept


def test_curves_that_are_flat_at_one_are_drawn_by_their_errors(axes, tmp_path):
    results.draw([curve("good", 1000, 998), curve("better", 1000, 1000)], tmp_path / "x.png", trained=5)
    (drawn,) = axes
    assert drawn.get_yscale() == "log" and "wrong" in drawn.get_ylabel()
    lines = {line.get_label(): line.get_ydata() for line in drawn.lines}
    assert lines["resolution: one wrong answer per seed"] == pytest.approx([0.001, 0.001])
    assert lines["good"][1] == pytest.approx(0.002) and lines["good"][0] < 0.001
    assert lines["better"][1] not in (0, lines["good"][0])  # coinciding curves stay apart


def test_curves_that_fall_are_drawn_by_exact_match(axes, tmp_path):
    results.draw([curve("falls", 1000, 300)], tmp_path / "x.png")
    assert axes[0].get_yscale() == "linear" and axes[0].get_ylabel() == "exact match"


def test_curves_of_a_family_share_a_colour_and_differ_in_style(axes, tmp_path):
    curves = [curve(f"{arm} {kind}", 900, 100, family=arm) for arm in "ab" for kind in ("with", "without")]
    results.draw(curves, tmp_path / "x.png")
    lines = [line for line in axes[0].lines if line.get_label() in {c.label for c in curves}]
    assert [line.get_color() for line in lines] == [COLOURS[0]] * 2 + [COLOURS[1]] * 2
    assert [line.get_linestyle() for line in lines] == ["-", "--"] * 2
    results.draw(curves[:2], tmp_path / "x.png")
    assert len({line.get_color() for line in axes[1].lines}) == 2  # of one family alone each has its own colour


@pytest.mark.parametrize("ending", ["png", "svg", "pdf", ""])
def test_figures_are_written_in_the_format_of_their_names(ending, tmp_path):
    path = results.draw([curve("a", 900, 100)], tmp_path / f"figure{'.' * bool(ending)}{ending}")
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF", "": b"\x89PNG"}[ending]
    assert path.suffix == f".{ending or 'png'}" and path.read_bytes().startswith(start)
    first = path.read_bytes()
    assert results.draw([curve("a", 900, 100)], path).read_bytes() == first


def test_other_formats_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"\.png, \.svg or \.pdf, not in '\.xyz'"):
        results.draw([curve("a", 900, 100)], tmp_path / "figure.xyz")


def test_maps_from_training_to_figures(tmp_path):
    found = reproduce("maps", "smoke", root=tmp_path)
    models = ("m1-rpe", "m1-rpe-3", "m2-upe", "m2-upe-3")
    names = sorted(f"{model}{what}.png" for model in models for what in ("", "-vectors"))
    assert sorted(path.rpartition("/")[2] for path in found["figures"]) == names
    assert found["seeds"] == [0] and all("vectors" not in row for row in found["rows"])  # too long to be printed
    kept = load_measured(tmp_path / "maps")
    assert all(len(row["vectors"]) == len(row["value"]) for row in kept)


@pytest.fixture
def drawn_figures(monkeypatch):
    """The figures that were drawn by name, instead of files."""
    kept = {}
    monkeypatch.setattr(maps, "save", lambda figure, path: kept.update({path.name: figure}))
    return kept


def some_vectors(seed: int, layer: int, uniform: int = 0) -> dict:
    values = np.linspace(-2, 1, 4 * (5 + uniform)).reshape(-1, 4)
    norms = np.linalg.norm(values, axis=1).tolist()
    return {"recipe": "m1-rpe", "seed": seed, "layer": layer, "distances": [-2, -1, 0, 1, 2],
            "value": norms, "change": norms, "vectors": values.tolist()}  # fmt: skip


def test_rows_that_were_measured_before_vectors_were_kept_draw_norms(drawn_figures, tmp_path):
    kept, before = (some_vectors(seed, 0) for seed in range(2))
    del before["vectors"]
    maps.draw_maps([before], tmp_path)
    assert set(drawn_figures) == {"m1-rpe"}
    maps.draw_maps([kept, before], tmp_path)
    assert "2 seeds" in drawn_figures["m1-rpe"].get_suptitle()
    assert "1 seed," in drawn_figures["m1-rpe-vectors"].get_suptitle()


@pytest.mark.parametrize("seeds", [1, 2])
@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("uniform", [0, 2])
def test_heat_maps_show_distance_by_coordinate_on_one_scale(seeds, layers, uniform, drawn_figures, tmp_path):
    rows = [some_vectors(seed, layer, uniform) for seed in range(seeds) for layer in range(layers)]
    maps.draw_maps(rows, tmp_path)
    figure = drawn_figures["m1-rpe-vectors"]
    *panels, bar = figure.axes
    assert len(panels) == seeds * layers and bar.get_ylabel() == "value"
    assert f"{seeds} seed" in figure.get_suptitle()
    for panel in panels:
        distant, *apart = panel.images
        assert distant.get_clim() == (-2, 2)
        assert (distant.get_array() == np.array(rows[0]["vectors"])[:5].T).all()
        assert distant.get_extent() == [-2.5, 2.5, 0.5, 4.5]
        assert [image.get_extent()[:2] for image in apart] == [[4.5, 6.5]] * (uniform > 0)
        assert all(-2 <= tick <= 2 for tick in panel.get_xticks())
        assert panel.get_xlim() == (-2.5, 6.5 if uniform else 2.5)


def test_vectors_that_are_all_zero_are_drawn(drawn_figures, tmp_path):
    maps.draw_maps([some_vectors(0, 0) | {"vectors": np.zeros((5, 4)).tolist()}], tmp_path)
    assert drawn_figures["m1-rpe-vectors"].axes[0].images[0].get_clim() == (-1, 1)


def test_maps_that_start_at_zero_are_one_line(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(maps, "save", lambda figure, path: drawn.append(figure.axes[0].get_legend_handles_labels()[1]))
    row = {"recipe": "m1-rpe", "seed": 0, "layer": 0, "distances": [-1, 0, 1], "value": [1, 2, 3], "change": [1, 2, 3]}
    maps.draw_maps([row], tmp_path)
    maps.draw_maps([row | {"change": [0, 1, 2]}], tmp_path)
    assert len(drawn[0]) == 2 and "start at zero" in drawn[0][1]
    assert drawn[1][1:] == ["length", "change from the start"]


def test_the_table_of_shifted_copies_has_the_papers_rows(tmp_path):
    result = reproduce("a3", "smoke", [0], tmp_path)
    cases = [row["test case"] for row in result["by place"]]
    assert cases[:3] == ["shifted copies", "uniform values below 10^10", "place 1, the ones"] and len(cases) == 8
    run = Run.open(next((tmp_path / "a3").glob("absolute*")))
    (upper,) = (c for c in run.counts() if c.group == "places above 5" and c.checkpoint in run.select("last"))
    assert result["by place"][-1]["median"] == round(100 * upper.accuracy, 1)
    assert reproduce("canvas20", "smoke", [0], tmp_path)["by place"] == []
