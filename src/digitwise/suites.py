"""Named, versioned sets of test problems. A version changes when its problems do; results of two never mix."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from digitwise.rng import generator
from digitwise.tasks import Distribution, ExactLength, Operands, Task


@dataclass(frozen=True)
class Stratum:
    """Problems that are counted together."""

    length: int
    group: str
    distribution: Distribution


@dataclass(frozen=True)
class Suite:
    name: str
    version: int
    strata: Callable[[Task, Sequence[int]], list[Stratum]]
    by_place: bool = False
    """Count each place of the answer by itself instead of whole answers."""

    def tally(self, stratum: Stratum, right: NDArray[np.bool_]) -> dict[str, NDArray[np.bool_]]:
        """From which symbols are right, `[count, slots]`, what is counted under which group."""
        if not self.by_place:
            return {stratum.group: np.asarray(right.all(1))}
        return {f"place {place}": right[:, place] for place in range(min(stratum.length + 1, right.shape[1]))}

    def draw(self, task: Task, stratum: Stratum, count: int, seed: int) -> Operands:
        """The problems of a stratum: a pure function of the suite, the stratum and the seed."""
        rng = generator(seed, "test", self.name, self.version, stratum.length, stratum.group)
        return task.draw(stratum.distribution, rng, count)


def _uniform(task: Task, lengths: Sequence[int]) -> list[Stratum]:
    return [Stratum(length, "", ExactLength(length)) for length in lengths]


SUITES = {
    suite.name: suite
    for suite in [
        Suite("uniform", 1, _uniform),
        Suite("places", 1, _uniform, by_place=True),
    ]
}
