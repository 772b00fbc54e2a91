"""Sums and products of numbers that stand anywhere in a text, and where the numbers of any text stand.

    what is _ _ 1 2 3 plus _ _ 4 0 9 5 ?        canvas 5; the answer is read at the second number
                           _ _ 4 2 1 8

The field of the second number is wider than the canvas by as many places as the answer can overflow, so every digit of
the answer has its slot, and slot = place. Rows differ in length; FILLER fills them up to the longest
one, and no token attends to it. The text is drawn anew for every batch by a generator that is seeded with the batch's
own digits, so `encode` is a pure function of the problems.

In any text, every token outside a number has operand and place -1. So encodings by place add nothing to a text without
numbers, and in a text with one number only its own digits see each other. Nothing is guessed: what does not fit is
refused with a ValueError that names the row.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar
from zlib import crc32

import numpy as np

from digitwise.coordinates import Coordinates, Extent, extent
from digitwise.counts import Numbered
from digitwise.rng import generator
from digitwise.tasks.base import Problems, Task
from digitwise.tasks.canvas import Addition, Multiplication
from digitwise.tasks.symbols import (
    FILLER,
    PAD,
    PLUS,
    PRODUCTS,
    SUMS,
    SYMBOLS,
    TIMES,
    WORD,
    WORDS,
    Tokens,
    pad,
    parts_of,
)

NUMBER = re.compile(r"-?[0-9]+(?:[.,][0-9]+)*")


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
        amounts = {n: replace(self, least=n, most=n, sentences=False) for n in (0, 20, 40)}
        words: dict[str, Task] = {str(Numbered("words", n)): task for n, task in amounts.items()}
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
        parts = [text[:, 0], first[:, ::-1], text[:, 1], operator, second[:, ::-1], text[:, 2]]
        wide = np.concatenate(parts, axis=1)
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


def find_numbers(
    tokens: Any, digits: Collection[int], pad: int | None = None, filler: int | None = None, longest: int | None = None
) -> Coordinates:
    """Operand and place of every token of `tokens`, `[batch, n]`, given which ids are digits; no answer slots yet.

    A number is a row of digits, with the pads that stand before it: `__123` is one number of five places. Numbers are
    counted from the left. Tokenizers can have several ids for a digit (WordPiece has 2 and ##2): `digits` needs all of
    them. `filler` is the id that fills up short rows, on either side: its tokens have position -1, and
    positions count from the first other token. Numbers of more than `longest` digits are refused.
    """
    try:
        tokens = np.asarray(tokens)
    except ValueError as error:  # numpy's own message speaks of inhomogeneous shapes
        raise ValueError("rows of a batch must be equally long: fill them up, and say with what (filler=)") from error
    if not all(isinstance(digit, int | np.integer) for digit in digits):
        raise ValueError("digits must be the ids of the digits, not their spelling")
    if tokens.ndim != 2:
        raise ValueError(f"tokens must be [batch, n], and these have {tokens.ndim} dimensions: put one text in a list")
    index = np.broadcast_to(np.arange(tokens.shape[1]), tokens.shape)
    digit = np.isin(tokens, list(digits))
    padding = np.zeros_like(digit) if pad is None else tokens == pad
    ones = digit & ~np.pad(digit, [(0, 0), (0, 1)])[:, 1:]  # a digit with no digit after it
    # Pads belong to the number that begins right after them, if one does.
    after = np.pad(digit, [(0, 0), (0, 1)])
    member = digit | (padding & np.take_along_axis(after, _next(~padding, index), axis=1))
    place = np.where(member, _next(ones, index) - index, -1)
    operand = np.where(member, np.cumsum(ones, axis=1) - ones, -1)
    real = np.ones_like(digit) if filler is None else tokens != filler
    position = np.where(real, np.cumsum(real, axis=1) - 1, -1)
    if longest is not None:
        refuse((digit & (place >= longest)).any(1), f"has a number of more than {longest} digits: use a larger canvas")
    return Coordinates(position, operand, place, np.full_like(place, -1))


def answered_at_last(coordinates: Coordinates, widths: Sequence[int]) -> Coordinates:
    """The same with the answer read at the last number, slot = place. Every row must have one number for each of
    `widths`, none of more places than that; the last one fills its field, so that all rows have equally many slots."""
    coordinates = coordinates.map(np.asarray)
    operand = coordinates.operand
    numbers = operand.max(1, initial=-1) + 1
    for count in sorted(set(numbers.tolist()) - {len(widths)}):
        refuse(numbers == count, f"has {count} number{'s' * (count != 1)}, and the question needs {len(widths)}")
    for number, width in enumerate(widths):
        refuse((operand == number).sum(1) > width, f"has a number of more than {width} places: use a larger canvas")
    last = operand == len(widths) - 1
    remedy = "pad its last number, and give find_numbers all ids of digits"
    refuse(last.sum(1) < widths[-1], f"has an answer field of fewer than {widths[-1]} places: {remedy}")
    return coordinates._replace(slot=np.where(last, coordinates.place, -1))


def pad_numbers(texts: Sequence[str], widths: Sequence[int], canvas: int | None = None, pad: str = "_") -> list[str]:
    """Texts with their numbers written on fields: the first one `widths[0]` wide, and so on.

    Each text must have as many whole numbers as there are widths, none of them longer than its field, or than `canvas`.
    """
    if isinstance(texts, str):
        raise ValueError("pad_numbers takes a list of texts, not one text")
    return [_pad_row(row, text, widths, canvas, pad) for row, text in enumerate(texts)]


def _pad_row(row: int, text: str, widths: Sequence[int], canvas: int | None, pad: str) -> str:
    found = NUMBER.findall(text)
    for number in found:
        if not number.isdigit():
            raise ValueError(f"row {row}: '{number}' is not a whole number in plain digits")
    if len(found) != len(widths):
        counted = f"{len(found)} number{'s' * (len(found) != 1)}"
        raise ValueError(f"row {row} has {counted}, and the question needs {len(widths)}: '{text}'")
    values = [number.lstrip("0") or "0" for number in found]
    for value, width in zip(values, widths, strict=True):
        most = min(width, canvas or width)
        if len(value) > most:
            raise ValueError(f"row {row}: {value} has {len(value)} digits, and there is room for {most}")
    fields = iter([value.rjust(width, pad) for value, width in zip(values, widths, strict=True)])
    return NUMBER.sub(lambda _: next(fields), text)


def refuse(rows: Any, why: str) -> None:
    """A ValueError that names the first of the rows, if there is one."""
    if rows.any():
        raise ValueError(f"row {int(rows.nonzero()[0][0])} {why}")


def _next(mask: Any, index: Any) -> Any:
    """The first true entry at or after each one, n where there is none."""
    return np.minimum.accumulate(np.where(mask, index, mask.shape[1])[:, ::-1], axis=1)[:, ::-1]
