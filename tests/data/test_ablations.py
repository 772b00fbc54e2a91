"""Data of which something is taken away really lacks it."""

import numpy as np
import pytest

from digitwise.data import FewExamples, Practice, UniformLengths, WithoutPairs
from digitwise.numbers import digits as dg
from digitwise.rng import generator


def test_few_examples_are_few():
    few = FewExamples(UniformLengths(5), 30)
    drawn = np.concatenate([few.draw(generator(step, "few"), 64, 2, None) for step in range(20)])
    assert len(np.unique(drawn.reshape(len(drawn), -1), axis=0)) <= 30
    assert few.most_digits(None) == 5
    with pytest.raises(ValueError, match="examples"):
        FewExamples(examples=0)


def test_held_out_pairs_never_meet_and_lengths_stay():
    base, without = Practice(5), WithoutPairs(Practice(5), ((2, 7), (5, 5)))
    plain = base.draw(generator(0, "pairs"), 3000, 2, None)
    drawn = without.draw(generator(0, "pairs"), 3000, 2, None)
    assert without.held(plain).any() and not without.held(drawn).any()
    columns = {tuple(sorted(pair)) for pair in drawn.swapaxes(1, 2).reshape(-1, 2).tolist()}
    assert (2, 7) not in columns and (5, 5) not in columns and len(columns) == 55 - 2
    assert (dg.lengths(drawn) >= dg.lengths(plain)).all() and dg.lengths(drawn).max() == 5
    with pytest.raises(ValueError, match="two numbers"):
        without.draw(generator(0, "pairs"), 5, 1, None)
