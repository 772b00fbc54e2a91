"""What a task is: it draws problems, solves them exactly, writes them as tokens and gives each token its coordinates.

To add a task, write one class with `kinds`, `longest`, `write` and what differs from the defaults below, and give it
one line in `digitwise/tasks/__init__.py` (docs/adding-a-task.md).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from digitwise.coordinates import Coordinates, Extent
from digitwise.numbers import digits as dg
from digitwise.numbers.digits import Digits
from digitwise.tasks.symbols import SPELLING, Tokens, pad

Rows = NDArray[np.int64] | slice


class Kind(NamedTuple):
    """An operator, and its size: how many numbers a sum has, or how many digits a multiplier."""

    operator: str
    size: int = 2

    def __str__(self) -> str:
        words = {"+": f"{self.size} summands", "-": "difference", "*": f"{self.size}-digit multiplier"}
        return words.get(self.operator, self.operator)

    @property
    def drawn(self) -> int:
        """Numbers of any length, which a distribution draws: all but the multiplier."""
        return 1 if self.operator == "*" else self.size


@dataclass(frozen=True, eq=False)
class Problems:
    """A batch of problems, each of one kind. A number has no leading zeros: its length follows from its value."""

    kinds: tuple[Kind, ...]
    kind: NDArray[np.uint8]
    """Which of the kinds each problem is of, `[count]`."""
    numbers: Digits
    """`[count, numbers, width]`, zeros for numbers that a problem does not have."""
    multipliers: Digits
    """`[count, digits]`, zeros for problems that are not products; no digits where no kind is a product."""

    @classmethod
    def empty(cls, kinds: tuple[Kind, ...], kind: NDArray[np.int64], width: int) -> "Problems":
        """Return problems of these kinds with all numbers 0, to be filled in."""
        digits = max((kind.size for kind in kinds if kind.operator == "*"), default=0)
        numbers = np.zeros((len(kind), max(kind.drawn for kind in kinds), width), dtype=np.uint8)
        return cls(kinds, kind.astype(np.uint8), numbers, np.zeros((len(kind), digits), dtype=np.uint8))

    @classmethod
    def alike(cls, kinds: tuple[Kind, ...], numbers: Digits, multipliers: Digits | None = None) -> "Problems":
        """Return problems that are all of the first kind, without copying their numbers."""
        none = np.zeros((len(numbers), 0), dtype=np.uint8)
        return cls(kinds, np.zeros(len(numbers), np.uint8), numbers, none if multipliers is None else multipliers)

    def __len__(self) -> int:
        return len(self.kind)

    def __getitem__(self, rows: NDArray | slice) -> "Problems":
        return Problems(self.kinds, self.kind[rows], self.numbers[rows], self.multipliers[rows])

    @property
    def width(self) -> int:
        return self.numbers.shape[-1]

    def by_kind(self) -> Iterator[tuple[Kind, Rows]]:
        """Each kind that occurs, with the rows of its problems."""
        if len(self.kinds) == 1:
            yield self.kinds[0], slice(None)
            return
        for index in np.unique(self.kind):
            yield self.kinds[index], np.flatnonzero(self.kind == index)

    def without(self, others: "Problems") -> "Problems":
        """Return the problems that are not among the others."""
        if self.kinds != others.kinds:
            return self
        width = max(self.width, others.width)
        return self[~np.isin(self._identities(width), others._identities(width))]

    def _identities(self, width: int) -> NDArray[np.void]:
        """One value per problem, equal when the problems are: its kind and its digits on `width` places."""
        parts = [self.kind[:, None], dg.widen(self.numbers, width).reshape(len(self), -1), self.multipliers]
        joined = np.ascontiguousarray(np.concatenate(parts, axis=1))
        return joined.view(np.dtype((np.void, joined.shape[1])))[:, 0]


class Batch(NamedTuple):
    """Problems as a model reads them."""

    tokens: Tokens  # [count, n]
    targets: Tokens  # [count, slots], least significant first, pads beyond the answer's length
    coordinates: Coordinates  # [n] where all problems of a width share them (one object), [count, n] where rows differ

    def part(self, chosen: slice | NDArray[np.int64]) -> "Batch":
        """Return some of the problems."""
        shared = self.coordinates.position.ndim == 1
        coordinates = self.coordinates if shared else self.coordinates.map(lambda array: array[chosen])
        return Batch(self.tokens[chosen], self.targets[chosen], coordinates)


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

    def most_digits(self, longest: int | None) -> int:
        """Return the length of the longest numbers that are drawn, appended zeros aside."""
        return self.width(longest)


def without_zero(rng: np.random.Generator, numbers: Digits) -> Digits:
    """The same numbers with a digit from 1 to 9 in place of each 0."""
    zero = ~numbers.any(-1)
    numbers[zero, 0] = rng.integers(1, 10, zero.sum(), dtype=np.uint8)
    return numbers


#: From multipliers `[count, digits]` and numbers `[count, numbers, width]` to answers. Adding two is the faster case.
EXACT: dict[str, Callable[[Digits, Digits], Digits]] = {
    "+": lambda _, numbers: dg.add(*numbers.swapaxes(0, 1)) if numbers.shape[1] == 2 else dg.add_many(numbers),
    "-": lambda _, numbers: dg.subtract(numbers[:, 0], numbers[:, 1]),
    "*": lambda multipliers, numbers: dg.multiply(multipliers, numbers[:, 0]),
}


@dataclass(frozen=True)
class Task:
    """The seam for tasks."""

    symbols: ClassVar[Sequence[str]] = SPELLING
    """How each token is written."""

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
        return max(kind.size if kind.operator == "*" else kind.operator == "+" for kind in self.kinds)

    @property
    def extent(self) -> Extent:
        """How far the coordinates of the longest problem reach."""
        raise NotImplementedError

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
        """Return problems of one kind from their numbers `[count, places]`, for products the multiplier first."""
        if kind not in self.kinds:
            raise ValueError(f"{kind} is not among the problems of this task: {', '.join(map(str, self.kinds))}")
        multipliers, numbers = (numbers[:1], numbers[1:]) if kind.operator == "*" else ([], numbers)
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
            if kind.operator == "*":
                written = [dg.render(problems.multipliers[rows]), *written]
            lines = (f" {kind.operator} ".join(numbers) for numbers in zip(*written, strict=True))
            for index, text in zip(np.arange(len(problems))[rows], lines, strict=True):
                texts[index] = text
        return texts

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
