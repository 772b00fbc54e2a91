"""Problems of any length by a table, against exact arithmetic."""

import numpy as np
import pytest
from machines import exact

from digitwise.answers.compiled import TASKS
from digitwise.machines import run as running
from digitwise.machines.run import claim_of, lay_out, read_out, run, scan, written
from digitwise.numbers import digits as dg
from digitwise.tasks import Kind
from digitwise.tasks.problems import spelled


def answers(kind, numbers, multipliers):
    table = exact.table(claim_of(kind))
    numbers_BP = written(table, lay_out(table, kind, numbers, multipliers))
    return TASKS[claim_of(kind)].spell(read_out(kind, table.symbol[numbers_BP]).astype(np.uint8))


KINDS = [Kind("+"), Kind("+", 3), Kind("+", 30), Kind("*", 1), Kind("*", 7), Kind("-"), Kind("?"), Kind("/", 1)]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize(("count", "length"), [(300, 3), (20, 60), (2, 5000)])
def test_tables_compute_numbers_of_any_length(kind, count, length):
    rng = np.random.default_rng(length)
    lengths = rng.integers(1, length + 1, (count, kind.drawn))
    numbers = dg.sample(rng, length, lengths)
    if kind.operator in "-?":
        same = rng.random(count) < 0.3
        numbers[same, 1] = numbers[same, 0]
    factors = rng.integers(1, 10, (count, kind.factor), dtype=np.uint8)
    assert answers(kind, numbers, factors) == spelled(kind, factors, numbers)


def test_runs_of_nines_pass_every_block():
    length = 40_000
    nines, one = np.full((1, length), 9, dtype=np.uint8), np.zeros((1, length), dtype=np.uint8)
    for carry in (0, 1):
        one[0, 0] = carry
        numbers = np.stack([nines, one], axis=1)
        assert answers(Kind("+"), numbers, one[:, :0]) == spelled(Kind("+"), one[:, :0], numbers)


def test_blocks_hear_what_a_walk_from_place_to_place_hears(monkeypatch):
    table, rng = exact.table("sum"), np.random.default_rng(0)
    numbers = dg.sample(rng, 3000, np.full((3, 2), 3000))
    start = table.number(lay_out(table, Kind("+"), numbers, numbers[:, 0, :0]).combination(0), -1, -1)
    in_blocks = scan(table, start)
    monkeypatch.setattr(running, "WIDE", 1)
    assert (in_blocks == scan(table, start)).all()


def test_rows_that_flow_down_begin_at_the_top():
    table = exact.table("difference")
    numbers = dg.parse(["17", "400"], 3)[None]
    up, down = run(table, lay_out(table, Kind("-"), numbers, numbers[:, 0, :0]))
    assert up.along_BP[0, 0] == -1 and (up.across_BP == -1).all()
    assert down.along_BP[0, -1] == -1 and (down.across_BP >= 0).all()


@pytest.mark.parametrize(
    ("kind", "numbers", "factor", "answer"),
    [
        (Kind("-"), ["1000", "999"], "", "1"),  # zeros lead through a borrow
        (Kind("-"), ["200", "191"], "", "9"),
        (Kind("-"), ["300", "191"], "", "109"),
        (Kind("-"), ["5", "5"], "", "0"),
        (Kind("-"), ["5", "17"], "", "-12"),
        (Kind("?"), ["99", "100"], "", "<"),
        (Kind("?"), ["100", "100"], "", "="),
        (Kind("/", 1), ["1000"], "7", "142 remainder 6"),
        (Kind("/", 1), ["3"], "9", "0 remainder 3"),
        (Kind("*", 1), ["999"], "0", "0"),
    ],
)
def test_what_only_a_row_down_can_know(kind, numbers, factor, answer):
    digits = dg.parse(numbers, 5)[None]
    factors = dg.parse([factor]) if factor else digits[:, 0, :0]
    assert answers(kind, digits, factors) == [answer]
