"""Exact arithmetic on numbers of any length, vectorised over the batch.

A number is an array of digits, least significant first, padded with zeros on the high side: `[..., places]`, uint8.
Leading zeros carry no meaning, so the length of a number is a property of its value and zero has one digit.

The one idea behind addition, subtraction and the last step of multiplication: a column either *decides* its outgoing
carry by itself or *passes on* the incoming one. So the carry into a column is what the nearest deciding column below
it decided, and a running maximum over (column, decision) finds it without a loop over digits.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Digits = NDArray[np.uint8]


def lengths(digits: Digits) -> NDArray[np.int64]:
    """Number of digits of each value; zero has one."""
    places = digits.shape[-1]
    nonzero = digits[..., ::-1] != 0
    return np.where(nonzero.any(-1), places - nonzero.argmax(-1), 1)


def carries(decides: NDArray[np.bool_], carry: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Carry *into* each column and out of the last one: `[..., places] -> [..., places + 1]`.

    `decides`: does this column fix its outgoing carry by itself; `carry`: what it then sends out. A decision is coded
    as 2 (place + 1) + carry and no decision as 0, so the largest code so far is the latest decision, and its last bit
    is the carry.
    """
    places = decides.shape[-1]
    # The narrowest type that holds 2 * places + 1, because this array is the whole cost of an addition.
    dtype = np.uint8 if places < 127 else np.uint16 if places < 32767 else np.int64
    order = np.arange(2, 2 * places + 2, 2, dtype=dtype)
    decision = (order + carry) * decides
    incoming = np.zeros((*decides.shape[:-1], places + 1), dtype=bool)
    np.maximum.accumulate(decision, axis=-1, out=decision)
    np.bitwise_and(decision, 1, out=incoming[..., 1:], casting="unsafe")
    return incoming


def widen(digits: Digits, places: int) -> Digits:
    """The same numbers on more places."""
    if digits.shape[-1] == places:
        return digits
    out = np.zeros((*digits.shape[:-1], places), dtype=np.uint8)
    out[..., : digits.shape[-1]] = digits
    return out


def aligned(first: Digits, second: Digits) -> tuple[Digits, Digits]:
    places = max(first.shape[-1], second.shape[-1])
    return widen(first, places), widen(second, places)


def add(first: Digits, second: Digits) -> Digits:
    """Sum, one place wider than the wider operand."""
    first, second = aligned(first, second)
    return resolve(first + second)


def add_many(operands: Digits) -> Digits:
    """Sum over the second to last axis: `[..., operands, places] -> [..., places + 2]`, wider for over 99 operands."""
    return spread(operands.sum(-2, dtype=np.int64), max(2, len(str(operands.shape[-2]))))


def resolve(columns: NDArray) -> Digits:
    """Columns of at most 19, each sending at most one carry, to digits: `[..., places] -> [..., places + 1]`."""
    incoming = carries(columns != 9, columns > 9)
    total = incoming.astype(np.uint8)
    total[..., :-1] += columns.astype(np.uint8, copy=False)
    return np.minimum(total, total - np.uint8(10))  # below ten the difference wraps around and is the larger


def subtract(larger: Digits, smaller: Digits) -> Digits:
    """Difference, as wide as the wider operand; the first operand must not be below the second."""
    larger, smaller = aligned(larger, smaller)
    borrows = carries(larger != smaller, larger < smaller)
    if borrows[..., -1].any():
        raise ValueError("subtract needs the larger number first; use compare to order the operands")
    return (larger + 10 - smaller - borrows[..., :-1]) % np.uint8(10)


def multiply(multiplier: Digits, multiplicand: Digits) -> Digits:
    """Product, as wide as both operands together."""
    return spread(product_columns(multiplier, multiplicand), 0)


def divide(dividend: Digits, divisor: Digits) -> tuple[Digits, Digits]:
    """Quotients, as wide as the dividends, and remainders, by one digit from 1 to 9 each: `[..., places]`, `[...]`."""
    if not divisor.all():
        raise ValueError("nothing can be divided by 0")
    quotient, rest = np.empty_like(dividend), np.zeros_like(divisor)
    for place in range(dividend.shape[-1] - 1, -1, -1):
        quotient[..., place], rest = np.divmod(10 * rest + dividend[..., place], divisor)
    return quotient, rest


def product_columns(multiplier: Digits, multiplicand: Digits) -> NDArray[np.int64]:
    """Column sums of the schoolbook product, before any carry: the convolution of the digits."""
    width = multiplier.shape[-1]
    padding = [(0, 0)] * (multiplicand.ndim - 1) + [(width - 1, width)]
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(multiplicand, padding), width, axis=-1)
    return np.einsum("...nk,...k->...n", windows, multiplier[..., ::-1], dtype=np.int64)


def spread(columns: NDArray[np.int64], extra: int) -> Digits:
    """Columns of any size to digits, `extra` places wider: send the tens, hundreds, ... of each column where they
    belong until every column is at most 18, then one carry pass. Few rounds: a column of c becomes about 9 log10 c."""
    padding = [(0, 0)] * (columns.ndim - 1) + [(0, extra)]
    columns = np.pad(columns, padding)
    while columns.max(initial=0) > 18:
        rest, columns = columns // 10, columns % 10
        shift = 1
        while rest.any():
            columns[..., shift:] += rest[..., :-shift] % 10
            rest //= 10
            shift += 1
    return resolve(columns)[..., : columns.shape[-1]]


def compare(first: Digits, second: Digits) -> NDArray[np.int8]:
    """-1, 0 or 1 as the first number is below, equal to or above the second."""
    first, second = aligned(first, second)
    differs = (first != second)[..., ::-1]
    top = first.shape[-1] - 1 - differs.argmax(-1)[..., None]
    a, b = (np.take_along_axis(x, top, -1)[..., 0].astype(np.int8) for x in (first, second))
    return np.sign(a - b)


def shift(digits: Digits, by: int | NDArray[np.int64]) -> Digits:
    """Multiply by 10**by inside the same width; the digits pushed out must be zeros."""
    by = np.broadcast_to(np.asarray(by), digits.shape[:-1])
    if (by < 0).any():
        raise ValueError("shift takes a number of places that is not negative")
    source = np.arange(digits.shape[-1]) - by[..., None]
    if (by + lengths(digits) > digits.shape[-1]).any() and digits.any():
        raise ValueError(f"a shifted number does not fit {digits.shape[-1]} places")
    return np.where(source >= 0, np.take_along_axis(digits, np.maximum(source, 0), -1), np.uint8(0))


def sample(rng: np.random.Generator, places: int, exactly: NDArray[np.int64] | int) -> Digits:
    """Uniform numbers of exactly `exactly` digits: an array with one length per number, or the length of one number."""
    length = np.asarray(exactly)[..., None]
    if length.size and not (length.min() >= 1 and length.max() <= places):
        raise ValueError(f"lengths must be from 1 to {places}")
    place = np.arange(places)
    digits = rng.integers(0, 10, (*length.shape[:-1], places), dtype=np.uint8)
    lead = rng.integers(1, 10, length.shape, dtype=np.uint8)
    digits = np.where((place == length - 1) & (length > 1), lead, digits)
    return np.where(place < length, digits, np.uint8(0))


def parse(numbers: Sequence[str], places: int | None = None) -> Digits:
    """Decimal strings to digits; `places` defaults to the longest."""
    text = np.asarray(numbers, dtype=np.bytes_)
    width = max(text.dtype.itemsize, 1)
    codes = np.strings.zfill(text, width).view(np.uint8).reshape(*text.shape, width)[..., ::-1] - np.uint8(48)
    if codes.size and (codes.max() > 9 or (np.strings.str_len(text) == 0).any()):
        raise ValueError("numbers are written with the digits 0 to 9 only")
    if places is None:
        return np.ascontiguousarray(codes)
    if width > places and codes[..., places:].any():
        raise ValueError(f"a number of {int(lengths(codes).max())} digits does not fit {places} places")
    out = np.zeros((*text.shape, places), dtype=np.uint8)
    out[..., : min(width, places)] = codes[..., :places]
    return out


def render(digits: Digits) -> NDArray[np.str_]:
    """Digits to decimal strings without leading zeros."""
    codes = np.ascontiguousarray(digits[..., ::-1] + np.uint8(48))
    text = codes.view(f"S{digits.shape[-1]}")[..., 0]
    text = np.strings.lstrip(text, b"0")
    return np.where(text == b"", b"0", text).astype(np.str_)
