"""Training data of which something is taken away: few different problems, or pairs of digits that never meet."""

from dataclasses import dataclass, field
from functools import cache

import numpy as np

from digitwise.data.carries import Practice
from digitwise.numbers.digits import Digits
from digitwise.rng import generator
from digitwise.tasks.base import Distribution


@dataclass(frozen=True)
class FewExamples(Distribution):
    """Only so many different problems of another distribution, drawn once, shown again and again."""

    base: Distribution = field(default_factory=Practice)
    examples: int = 1000

    def __post_init__(self) -> None:
        if not 1 <= self.examples <= 10_000_000:
            raise ValueError(f"examples must be from 1 to 10,000,000, not {self.examples}")

    def width(self, longest: int | None) -> int:
        return self.base.width(longest)

    def most_digits(self, longest: int | None) -> int:
        return self.base.most_digits(longest)

    def draw(self, rng: np.random.Generator, count: int, numbers: int, longest: int | None) -> Digits:
        return _pool(self, numbers, longest)[rng.integers(0, self.examples, count)]


@cache
def _pool(few: FewExamples, numbers: int, longest: int | None) -> Digits:
    return few.base.draw(generator("few examples", few.examples), few.examples, numbers, longest)


@dataclass(frozen=True)
class WithoutPairs(Distribution):
    """Sums of two in which some pairs of digits never stand in one column, in either order.

    Where such a pair is drawn, one of its digits is replaced. Lengths stay as they are.
    """

    base: Distribution = field(default_factory=Practice)
    pairs: tuple[tuple[int, int], ...] = ((2, 7), (4, 8), (5, 5), (6, 9))

    def width(self, longest: int | None) -> int:
        return self.base.width(longest)

    def most_digits(self, longest: int | None) -> int:
        return self.base.most_digits(longest)

    def draw(self, rng: np.random.Generator, count: int, numbers: int, longest: int | None) -> Digits:
        if numbers != 2:
            raise ValueError(f"pairs of digits are of two numbers, not of {numbers}")
        out = self.base.draw(rng, count, numbers, longest)
        while (held := self.held(out)).any():
            out[:, 1][held] = rng.integers(1, 10, int(held.sum()), dtype=np.uint8)  # no new leading zeros
        return out

    def held(self, numbers: Digits) -> np.ndarray:
        """Which columns have such a pair: `[count, width]`."""
        first, second = numbers[:, 0], numbers[:, 1]
        found = np.zeros(first.shape, dtype=bool)
        for a, b in self.pairs:
            found |= ((first == a) & (second == b)) | ((first == b) & (second == a))
        return found


ABLATIONS = {"few-examples": FewExamples, "without-pairs": WithoutPairs}
