"""Sums and products of numbers that stand anywhere in a text.

    what is _ _ 1 2 3 plus _ _ 4 0 9 5 ?        canvas 5; the answer is read at the second number
                           _ _ 4 2 1 8

The second number's field is wider than the canvas by as many places as the answer can have more, so that every digit of
the answer has its slot and slot = place. Rows differ in length; what fills them up to the longest one is FILLER, which
nobody can see. The text is drawn anew for every batch by a generator that is seeded with the batch's own digits, so
`encode` is a pure function of the problems.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from zlib import crc32

import numpy as np

from digitwise.coordinates import Coordinates
from digitwise.rng import generator
from digitwise.tasks.canvas import Addition, Batch, Multiplication, Operands
from digitwise.tasks.finding import answered_at_last, find_numbers, pad_numbers
from digitwise.tasks.symbols import NUM_SYMBOLS, PAD, PLUS, SPELLING, TIMES, Tokens, pad

SUMS = (
    "what is A plus B ?",
    "please add A and B .",
    "the sum of A and B is",
    "start with A , then put B on top : how much is there ?",
    "anna has A apples and finds B more under the tree : how many apples are there now ?",
    "a farmer sold A eggs on monday and B on friday . what did he sell in all ?",
    "one river is A miles long , the other B miles ; together they have",
    "there were A people in the city before B new ones came by train , so now there are",
)
PRODUCTS = (
    "what is A times B ?",
    "please multiply A by B .",
    "the product of A and B is",
    "the crate holds A boxes of B screws",
    "each of A trucks brings B stones to the bridge : how many stones is that ?",
    "a ticket costs A coins and B people bought one . what did they pay in all ?",
    "with A rows of B seats every row full , the theatre has room for",
    "in A days a baker who makes B loaves a day will make",
)
#: The words of the templates in order of appearance. The order is part of every trained model: new words go to the end.
WORDS = tuple(dict.fromkeys(w for line in (*SUMS, *PRODUCTS) for w in line.split() if w not in ("A", "B")))
FILLER = NUM_SYMBOLS
SYMBOLS = (*SPELLING, "", *WORDS)
WORD = {word: number for number, word in enumerate(SYMBOLS) if number > FILLER}


def parts_of(templates: tuple[str, ...]) -> Tokens:
    """The words before, between and after the numbers of each template, `[templates, 3, longest]`."""
    split = [[part.split() for part in line.replace(" B", " A").split("A")] for line in templates]
    longest = max(len(words) for parts in split for words in parts)
    out = np.full((len(split), 3, longest), FILLER, dtype=np.uint8)
    for row, parts in zip(out, split, strict=True):
        for part, words in zip(row, parts, strict=True):
            part[: len(words)] = [WORD[word] for word in words]
    return out


@dataclass(frozen=True)
class InText:
    """What text adds to a task of two numbers."""

    most: int = 20
    """Most tokens of text before, between and after the numbers, each; every number of them is equally likely."""
    least: int = 0
    sentences: bool = False
    """English sentences instead of random words."""

    symbols: ClassVar[Sequence[str]] = SYMBOLS
    operator = PLUS
    templates = SUMS

    def __post_init__(self) -> None:
        super().__post_init__()  # type: ignore[misc]
        if not 0 <= self.least <= self.most:
            raise ValueError(f"least and most must be 0 or more in this order, not {self.least} and {self.most}")

    @property
    def widths(self: Any) -> tuple[int, int]:
        """Places of the two fields: the first as on a canvas, the second as wide as the answer."""
        return super().num_tokens - 1 - self.canvas, self.num_slots  # type: ignore[misc]

    @property
    def num_tokens(self) -> int:
        """Of the longest problem."""
        return len(self.coordinates().position)

    def coordinates(self: Any, tokens: Tokens | None = None) -> Coordinates:
        if tokens is None:
            length = parts_of(self.templates).shape[-1] if self.sentences else self.most
            text = np.full((1, 3, length), FILLER + 1, dtype=np.uint8)
            zeros = [pad(np.zeros((1, 1), dtype=np.uint8), width) for width in self.widths]
            return self.coordinates(self._write(text, *zeros)).map(lambda array: array[0])
        return answered_at_last(find_numbers(tokens, range(10), PAD, FILLER, longest=self.canvas), self.widths)

    def encode(self: Any, operands: Operands) -> Batch:
        text = self._text(len(operands[0]), generator("text", *(crc32(operand.tobytes()) for operand in operands)))
        fields = [pad(operand, width) for operand, width in zip(operands, self.widths, strict=True)]
        return Batch(self._write(text, *fields), pad(self.solve(operands), self.num_slots))

    def render(self, operands: Operands) -> list[str]:
        return [read(row) for row in self.encode(operands).tokens]

    def tokenize(self: Any, texts: list[str]) -> Tokens:
        """Anybody's texts of known words with two numbers; a ValueError names the row where one is not that."""
        rows = [
            [symbol for word in text.split() for symbol in _spell(row, word)]
            for row, text in enumerate(pad_numbers([text.lower() for text in texts], self.widths, self.canvas))
        ]
        out = np.full((len(rows), max(map(len, rows), default=0)), FILLER, dtype=np.uint8)
        for line, row in zip(out, rows, strict=True):
            line[: len(row)] = row
        return out

    def _text(self, count: int, rng: np.random.Generator) -> Tokens:
        """Words before, between and after the numbers, FILLER where there are fewer: `[count, 3, longest]`."""
        if self.sentences:
            written = parts_of(self.templates)
            return written[rng.integers(0, len(written), count)]
        words = rng.integers(FILLER + 1, len(SYMBOLS), (count, 3, self.most), dtype=np.uint8)
        lengths = rng.integers(self.least, self.most + 1, (count, 3, 1))
        return np.where(np.arange(self.most) < lengths, words, np.uint8(FILLER))

    def _write(self, text: Tokens, first: Tokens, second: Tokens) -> Tokens:
        """Rows closed up, the fillers at their ends, as long as the longest. Sentences have words for the operator."""
        operator = np.full((len(text), 1), FILLER if self.sentences else self.operator, dtype=np.uint8)
        wide = np.concatenate(
            [text[:, 0], first[:, ::-1], text[:, 1], operator, second[:, ::-1], text[:, 2]], axis=1
        )  # fmt: skip
        order = np.argsort(wide == FILLER, axis=1, kind="stable")
        longest = int((wide != FILLER).sum(1).max(initial=0))
        return np.take_along_axis(wide, order, axis=1)[:, :longest]


@dataclass(frozen=True)
class TextAddition(InText, Addition):
    """Two summands of up to `canvas` digits with text before, between and after them."""


@dataclass(frozen=True)
class TextMultiplication(InText, Multiplication):
    """A multiplier of `multiplier` digits and a multiplicand of up to `canvas`, with text before, between and after."""

    operator = TIMES
    templates = PRODUCTS


def read(tokens: Tokens) -> str:
    """A row as people write it, without pads and fillers."""
    written = (SYMBOLS[symbol] if symbol < 10 else f" {SYMBOLS[symbol]} " for symbol in tokens if symbol != PAD)
    return " ".join("".join(written).split())


def _spell(row: int, word: str) -> list[int]:
    """The symbols of a word: one, or one for each place of a number's field."""
    field = word.strip("_").isdigit()
    known = {**WORD, "+": PLUS, "*": TIMES}
    if not field and word not in known:
        raise ValueError(f"row {row}: '{word}' is not among the {len(WORDS)} words of digitwise.tasks.text.WORDS")
    return [PAD if letter == "_" else int(letter) for letter in word] if field else [known[word]]
