"""Sums and products of numbers that stand anywhere in a text.

    what is _ _ 1 2 3 plus _ _ 4 0 9 5 ?        canvas 5; the answer is read at the second number
                           _ _ 4 2 1 8

The field of the second number is wider than the canvas by as many places as the answer can overflow, so every digit of
the answer has its slot, and slot = place. Rows differ in length; FILLER fills them up to the longest
one, and no token attends to it. The text is drawn anew for every batch by a generator that is seeded with the batch's
own digits, so `encode` is a pure function of the problems.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar
from zlib import crc32

import numpy as np

from digitwise.coordinates import Coordinates, Extent, extent
from digitwise.rng import generator
from digitwise.tasks.base import Problems, Task
from digitwise.tasks.canvas import Addition, Multiplication
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
class InText(Task):
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
        digits = sum(kind.size for kind in self.kinds if kind.operator == "*")
        return digits or self.canvas, self.canvas + self.overflow

    @property
    def extent(self: Any) -> Extent:
        length = parts_of(self.templates).shape[-1] if self.sentences else self.most
        text = np.full((1, 3, length), FILLER + 1, dtype=np.uint8)
        zeros = [pad(np.zeros((1, 1), dtype=np.uint8), width) for width in self.widths]
        return extent(self.coordinates(self._in_line(text, *zeros)))

    @property
    def label(self) -> str:
        return super().label + ("-sentences" if self.sentences else f"-words{self.least}-{self.most}")

    def coordinates(self: Any, tokens: Tokens) -> Coordinates:
        """Return where the numbers stand in each row of tokens; the answer is read at the second number."""
        return answered_at_last(find_numbers(tokens, range(10), PAD, FILLER, longest=self.canvas), self.widths)

    def write(self: Any, problems: Problems) -> tuple[Tokens, Coordinates]:
        numbers = [problems.numbers[:, number] for number in range(problems.numbers.shape[1])]
        if problems.multipliers.shape[1]:
            numbers = [problems.multipliers, *numbers]
        text = self._text(len(problems), generator("text", *(crc32(number.tobytes()) for number in numbers)))
        fields = [pad(number, width) for number, width in zip(numbers, self.widths, strict=True)]
        tokens = self._in_line(text, *fields)
        return tokens, self.coordinates(tokens)

    def render(self, problems: Problems) -> list[str]:
        return [read(row) for row in self.write(problems)[0]]

    def plain(self) -> Task:
        return replace(self, least=0, most=0, sentences=False)

    def in_texts(self) -> dict[str, Task]:
        words = {f"words {number}": replace(self, least=number, most=number, sentences=False) for number in (0, 20, 40)}
        return {**words, "sentences": replace(self, sentences=True)}

    def tokenize(self: Any, texts: list[str]) -> Tokens:
        """Return the tokens of texts of known words with two numbers each; a ValueError names the first other row."""
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

    def _in_line(self, text: Tokens, first: Tokens, second: Tokens) -> Tokens:
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
