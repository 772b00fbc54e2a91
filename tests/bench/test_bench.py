"""Benchmarks run, the references compute what they stand for, and a check tells better from worse."""

import json
from dataclasses import replace

import pytest
import torch

from digitwise.bench import BENCHMARKS, CHECKED, run
from digitwise.bench.measure import Session, peak_megabytes, row, timed
from digitwise.bench.reaching import draw
from digitwise.bench.references import Expanded, columns_floor, encoder_floor
from digitwise.bench.results import read, text, worse, write
from digitwise.bench.scores import SIDES
from digitwise.bench.solving import exponent
from digitwise.bench.step import SMOKE, in_columns, on_canvas
from digitwise.cli import bench as command
from digitwise.cli import main
from digitwise.data import ExactLength
from digitwise.rng import generator
from digitwise.runs.training import Source
from digitwise.tasks import Addition

SMALL = Session(repeats=1, size="smoke", minutes=1e-4)


def test_the_command_names_every_benchmark():
    assert list(BENCHMARKS) == list(command.NAMES) and set(CHECKED) <= set(BENCHMARKS)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_runs_and_is_written_and_read(name, tmp_path):
    result = run(name, SMALL)
    assert result["rows"] and result["threads"] == 1 and set(result["machine"]) == {"processor", "cores", "torch"}
    for line in result["rows"]:
        assert all(
            side["median"] is None or side["median"] > 0 for key, side in line["sides"].items() if key != "extra"
        )
        assert line["ratios"] or name == "growth"
    assert read(write(result, tmp_path)) == json.loads(json.dumps(result))
    assert result["rows"][0]["case"] in text(result)
    assert not worse(result, result)
    if name == "time-to-accuracy":
        assert "not reached" in text(result) and draw(result, tmp_path / "figure.png").stat().st_size > 0


# The references


def test_all_sides_of_scores_agree():
    """With the same table ours and the expanded one are equal; with a table of zeros they equal torch's attention. Ours
    gets its queries scaled, as our projection makes them."""
    task = Addition(4)
    _, coordinates = task.write(task.draw(ExactLength(4), generator(0), 1))
    ours, expanded, plain = (side(coordinates.map(torch.as_tensor), task.extent) for side in SIDES.values())
    given = [torch.randn(2, len(coordinates.position), 768) for _ in range(3)]
    with torch.no_grad():
        expanded.table.copy_(ours.vectors.tables[0])
        torch.testing.assert_close(ours(given[0] / 96**0.5, *given[1:]), expanded(*given))
        expanded.table.zero_()
        torch.testing.assert_close(plain(*given), expanded(*given))
    assert len(list(ours.parameters())) == 1, "projections are part of no side"


def test_the_expanded_encoder_is_ours():
    experiment = replace(on_canvas()["3 layers of 96, canvas 20"], architecture=SMOKE)
    ours, expanded = experiment.build().eval(), replace(experiment, encoding=Expanded()).build().eval()
    ours.load_state_dict(expanded.state_dict())
    batch = Source(experiment).batch(0)
    tokens = torch.as_tensor(batch.tokens)
    assert ours.pairwise()[0].abs().max() > 0
    torch.testing.assert_close(ours(tokens, batch.coordinates), expanded(tokens, batch.coordinates))


def multiplications(products):
    return sum(a.numel() * b.shape[-1] for a, b, _ in products.products)


def test_the_floor_of_an_encoder_has_all_products():
    """Forward once, backward twice: 12 W^2 multiplications per token and layer, and attention."""
    experiment = on_canvas()["4 layers of 128, canvas 20"]
    batch = Source(experiment).batch(0)
    products = encoder_floor(experiment.architecture, batch)
    (problems, tokens), (_, slots) = batch.tokens.shape, batch.targets.shape
    width, readout = 128, 3 * problems * slots * 128 * 11
    per_layer = problems * tokens * (12 * width**2 + 2 * tokens * width)
    assert multiplications(products) == 3 * 4 * per_layer + readout
    products()
    assert all(torch.equal(a @ b, out) for a, b, out in products.products[-1:])


def test_the_floor_of_columns_has_every_cell_once():
    for experiment, rows in zip(in_columns().values(), (1, 3), strict=True):
        batch, size = Source(experiment).batch(0), experiment.architecture
        cells, slots = rows * batch.targets.size, batch.targets.size
        assert multiplications(columns_floor(size, batch)) == 3 * (cells * 11 * size.width**2 + slots * size.width * 11)


# Measuring


def test_ratios_are_of_costs_and_rates_are_shown():
    found = row(
        "a case", "problems a second", {"ours": [1.0, 2.0, 4.0], "other": [2.0, 2.0, 2.0]}, [("ours", "other")], 8
    )
    assert found["sides"]["ours"] == {"median": 4.0, "lowest": 2.0, "highest": 8.0}
    assert found["ratios"] == {"ours / other": 1.0}


def test_sides_take_turns_and_fast_ones_are_called_often():
    called = []
    found = Session(repeats=3).turns("x", {name: lambda name=name: called.append(name) or 1.0 for name in "ab"})
    assert called == list("ababab") and found == {"a": [1.0] * 3, "b": [1.0] * 3}
    assert timed(lambda: called.append("c"), calls=5) >= 0 and called.count("c") == 5


def test_the_peak_of_a_child_is_what_one_call_takes():
    """On canvas 200 the scores of 8 heads are 5 MB per problem, and backward has several tensors of that size."""
    arguments = [["expanded table", canvas, batch] for canvas, batch in ((2, 1), (200, 2))]
    assert 50 < peak_megabytes("digitwise.bench.scores:attention", *arguments, threads=1) < 400


def test_an_exponent_and_its_fit():
    found = exponent([100, 1000, 10_000], [3.0 * n**1.5 for n in (100, 1000, 10_000)])
    assert found == {"ratios": {"exponent": 1.5}, "note": "r² 1.000, 3 points"}


# Checking


def made_up(ratio):
    return {"benchmark": "scores", "rows": [{"case": "canvas 20", "measure": "seconds", "sides": {}, "ratios": ratio}]}


def test_a_ratio_may_be_a_fifth_worse_and_no_more():
    committed = made_up({"ours / other": 1.0})
    assert not worse(made_up({"ours / other": 1.19}), committed)
    assert not worse(made_up({"ours / other": 0.5}), committed)
    (message,) = worse(made_up({"ours / other": 1.21}), committed).values()
    assert message == "scores, canvas 20, seconds: ours / other is 1.21, more than 20% above the committed 1.00"


def test_a_ratio_that_is_gone_is_worse_and_a_new_one_is_not():
    committed = made_up({"ours / other": 1.0})
    assert "not there any more" in str(worse(made_up({"ours / other": None}), committed))
    assert "not there any more" in str(worse(made_up({}), committed))
    assert not worse(committed, made_up({"ours / other": None}))
    assert not worse(committed, made_up({}))
    assert "none can be compared" in str(worse(committed, committed | {"rows": []}))


@pytest.mark.parametrize(("factor", "code"), [(1000.0, 0), (0.001, 1)])
def test_the_check_fails_by_name(factor, code, tmp_path, capsys):
    arguments = ["bench", "data", "--smoke", "--repeats", "1", "--out", str(tmp_path)]
    assert main(arguments) == 0
    committed = read(tmp_path / "data.json")
    for line in committed["rows"]:
        line["ratios"] = {name: ratio * factor for name, ratio in line["ratios"].items()}
    write(committed, tmp_path)
    capsys.readouterr()
    assert main([*arguments, "--check"]) == code
    out = capsys.readouterr().out
    assert ("worse: data, 5 digits on canvas 5" in out) == bool(code)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name what to measure"),
        (["--check", "--out", "nowhere"], "nowhere has no results"),
        (["all", "--out", "x.json"], "name a folder"),
        (["data", "--repeats", "0"], "at least 1"),
        (["data", "--smoke", "--out"], "another folder"),
    ],
)
def test_mistakes(arguments, message, capsys):
    assert main(["bench", *arguments]) == 2
    assert message in capsys.readouterr().err
