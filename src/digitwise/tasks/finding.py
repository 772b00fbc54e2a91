"""Numbers in a text: which tokens belong to a number, and how significant each digit is.

Every token outside a number has operand and place -1. So encodings by place add nothing to a text without numbers, and
in a text with one number only its own digits see each other. Nothing is guessed: what does not fit is refused with a
ValueError that names the row.
"""

import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from digitwise.coordinates import Coordinates

NUMBER = re.compile(r"-?[0-9]+(?:[.,][0-9]+)*")


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
    """Index of the first true entry at or after each one, n where there is none."""
    return np.minimum.accumulate(np.where(mask, index, mask.shape[1])[:, ::-1], axis=1)[:, ::-1]
