"""What a task is: it draws problems, solves them exactly, writes them as tokens and gives each token its coordinates.

To add a task, write one class with `kinds`, `longest`, `write` and what differs from the defaults below, and give it
one line in `digitwise/tasks/__init__.py` (docs/adding-a-task.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from digitwise.coordinates import Coordinates, Extent
from digitwise.numbers import digits as dg
from digitwise.numbers.digits import Digits
from digitwise.tasks.problems import EXACT, Batch, Kind, Problems, kind_of
from digitwise.tasks.symbols import NUM_ANSWER_SYMBOLS, SPELLING, Tokens, pad, read_answers


@dataclass(frozen=True)
class Distribution:
    """Which problems are drawn, as a task needs it."""

    def width(self, longest: int | None) -> int:
        """Return the places that the drawn numbers need, at most `longest` (None: any number of them).

        A ValueError says which canvas would do.
        """
        raise NotImplementedError

    def draw(self, rng: np.random.Generator, count: int, numbers: int, longest: int | None) -> Digits:
        """Return the numbers of any length of `count` problems: `[count, numbers, width]`."""
        raise NotImplementedError

    def multipliers(self, rng: np.random.Generator, count: int, digits: int, zero: bool) -> Digits:
        """Return multipliers of exactly so many digits: `[count, digits]`. Without `zero`, none of them is 0."""
        drawn = dg.sample(rng, digits, rng.integers(digits, digits + 1, count))
        return drawn if zero else without_zero(rng, drawn)

    def products(
        self, rng: np.random.Generator, count: int, digits: int, zero: bool, longest: int | None
    ) -> tuple[Digits, Digits]:
        """Return multipliers and multiplicands that go together: `[count, digits]` and `[count, 1, width]`."""
        return self.multipliers(rng, count, digits, zero), self.draw(rng, count, 1, longest)

    def most_digits(self, longest: int | None) -> int:
        """Return the length of the longest numbers that are drawn, appended zeros aside."""
        return self.width(longest)


def without_zero(rng: np.random.Generator, numbers: Digits) -> Digits:
    """The same numbers with a digit from 1 to 9 in place of each 0."""
    zero = ~numbers.any(-1)
    numbers[zero, 0] = rng.integers(1, 10, zero.sum(), dtype=np.uint8)
    return numbers


@dataclass(frozen=True)
class Task:
    """The seam for tasks."""

    symbols: ClassVar[Sequence[str]] = SPELLING
    """How each token is written."""
    answer_symbols: ClassVar[int] = NUM_ANSWER_SYMBOLS
    """How many of them, the first ones, may stand in an answer."""

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of problems."""
        raise NotImplementedError

    @property
    def longest(self) -> int | None:
        """The most digits of a number; None for numbers of any length."""
        raise NotImplementedError

    @property
    def overflow(self) -> int:
        """Places that an answer can have beyond the longest number."""
        return max(kind.overflow for kind in self.kinds)

    @property
    def extent(self) -> Extent:
        """How far the coordinates of the longest problem reach."""
        raise NotImplementedError

    @property
    def claim(self) -> str:
        """What can be proven of cells that have learned this task, a name in `machines.CLAIMS`; empty for nothing."""
        return ""

    @property
    def label(self) -> str:
        """A name that tells apart what is drawn, for the ids of exported problems."""
        return f"{type(self).__name__.lower()}-canvas{self.longest}"

    def draw(
        self, distribution: Distribution, rng: np.random.Generator, count: int, kind: Kind | None = None
    ) -> Problems:
        """Return problems of all kinds, or of one."""
        (only,) = self.kinds
        return Problems.alike(self.kinds, distribution.draw(rng, count, only.drawn, self.longest))

    def pose(self, kind: Kind, numbers: Sequence[Digits]) -> Problems:
        """Return problems of one kind from their numbers `[count, places]`, in the order in which they are written."""
        if kind not in self.kinds:
            raise ValueError(f"{kind} is not among the problems of this task: {', '.join(map(str, self.kinds))}")
        multipliers, numbers = kind.split(numbers)
        width = max(number.shape[1] for number in numbers)
        posed = Problems.empty(self.kinds, np.full(len(numbers[0]), self.kinds.index(kind)), width)
        for index, number in enumerate(numbers):
            posed.numbers[:, index, : number.shape[1]] = number
        for multiplier in multipliers:
            posed.multipliers[:, : multiplier.shape[1]] = multiplier
        return posed

    def solve(self, problems: Problems) -> Digits:
        """Return the exact answers: `[count, width + overflow]`."""
        out = np.zeros((len(problems), problems.width + self.overflow), dtype=np.uint8)
        for kind, rows in problems.by_kind():
            answer = EXACT[kind.operator](problems.multipliers[rows], problems.numbers[rows, : kind.drawn])
            if answer.shape == out.shape:  # all of one kind
                return answer
            width = min(answer.shape[1], out.shape[1])  # what is beyond is zeros
            out[rows, :width] = answer[:, :width]
        return out

    def write(self, problems: Problems) -> tuple[Tokens, Coordinates]:
        """Return the tokens `[count, n]`, which show nothing of the answers, and where they stand."""
        raise NotImplementedError

    def targets(self, problems: Problems) -> Tokens:
        """Return the symbols of the answers, `[count, slots]`: leading zeros become pads."""
        answers = self.solve(problems)
        return pad(answers, answers.shape[1] if self.longest is None else self.longest + self.overflow)

    def encode(self, problems: Problems, answered: bool = True) -> Batch:
        """Return the problems as a model reads them; without their answers the targets are empty."""
        tokens, coordinates = self.write(problems)
        return Batch(tokens, self.targets(problems) if answered else tokens[:, :0], coordinates)

    def render(self, problems: Problems) -> list[str]:
        """Return the problems as people write them."""
        texts = [""] * len(problems)
        for kind, rows in problems.by_kind():
            written = [dg.render(problems.numbers[rows, number]) for number in range(kind.drawn)]
            if kind.factor:
                written.insert(0 if kind.operator == "*" else 1, dg.render(problems.multipliers[rows, : kind.factor]))
            lines = (f" {kind.operator} ".join(numbers) for numbers in zip(*written, strict=True))
            for index, text in zip(np.arange(len(problems))[rows], lines, strict=True):
                texts[index] = text
        return texts

    def read(self, texts: Sequence[str]) -> Problems:
        """Return the problems that texts state, as `render` writes them."""
        posed = [self.pose(kind_of(text), [dg.parse([n]) for n in text.split()[::2]]) for text in texts]
        return reduce(Problems.joined, posed)

    def admit(self, kind: Kind, numbers: Sequence[str]) -> None:
        """Refuse with a ValueError what a problem of a supported kind must not be."""

    def slots(self, length: int, places: int) -> int:
        """Return how many of the answer's places belong to a problem of this length by itself."""
        return (self.longest or length) + self.overflow

    @property
    def rows(self) -> int:
        """Rows of cells, for tasks without a canvas."""
        return 1

    def fitting(self, texts: Sequence[str]) -> "Task":
        """Return this task, or one like it with room for as many numbers or digits as these problems have."""
        return self

    def spell(self, symbols: Tokens) -> list[str]:
        """Return answers `[count, slots]` as people write them; what is not one stays visible as it is."""
        return read_answers(symbols)

    def read_at(self, answer: str, symbols: Tokens) -> NDArray[np.int64]:
        """Return the slots at which the symbols of a spelled answer are read, in the order of writing."""
        return np.arange(len(answer))[::-1]

    # Other tasks that a model of this one can be tested on

    def plain(self) -> "Task":
        """Return the task that writes problems with nothing around them."""
        return self

    def larger(self) -> "dict[Kind, Task]":
        """Return kinds with more numbers or longer multipliers, each with the task that writes them."""
        return {}

    def in_texts(self) -> "dict[str, Task]":
        """Return tasks with other texts around the numbers, by name."""
        return {}
