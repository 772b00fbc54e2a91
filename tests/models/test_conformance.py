"""Every encoding in the registry is tested by being there; and the suite itself can fail."""

from dataclasses import dataclass

import pytest
import torch

from digitwise.encodings import ENCODINGS, Absolute, Nothing, Pairwise, Permutation, Relative, Translation, Uniform
from digitwise.models import conformance
from digitwise.tasks import Addition


@pytest.mark.parametrize("name", ENCODINGS)
def test_encoding(name):
    conformance.check(ENCODINGS[name]())


def test_clipped_distances_reach_any_length():
    assert Relative(reach=3).any_length and not Relative().any_length
    conformance.check(Relative(reach=3))


@dataclass(frozen=True)
class FalseClaim(Relative):
    symmetries = (Permutation(),)


@dataclass(frozen=True)
class NotEvenTranslation(Pairwise):
    """One vector a query position."""

    symmetries = (Translation(),)

    def num_classes(self, extent):
        return extent.positions

    def classes(self, coordinates, extent):
        count = len(coordinates.position)
        return coordinates.position[:, None].expand(count, count) % extent.positions


@dataclass(frozen=True)
class FalselyUniform(Uniform):
    """Claims what Uniform claims with Relative's classes."""

    def classes(self, coordinates, extent):
        return Relative().classes(coordinates, extent)


@dataclass(frozen=True)
class PromisesTooMuch(Absolute):
    any_length = True


@pytest.mark.parametrize(
    ("encoding", "message"),
    [
        (FalseClaim(), "claims Permutation"),
        (NotEvenTranslation(), "answered although|claims Translation"),
        (FalselyUniform(), "claims SameForEveryQuery|no gradient"),
        (PromisesTooMuch(), "refused although"),
    ],
)
def test_the_suite_can_fail(encoding, message):
    with pytest.raises(AssertionError, match=message):
        conformance.check(encoding)


def test_class_maps_by_hand():
    coordinates = conformance.coordinates_of(Addition(1), 1)  # tokens a + b
    reach = conformance.extent(coordinates)
    assert Relative().classes(coordinates, reach).tolist() == [[2, 1, 0], [3, 2, 1], [4, 3, 2]]  # distance i - j + 2
    assert Uniform().classes(coordinates, reach).tolist() == [[5, 1, 0], [5, 2, 1], [5, 3, 2]]  # c_1 for every query
    assert isinstance(Nothing().build(conformance.ARCHITECTURE.shape, reach), torch.nn.Module)
