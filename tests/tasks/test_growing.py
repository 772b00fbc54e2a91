"""Sequences that grow with their numbers, against Python's integers."""

import numpy as np
import pytest
from small import posed

from digitwise.data import ExactLength, GrowingLengths, ShortMultipliers, UniformLengths
from digitwise.numbers import digits as dg
from digitwise.rng import generator
from digitwise.tasks import Growing, Kind
from digitwise.tasks.symbols import SPELLING, read_answers


def spelled(symbols) -> str:
    return "".join(SPELLING[symbol] for symbol in symbols)


def test_to_the_letter():
    batch = Growing().encode(posed(Growing(), Kind("+"), 123, 4095))
    assert spelled(batch.tokens[0]) == "321_+5904_" and spelled(batch.targets[0]) == "8124_"
    assert batch.coordinates.place.tolist() == [0, 1, 2, 3, -1, 0, 1, 2, 3, 4]
    assert batch.coordinates.slot.tolist() == [-1] * 5 + [0, 1, 2, 3, 4]
    task = Growing(multiplier=1)
    batch = task.encode(posed(task, Kind("*", 1), 5, 4297))
    assert spelled(batch.tokens[0]) == "5*7924_" and spelled(batch.targets[0]) == "58412"


@pytest.mark.parametrize("multiplier", [0, 1, 2])
@pytest.mark.parametrize("length", [1, 3, 9])
def test_answers_are_right_at_every_length(multiplier, length):
    task = Growing(multiplier, canvas=9)
    problems = task.draw(ExactLength(length), generator(0, "growing"), 100)
    batch = task.encode(problems)
    assert batch.tokens.shape[1] == (multiplier or length) + 1 + length + (multiplier or 1)
    assert task.encode(problems).coordinates is batch.coordinates
    numbers = [problems.multipliers] * bool(multiplier) + list(problems.numbers.swapaxes(0, 1))
    first, second = ([int(text) for text in dg.render(number)] for number in numbers)
    exact = [a * b if multiplier else a + b for a, b in zip(first, second, strict=True)]
    assert [int(text) for text in read_answers(batch.targets)] == exact


def test_sequences_of_training_have_all_lengths_up_to_the_longest():
    task, widths = Growing(0, 9), []
    for step in range(60):
        problems = task.draw(GrowingLengths(4), generator(step, "widths"), 8)
        widths.append(problems.width)
        assert dg.lengths(problems.numbers).max() <= problems.width
    assert set(widths) == {1, 2, 3, 4} and np.bincount(widths)[1:].min() > 6
    assert task.draw(UniformLengths(4), generator(0, "one"), 8).width == 4
    product = Growing(1, 9).draw(ShortMultipliers(GrowingLengths(4)), generator(3, "widths"), 8)
    assert product.width <= 4 and product.multipliers.shape == (8, 1)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="canvas of at least 10"):
        Growing(0, 9).draw(ExactLength(10), generator(0, "long"), 1)
    with pytest.raises(ValueError, match="not be negative"):
        Growing(-1)
