"""Median, worst and interval over seeds by hand, the names of strata, and how seeds are drawn."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small import SMALL

from digitwise import plots
from digitwise.counts import Case, Chains, Count, Numbered, OverSeeds, square_and_add, wilson
from digitwise.runs import results
from digitwise.runs.folder import Run
from digitwise.runs.results import over_seeds

COMMITTED = Path(__file__).parents[2] / "results" / "cpu"


@pytest.fixture
def runs(tmp_path):
    found = []
    for seed, right in enumerate((90, 100, 97)):
        run = Run.create(tmp_path / f"seed{seed}", replace(SMALL, seed=seed))
        run.log(step=10, validation=1.0)
        run.log(step=20, validation=0.5)
        cell = Count("uniform", 1, 5, "", "", 0, 20, tried=100, correct=right)
        others = [
            replace(cell, checkpoint=10, correct=1),  # an earlier checkpoint
            replace(cell, group="place 0", correct=2),  # a part of the cell
            replace(cell, suite="edges", stratum="zero", tried=3, correct=3),
            replace(cell, suite="edges", stratum="equal", tried=2, correct=1 + (seed == 0)),
        ]
        run.add_counts([cell, *others])
        found.append(run)
    return found


def test_the_middle_and_the_worst_seed_of_the_last_checkpoint(runs):
    edges, uniform = over_seeds(runs)
    assert (uniform["median"], uniform["worst"], uniform["seeds"], uniform["problems per seed"]) == (0.97, 0.9, 3, 100)
    assert uniform["all seeds 95%"][0] < 287 / 300 < uniform["all seeds 95%"][1]
    assert (edges["median"], edges["worst"], edges["problems per seed"]) == (0.8, 0.8, 5)


def test_one_seed_can_be_added_at_a_time(runs):
    assert [row["seeds"] for row in over_seeds(runs[:1])] == [1, 1]
    assert [row["median"] for row in over_seeds(runs[:2])] == [0.9, 0.95]


def test_the_interval_over_seeds_holds_every_seed_and_one_seed_has_its_own(runs):
    uniform = over_seeds(runs)[1]
    assert uniform["all seeds 95%"] == [round(wilson(90, 100)[0], 4), 1.0]
    assert over_seeds(runs[:1])[1]["all seeds 95%"] == [round(bound, 4) for bound in wilson(90, 100)]


def seeds(*correct: int, tried: int = 1000, method: str = "a") -> OverSeeds:
    counts = {seed: Count("uniform", 1, 5, "", "", 0, 20, tried, right) for seed, right in enumerate(correct)}
    return OverSeeds(method, counts)


def test_below_ten_seeds_the_interval_is_the_hull_of_their_own():
    found = seeds(912, 956, 972)  # all three lie outside the interval of their sums
    assert found.interval == pytest.approx((wilson(912, 1000)[0], wilson(972, 1000)[1]))
    assert not wilson(912 + 956 + 972, 3000)[0] < 0.912


def test_from_ten_seeds_on_the_interval_is_that_of_their_mean():
    spread = [500, 900] * 6
    low, high = seeds(*spread).interval
    expected = 1.96 * np.std(spread) / 1000 / np.sqrt(12)
    assert low == pytest.approx(0.7 - expected, abs=0.01) and high == pytest.approx(0.7 + expected, abs=0.01)
    assert (low, high) == seeds(*spread).interval  # no chance in it
    difference = (seeds(*spread, method="b") - seeds(*[400] * 12)).interval
    assert difference[0] < 0.3 < difference[1] and difference[1] - difference[0] < 0.3
    paired = (seeds(*spread) - seeds(*(right - 100 for right in spread))).interval
    assert paired[0] > 0.05 and paired[1] < 0.15  # the same networks: their spread cancels


def test_many_seeds_that_are_all_right_keep_the_width_of_their_problems():
    assert seeds(*[50] * 10, tried=50).interval == pytest.approx(wilson(50, 50))


def test_a_weighted_sum_of_counts_has_newcombes_interval():
    """Newcombe 1998, table II, method 10: 56/70 and 48/80, of which no count is near an end."""
    first, second = (Count("uniform", 1, 5, "", "", 0, 20, tried, right) for tried, right in ((70, 56), (80, 48)))
    assert square_and_add([(1.0, first), (-1.0, second)]) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    assert square_and_add([(2.0, 3.0), (-1.0, 1.0)]) == (5.0, 5.0)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("cascade 3", Numbered("cascade", 3)),
        ("run 8 with carry", Numbered("run", 8, "with carry")),
        ("places above 5", Numbered("places above", 5)),
        ("2/3", Chains(2, 3)),
        ("2 summands: zero", Case("2 summands", "zero")),
        ("nines + 1", Case("", "nines + 1")),
    ],
)
def test_names_are_built_and_read_in_one_place(name, parts):
    assert str(parts) == f"{parts}" == name and type(parts).parse(name) == parts


def test_a_name_without_a_number_is_refused():
    with pytest.raises(ValueError, match="'sentences' is not a name with a number"):
        Numbered.parse("sentences")


def test_the_names_in_committed_results_stay_as_they_are():
    kinds = {"cascade": Numbered, "consecutive": Numbered, "nines": Numbered, "edges": Case}
    groups = {"places": Numbered, "strata": Chains}
    seen = set()
    for path in COMMITTED.rglob("counts.json"):
        for row in json.loads(path.read_text()):
            for name, parts in ((row["stratum"], kinds), (row["group"], groups)):
                if name and row["suite"] in parts:
                    assert str(parts[row["suite"]].parse(name)) == name
                    seen.add(row["suite"])
    assert seen == {*kinds, *groups}


def test_seeds_are_thin_lines_under_their_median_and_one_seed_has_a_band(tmp_path, monkeypatch):
    drawn = []
    save = plots.save
    monkeypatch.setattr(plots, "save", lambda figure, path: drawn.append(figure) or save(figure, path))
    counts = [[Count("uniform", 1, n, "", "", 0, 20, 100, right + n) for n in (1, 2)] for right in (90, 50, 70)]
    for several in (counts, counts[:1]):
        results.draw([results.by_length("a", *several)], tmp_path / "a.png", "title", trained=1)
    many, one = (figure.axes[0] for figure in drawn)
    assert [line.get_ydata().tolist() for line in many.lines] == [
        [0.91, 0.92],
        [0.51, 0.52],
        [0.71, 0.72],
        [0.71, 0.72],
    ]
    assert many.lines[0].get_linewidth() < many.lines[-1].get_linewidth() and not many.collections
    assert len(one.lines) == len(one.collections) == 1
    assert one.get_legend() is None and drawn[0].legends  # beside the axes, not on the data


def test_curves_can_be_told_apart_without_colour():
    """By line and marker in black and white; colours that are meant to differ do so in brightness or in hue."""
    looks = [plots.look(number) for number in range(8)]
    assert len({(one["ls"], one["marker"]) for one in looks}) == 8 and len({one["color"] for one in looks}) == 8
    members = [plots.look(0, member) for member in range(4)]
    assert len({one["ls"] for one in members}) == 4 and len({one["color"] for one in members}) == 1


def test_seeds_are_one_curve_and_labels_say_what_was_trained(tmp_path):
    from digitwise.data import SUITES
    from digitwise.encodings import Absolute

    trained = []
    for number, experiment in enumerate(
        [*(replace(SMALL, seed=seed) for seed in range(3)), replace(SMALL, encoding=Absolute())]
    ):
        trained.append(Run.create(tmp_path / f"folder{number}", experiment))
        trained[-1].log(step=20, validation=0.5)
        trained[-1].add_counts([Count("uniform", 1, n, "", "", 0, 20, 100, 20 * n - number) for n in (1, 3, 5)])
    path, labels = results.draw_tested(trained, SUITES["uniform"], "run", tmp_path / "figure.svg")
    assert labels == ["relative positions", "absolute positions"]
    text = path.read_text()  # words stay words in a drawing
    assert "100 problems per point and seed, 1 to 3 seeds" in text and "lengths in training" in text
    assert "2 summands: exact match on the uniform suite" in text and "folder" not in text


def test_experiments_that_differ_in_a_field_say_so():
    from digitwise.runs.written import in_words, told_apart

    wide = replace(SMALL, architecture=replace(SMALL.architecture, width=32))
    assert told_apart([SMALL, wide]) == ["relative positions, width 16", "relative positions, width 32"]
    assert told_apart([SMALL, replace(SMALL, seed=4)]) == ["relative positions"] * 2
    assert in_words(SMALL) == "relative positions"
