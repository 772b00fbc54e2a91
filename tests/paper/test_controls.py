"""The recipes of controls and of the ladder: what they have in common, and gates that are measured."""

from dataclasses import replace

from digitwise.models import Lattice
from digitwise.paper import RECIPES
from digitwise.paper.controls import CELL, EITHER_SIDE, FAR
from digitwise.paper.recipes import Check
from digitwise.paper.reproduction import check, reproduce
from digitwise.runs.folder import open_or_create
from digitwise.runs.training import train


def test_only_the_model_differs_within_controls_and_within_the_ladder():
    for name in ("controls", "ladder", "ladder-products"):
        arms = RECIPES[name].arms("cpu")
        assert len({replace(experiment, architecture=Lattice(), name=name) for experiment in arms.values()}) == 1
        assert len({experiment.architecture for experiment in arms.values()}) == len(arms)
    sizes = [
        sum(weight.numel() for weight in experiment.build().parameters())
        for experiment in RECIPES["controls"].arms("cpu").values()
    ]
    assert max(sizes) < 1.3 * min(sizes)  # about as many parameters


def test_all_lengths_and_both_ways_into_a_run_of_nines_are_tested():
    tested = {(check.suite, length) for check in FAR for length in check.lengths}
    assert {(suite, n) for suite in ("uniform", "runs") for n in (5, 10, 50, 200, 1000)} == tested
    assert all(length <= 10 for check in RECIPES["ladder"].checks_in("smoke") for length in check.lengths)


def test_gates_of_learned_wiring_are_measured(tmp_path):
    found = reproduce("wiring", "smoke", root=tmp_path)
    gates = {(row["experiment"], row["way"], row["offset"]): row["open"] for row in found["rows"]}
    assert {offset for name, way, offset in gates if (name, way) == ("ladder", "along")} == set(EITHER_SIDE)
    assert len([key for key in gates if key[:2] == ("ladder-products", "across")]) == 9
    assert all(0 <= value <= 1 for value in gates.values())
    assert (tmp_path / "wiring" / "wiring.png").stat().st_size > 10_000
    assert CELL.along == (-1,)  # what the learned wiring is to be compared with


def test_where_no_shorter_sum_is_right_one_longer_problem_is_enough(tmp_path):
    recipe = RECIPES["controls"]
    run = open_or_create(tmp_path / "run", recipe.arms("smoke")["gru"])
    train(run)
    far = (Check("uniform", (5,), 7), Check("uniform", (20,), 7, trained=True), Check("uniform", (30,), 7))
    check(replace(recipe, checks=far), "cpu", [run])
    found = {count.length: (count.correct, count.tried) for count in run.counts()}
    assert found == {5: (0, 7), 20: (0, 1), 30: (0, 7)}  # an untrained network has nothing right
