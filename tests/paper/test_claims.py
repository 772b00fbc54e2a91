"""Verdicts from counts, on counts that are made up."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from paper.worlds import WORLDS, Cell, Measured, World

from digitwise.cli import main, parser
from digitwise.counts import Count, OverSeeds
from digitwise.paper import RECIPES, arms
from digitwise.paper.claims import CLAIMS
from digitwise.paper.evidence import (
    FAILS,
    HOLDS,
    INCONCLUSIVE,
    NOT_RUN,
    Evidence,
    above,
    all_of,
    at_least,
    at_most,
    most_of,
    within,
)
from digitwise.runs.folder import Run
from digitwise.runs.places import home
from digitwise.runs.results import save_measured

TRIED = 1000
SEEDS = range(3)


def of(correct: int, tried: int) -> OverSeeds:
    return seeds(correct, tried=tried)


def seeds(*correct: int, tried: int = 1000, method: str = "a") -> OverSeeds:
    return OverSeeds(
        method,
        {seed: Count("uniform", 1, 5, "", "", 0, 10, tried, right) for seed, right in enumerate(correct)},
    )


def test_bounds_need_the_whole_interval():
    assert at_least(of(1000, 1000), 0.99) == HOLDS
    assert at_least(of(99, 100), 0.99) == INCONCLUSIVE
    assert at_least(of(900, 1000), 0.99) == FAILS
    assert at_most(of(0, 1000), 0.02) == HOLDS
    assert at_most(of(2, 100), 0.02) == INCONCLUSIVE
    assert at_most(of(100, 1000), 0.02) == FAILS


def test_differences():
    assert above(of(900, 1000), of(700, 1000), 0.1) == HOLDS
    assert above(of(90, 100), of(70, 100), 0.1) == INCONCLUSIVE
    assert above(of(700, 1000), of(900, 1000)) == FAILS
    assert within(of(940, 1000), of(950, 1000), 0.05) == HOLDS
    assert within(of(94, 100), of(95, 100), 0.05) == INCONCLUSIVE
    assert within(of(700, 1000), of(950, 1000), 0.05) == FAILS


def test_every_seed_must_meet_a_bound():
    assert at_least(seeds(990, 995, 985), 0.95) == HOLDS
    assert at_least(seeds(990, 995, 950), 0.95) == INCONCLUSIVE
    assert at_least(seeds(900, 910, 920), 0.95) == FAILS


def test_methods_are_compared_by_every_pair_of_seeds_and_one_method_seed_by_seed():
    few, many = seeds(500, 900, method="a"), seeds(600, 980, method="a")
    assert above(many, few) == HOLDS
    assert above(replace(many, method="b"), few) == INCONCLUSIVE  # 600 of the one, 900 of the other
    assert above(seeds(910, 980, method="b"), seeds(500, 700, 800)) == HOLDS


@pytest.mark.parametrize(
    ("verdicts", "total"),
    [((HOLDS, HOLDS), HOLDS), ((HOLDS, INCONCLUSIVE), INCONCLUSIVE), ((FAILS, INCONCLUSIVE), FAILS)],
)
def test_all_of(verdicts, total):
    assert all_of(*verdicts) == total


@pytest.mark.parametrize(
    ("verdicts", "total"),
    [
        ((HOLDS, HOLDS, FAILS), HOLDS),
        ((HOLDS, HOLDS, FAILS, INCONCLUSIVE), INCONCLUSIVE),
        ((HOLDS, HOLDS, FAILS, FAILS), FAILS),
    ],
)
def test_most_of(verdicts, total):
    assert most_of(*verdicts) == total


def test_without_results_nothing_is_claimed(tmp_path):
    for claim in CLAIMS:
        found = claim.verdict(Evidence(tmp_path))
        assert found["verdict"] == NOT_RUN and "has not been run" in found["why"]
        assert set(claim.recipes) <= set(RECIPES)


@pytest.fixture(scope="module")
def empty_runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[tuple[str, int], Run]]:
    """Finished runs without counts, three seeds of every arm that a claim asks for: by folder and seed."""
    root, runs = tmp_path_factory.mktemp("results"), {}
    for name in dict.fromkeys(recipe for claim in CLAIMS for recipe in claim.recipes):
        for arm, experiment in arms(name).items():
            for seed in SEEDS if f"{experiment.name}/{arm}" not in {folder for folder, _ in runs} else ():
                seeded = replace(experiment, seed=seed)
                run = Run.create(home(root, arm, seeded), seeded)
                run.log(step=experiment.training.steps // 2, validation=0.1)
                run.log(step=experiment.training.steps, validation=0.9)
                runs[f"{experiment.name}/{arm}", seed] = run
    return root, runs


@pytest.fixture
def results(empty_runs: tuple[Path, dict[tuple[str, int], Run]]) -> Iterator["Results"]:
    found = Results(*empty_runs)
    yield found
    found.clear()


class Results:
    def __init__(self, root: Path, runs: dict[tuple[str, int], Run]):
        self.root, self.runs = root, runs

    def write(self, world: World) -> None:
        for part in world:
            if isinstance(part, Measured):
                save_measured(self.root / part.recipe, part.rows)
            else:
                self.write_cell(part)

    def write_cell(self, cell: Cell) -> None:
        chosen = arms(cell.recipe)
        arm = cell.arm or next(iter(chosen))
        for seed, share in enumerate(cell.shares):
            step, right = chosen[arm].training.steps, round(share * TRIED)
            count = Count(cell.suite, 1, cell.length, cell.stratum, cell.group, 0, step, TRIED, right)
            self.runs[f"{chosen[arm].name}/{arm}", seed].add_counts([count])

    def clear(self) -> None:
        for name in ("counts.json", "measured.json"):
            for path in self.root.rglob(name):
                path.unlink()


@pytest.mark.parametrize("wanted", [HOLDS, FAILS, INCONCLUSIVE])
@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_every_claim_can_hold_and_fail_and_stay_open(claim, wanted, results):
    results.write(WORLDS[claim.name][wanted])
    assert claim.verdict(Evidence(results.root))["verdict"] == wanted


def test_a_verdict_shows_every_seed_and_marks_a_single_one(results, capsys):
    results.write(WORLDS["F1"][INCONCLUSIVE] + WORLDS["F3-cascades"][HOLDS])
    assert main(["claims", "--out", str(results.root), "--json"]) == 0
    found = {row["claim"]: row for row in json.loads(capsys.readouterr().out)}
    multiplication = found["F1"]["measured"][1]
    assert [seed["value"] for seed in multiplication["seeds"].values()] == [0.912, 0.956, 0.972]
    assert multiplication["median"] == 0.956 and multiplication["problems per seed"] == TRIED
    low, high = multiplication["interval"]
    assert low == multiplication["seeds"]["0"]["interval"][0] < 0.912 and high > 0.972
    assert found["F3-cascades"]["one seed"] and not found["F1"]["one seed"]
    assert main(["claims", "--out", str(results.root)]) == 0
    printed = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "holds, one seed " in printed["F3-cascades"] and "one seed" not in printed["F1"]


def test_models_are_compared_where_they_first_reach_the_level_of_the_weakest(results):
    results.write(WORLDS["M2-large"][HOLDS])
    early = arms("m1-rpe-3")["relative-3"].training.steps // 2
    run = results.runs["m1-rpe-3/relative-3", 0]
    run.add_counts(Count("uniform", 1, length, "", "", 0, early, TRIED, 900) for length in (5, 8))
    found = {claim.name: claim for claim in CLAIMS}["M2-large"].verdict(Evidence(results.root))
    last = {name: f"step {next(iter(arms(name).values())).training.steps}" for name in ("m2-upe-3", "m2-upe", "m1-rpe")}
    shown = [row["what"].rpartition(", ")[2] for row in found["measured"]]
    assert shown == [last["m2-upe-3"], f"step {early}"] * 2 + [last["m2-upe"], last["m1-rpe"]] * 2


def test_models_of_unequal_accuracy_are_not_compared(results):
    results.write([*WORLDS["M3"][HOLDS][2:], Cell("m2-upe-3", 5, [0.97]), Cell("m2-upe-3", 8, [0.97])])
    assert {claim.name: claim for claim in CLAIMS}["M3"].verdict(Evidence(results.root))["verdict"] == INCONCLUSIVE


def test_every_file_is_read_once(results, monkeypatch):
    for worlds in WORLDS.values():
        results.write(worlds[HOLDS])
    read, read_text = [], Path.read_text

    def remember(path: Path, *rest: str, **more: str) -> str:
        read.append(path)
        return read_text(path, *rest, **more)

    monkeypatch.setattr(Path, "read_text", remember)
    CLAIMS.verdicts(results.root)
    assert len(read) > 50 and len(set(read)) == len(read)


def test_claims_judge_where_reproduce_writes(results, tmp_path, monkeypatch, capsys):
    options = [parser().parse_args([command]).out for command in ("claims", "reproduce")]
    assert options == [Path("runs"), Path("runs")]
    monkeypatch.chdir(tmp_path)
    assert main(["claims"]) == 2
    error = capsys.readouterr().err
    assert "no folder runs" in error and "--out results/cpu" in error
    Path("runs").mkdir()
    assert main(["claims"]) == 2
    assert "runs has no results" in capsys.readouterr().err
    with pytest.raises(ValueError, match="no folder nowhere"):
        CLAIMS.verdicts(Path("nowhere"))


def test_a_verdict_in_print_has_the_papers_sentence_and_the_numbers(results, capsys):
    results.write(WORLDS["F1"][INCONCLUSIVE])
    assert main(["claims", "--out", str(results.root)]) == 0
    printed = capsys.readouterr().out
    assert "Encodings that state the symmetry" in printed and "scaled: a2 at least 0.95" in printed
    assert "m2-upe, 10 digits, best: 0.956 [" in printed and "seeds 0.912, 0.956, 0.972" in printed
    assert f"judged by {results.root}, profile cpu: 1 of" in printed
    assert main(["claims", "--out", str(results.root), "--json"]) == 0
    assert {row["folder"] for row in json.loads(capsys.readouterr().out)} == {str(results.root)}


def test_results_of_another_profile_are_not_judged(results, capsys):
    results.write(WORLDS["F1"][HOLDS])
    assert main(["claims", "--out", str(results.root), "--profile", "smoke"]) == 2
    assert "no results of the smoke profile" in capsys.readouterr().err


def test_what_was_measured_on_models_trained_otherwise_does_not_count(tmp_path):
    experiment = replace(arms("fixed-map", "smoke")["relative"], seed=3)
    Run.create(tmp_path / "canvas50" / "relative-seed3", experiment)
    save_measured(tmp_path / "fixed-map", [{"run": "canvas50/relative-seed3", "seed": 3}])
    assert len(Evidence(tmp_path, "smoke").rows("fixed-map")) == 1
    assert Evidence(tmp_path, "cpu").rows("fixed-map") == []
