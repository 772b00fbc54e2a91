"""A cell as a table: what it writes and what it says in each situation.

A situation is all that a cell knows: its own symbol, the digits that it sees, what it hears along its row and what it
hears from the row before. A message is a few bits, read as a number, its code; hearing nothing is a code too. So there
are finitely many situations, and each has a number:

    situation = (combination x along codes + along) x across codes + across

where a combination is one of the own symbols with digits, and combination 0 belongs to cells that are not there: they
write a pad and say nothing. A table is filled as far as it is asked, by whoever knows: a network, or a file.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from digitwise.tasks.symbols import PAD

Ints = NDArray[np.int64]
NOTHING = -1
"""The code of hearing nothing."""
UNKNOWN = -2
SEEN = PAD + 1
"""Symbols that a cell can see: ten digits and the pad."""


class Situation(NamedTuple):
    own: int
    digits: tuple[int, ...]
    along: int = NOTHING
    across: int = NOTHING


class Told(NamedTuple):
    """What a cell does in a situation: the symbol that it writes, and the codes that it says."""

    symbol: int
    along: int = NOTHING
    across: int = NOTHING


class Situations(NamedTuple):
    """Many of them, as arrays."""

    own_A: Ints
    digits_AK: Ints
    along_A: Ints
    across_A: Ints


class Answered(NamedTuple):
    """What is known about many: arrays `[A]`."""

    symbol_A: Ints
    along_A: Ints
    across_A: Ints
    confidence_A: NDArray[np.float32]


Ask = Callable[[Situations], Answered]


class Table:
    """`owns`: the symbols that cells can have; `digits`: how many each of them sees; `bits` along a row and across;
    without somebody to `ask` the table is complete, and has no situation that cannot occur."""

    def __init__(self, owns: Sequence[int], digits: int, bits: tuple[int, int], ask: Ask | None):
        self.owns, self.digits, self.bits, self.ask = list(owns), digits, bits, ask
        self.codes = tuple(2**count + 1 if count else 1 for count in bits)
        size = (1 + len(owns) * SEEN**digits) * self.codes[0] * self.codes[1]
        self.symbol, self.along, self.across = (np.full(size, UNKNOWN, dtype=np.int16) for _ in range(3))
        self.confidence = np.ones(size, dtype=np.float32)
        absent = self.codes[0] * self.codes[1]
        self.symbol[:absent], self.along[:absent], self.across[:absent] = PAD, NOTHING, NOTHING

    def combination(self, own: NDArray, digits: Sequence[NDArray]) -> Ints:
        """Numbers of combinations, times the codes, of broadcast arrays; 0 for cells whose own symbol is a pad."""
        which = np.full(max(self.owns) + 1, -1)
        which[self.owns] = np.arange(len(self.owns))
        number = which[own]
        for digit in digits:
            number = number * SEEN + digit
        number = np.where(np.asarray(own) == PAD, 0, number + 1)
        return number * (self.codes[0] * self.codes[1])

    def number(self, combination: Ints, along: NDArray | int, across: NDArray | int) -> Ints:
        return combination + (along + 1) * self.codes[1] + (across + 1)

    def situations(self, numbers: Ints) -> Situations:
        rest, across = np.divmod(numbers, self.codes[1])
        rest, along = np.divmod(rest, self.codes[0])
        digits = []
        rest = rest - 1
        for _ in range(self.digits):
            rest, digit = np.divmod(rest, SEEN)
            digits.append(digit)
        digits_AK = np.stack(digits[::-1], axis=-1) if digits else np.zeros((len(numbers), 0), dtype=np.int64)
        return Situations(np.array(self.owns)[rest], digits_AK, along - 1, across - 1)

    def know(self, numbers: Ints) -> None:
        """Ask about those of these situations that are unknown."""
        new = np.unique(numbers[self.symbol[numbers] == UNKNOWN])
        if len(new):
            if self.ask is None:
                raise ValueError("the certificate has no entry for a situation that occurs: it is incomplete")
            found = self.ask(self.situations(new))
            self.symbol[new], self.along[new], self.across[new] = found.symbol_A, found.along_A, found.across_A
            self.confidence[new] = found.confidence_A

    def tell(self, asked: Sequence[Situation]) -> list[Told]:
        """One by one, for walks."""
        if not asked:
            return []
        own, digits, along, across = (np.array(part) for part in zip(*asked, strict=True))
        numbers = self.number(self.combination(own, list(digits.reshape(len(asked), -1).T)), along, across)
        self.know(numbers)
        told = (part[numbers].tolist() for part in (self.symbol, self.along, self.across))
        return [Told(*one) for one in zip(*told, strict=True)]
