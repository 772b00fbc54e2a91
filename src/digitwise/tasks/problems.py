"""Problems as objects, of one kind or of several, and their exact answers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from digitwise.coordinates import Coordinates
from digitwise.numbers import digits as dg
from digitwise.numbers.digits import Digits
from digitwise.tasks.symbols import Tokens

Rows = NDArray[np.int64] | slice
T = TypeVar("T")


class Kind(NamedTuple):
    """An operator, and its size: how many numbers a sum has, or how many digits a multiplier or divisor."""

    operator: str
    size: int = 2

    def __str__(self) -> str:
        words = {
            "+": f"{self.size} summands", "-": "difference", "*": f"{self.size}-digit multiplier",
            "?": "comparison", "/": f"{self.size}-digit divisor",
        }  # fmt: skip
        return words.get(self.operator, self.operator)

    @property
    def drawn(self) -> int:
        """Numbers of any length, which a distribution draws: all but the multiplier or divisor."""
        return 1 if self.factor else self.size

    @property
    def factor(self) -> int:
        """Digits of the multiplier or divisor; 0 where there is none."""
        return self.size if self.operator in "*/" else 0

    def split(self, numbers: Sequence[T]) -> tuple[Sequence[T], Sequence[T]]:
        """The multiplier or divisor, if there is one, and the numbers of any length, from the order of writing."""
        if not self.factor:
            return [], numbers
        return (numbers[:1], numbers[1:]) if self.operator == "*" else (numbers[1:], numbers[:1])

    @property
    def overflow(self) -> int:
        """Places that an answer can have beyond the longest number; ten times a number has one more, eleven times two.

        The top place of a row that flows down is empty: there the sign stands, and the row begins.
        """
        if self.operator == "+":
            return len(str(self.size - 1))
        return self.size if self.operator == "*" else int(self.operator in "?/")


def kind_of(text: str) -> Kind:
    """The kind of a problem that is written with spaces, the multiplier first."""
    first, operator, *others = text.split()
    sizes = {"+": len(others) // 2 + 2, "*": len(first), "/": len(others[0])}
    return Kind(operator, sizes.get(operator, 2))


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
        digits = max(kind.factor for kind in kinds)
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

    def joined(self, others: "Problems") -> "Problems":
        """These problems and others of the same kinds."""
        width = max(self.width, others.width)
        parts = [(p.kind, dg.widen(p.numbers, width), p.multipliers) for p in (self, others)]
        return Problems(self.kinds, *(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

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


#: From multipliers `[count, digits]` and numbers `[count, numbers, width]` to answers: of a difference the size, of a
#: division the quotient, of a comparison 0, 1 or 2 for below, equal and above. Adding two is the faster case.
EXACT: dict[str, Callable[[Digits, Digits], Digits]] = {
    "+": lambda _, numbers: dg.add(*numbers.swapaxes(0, 1)) if numbers.shape[1] == 2 else dg.add_many(numbers),
    "-": lambda _, numbers: dg.subtract(*larger_first(numbers)),
    "*": lambda multipliers, numbers: dg.multiply(multipliers, numbers[:, 0]),
    "/": lambda multipliers, numbers: dg.divide(numbers[:, 0], multipliers[:, 0])[0],
    "?": lambda _, numbers: (dg.compare(numbers[:, 0], numbers[:, 1]) + 1).astype(np.uint8)[:, None],
}


def larger_first(numbers: Digits) -> tuple[Digits, Digits]:
    below = (dg.compare(numbers[:, 0], numbers[:, 1]) < 0)[:, None]
    return np.where(below, numbers[:, 1], numbers[:, 0]), np.where(below, numbers[:, 0], numbers[:, 1])


def spelled(kind: Kind, multipliers: Digits, numbers: Digits) -> list[str]:
    """Exact answers as people write them: `-383`, `<`, `142 remainder 6`."""
    answers = EXACT[kind.operator](multipliers, numbers)
    if kind.operator == "?":
        return ["<=>"[sign] for sign in answers[:, 0]]
    texts = dg.render(answers).tolist()
    if kind.operator == "-":
        below = dg.compare(numbers[:, 0], numbers[:, 1]) < 0
        return [f"-{text}" if is_below else text for text, is_below in zip(texts, below, strict=True)]
    if kind.operator == "/":
        rest = dg.divide(numbers[:, 0], multipliers[:, 0])[1]
        return [f"{text} remainder {left}" for text, left in zip(texts, rest, strict=True)]
    return texts
