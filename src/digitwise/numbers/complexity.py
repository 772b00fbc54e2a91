"""How far back one must look to find a digit: the complexity of single problems, vectorised over the batch.

The complexity of an addition depends on its column sums alone. A column below 9 never sends a carry, a column above 9
always sends one, and a column of exactly 9 passes on what it receives. So a *chain* is a column that decides, followed
upwards by columns of 9, and every measure here is a property of the longest chains:

    cascade        1 + the nines of the longest chain whose first column sends a carry; 0 without carries
    untriggered    the nines of the longest chain that no carry enters; below place 0 there is no carry
    dependency     columns that determine the worst digit of the answer, whether or not a carry enters their chain

Products have carries above 1, so chains do not describe them. Their complexity is the number of rounds (the paper's
levels) that the parallel algorithm takes. For additions the rounds of the corrected algorithm equal the cascade.

Numbers are digits, least significant first, `[..., places]` (see `digits`); results have the shape `[...]`.
"""

import numpy as np
from numpy.typing import NDArray

from digitwise.numbers import digits as dg
from digitwise.numbers.digits import Digits

Whole = NDArray[np.int64]

MAX_MULTIPLIER = 17  # digits: a column is below 10^(digits + 1), which int64 must hold


def column_sums(first: Digits, second: Digits) -> Digits:
    """What stands in each column before any carry, 0 to 18."""
    if first.shape[-1] != second.shape[-1]:
        raise ValueError(f"summands need equally many places, not {first.shape[-1]} and {second.shape[-1]}")
    return first + second


def carries(first: Digits, second: Digits) -> Whole:
    """Number of columns that send a carry."""
    return _carry_out(column_sums(first, second)).sum(-1, dtype=np.int64)


def consecutive_carries(first: Digits, second: Digits) -> Whole:
    """Most carries in a row, whether each column makes its own or passes one on (claim C1)."""
    return _run_lengths(_carry_out(column_sums(first, second))).max(-1, initial=0)


def cascade(first: Digits, second: Digits) -> Whole:
    """1 + the most columns of 9 that directly follow a column that makes a carry; 0 without carries."""
    return _cascade(column_sums(first, second))


def untriggered(first: Digits, second: Digits) -> Whole:
    """Most columns of 9 in a row that no carry enters: they look like a cascade, but their digits stay 9."""
    columns = column_sums(first, second)
    return np.where(_carry_out(columns), 0, _run_lengths(columns == 9)).max(-1, initial=0)


def dependency(first: Digits, second: Digits) -> Whole:
    """Columns that determine the worst digit of a sum: the paper's definition of complexity, counted in columns (one
    digit of each operand). At least 2, at most one more than the places."""
    return dependency_by_place(first, second).max(-1)


def dependency_by_place(first: Digits, second: Digits) -> Whole:
    """Columns that determine each digit of the answer: `[..., places] -> [..., places + 1]`.

    They are its own column, the nines directly below it and the column below those, which decides; if the nines go
    down to place 0, no column is left to decide. No smaller set is enough: any one of them, unseen, could change the
    digit. The overflow digit's own column is the empty one above the operands, so padding with zeros changes nothing.
    """
    columns = column_sums(first, second)
    place = np.arange(1, columns.shape[-1] + 1)
    needed = np.ones((*columns.shape[:-1], columns.shape[-1] + 1), dtype=np.int64)
    needed[..., 1:] += np.minimum(_run_lengths(columns == 9) + 1, place)
    return needed


def addition_rounds(first: Digits, second: Digits) -> Whole:
    """Rounds of the corrected parallel addition; equal to the cascade length."""
    return _rounds(column_sums(first, second).astype(np.int64), 1)


def product_rounds(multiplier: Digits, multiplicand: Digits) -> Whole:
    """Rounds of the corrected parallel multiplication: the levels of a product, its dependency length."""
    return _rounds(_product_columns(multiplier, multiplicand), multiplier.shape[-1])


def parallel_addition(first: Digits, second: Digits) -> list[Whole]:
    """The paper's Algorithm 1, corrected: the columns `[..., places + 1]` at the start and after each round.

    The printed step adds the new carries to s and only then takes the remainder. This loses the ten of a column that
    reaches 10 in that very step: 99 + 1 would be 0. Here the remainder is taken of what stood there before,
    `s'[j + 1] = s[j + 1] mod 10 + s[j] // 10`, so a column that becomes 10 keeps its ten for the next round.
    """
    return _trace(column_sums(first, second).astype(np.int64), 1)


def parallel_multiplication(multiplier: Digits, multiplicand: Digits) -> list[Whole]:
    """The paper's Algorithm 2, corrected: the columns `[..., places + k]` at the start and after each round.

    Each column starts as the whole k-digit multiplier times one digit. The printed step has the slip of Algorithm 1,
    and with that repaired it still sends all of `m[j] // 10^i` to place `j + i`, which counts the higher digits again
    at every lower place: a column of 123 becomes 223. Here each *digit* of a column goes to its own place,
    `(m[j] // 10^i) mod 10` to place `j + i` for i up to k.
    """
    return _trace(_product_columns(multiplier, multiplicand), multiplier.shape[-1])


def carry_round(columns: Whole, farthest: int) -> Whole:
    """One round of either algorithm: every digit of every column moves to the place where it belongs, at most
    `farthest` places up. All columns move at once, and each reads only what stood there before the round."""
    after = columns % 10
    for distance in range(1, min(farthest, columns.shape[-1] - 1) + 1):
        after[..., distance:] += columns[..., :-distance] // 10**distance % 10
    return after


def _carry_out(columns: NDArray) -> NDArray[np.bool_]:
    return dg.carries(columns != 9, columns > 9)[..., 1:]


def _cascade(columns: NDArray) -> Whole:
    return np.where(_carry_out(columns), _run_lengths(columns == 9) + 1, 0).max(-1, initial=0)


def _run_lengths(mask: NDArray[np.bool_]) -> Whole:
    """For each place the number of true entries in a row that end there; 0 at a false entry."""
    place = np.arange(1, mask.shape[-1] + 1)
    return place - np.maximum.accumulate(np.where(mask, 0, place), axis=-1)


def _rounds(columns: Whole, farthest: int) -> Whole:
    """The number of rounds, most of them not carried out: once no column exceeds 18, all carries are 1 and the cascade
    is the number of rounds left. So two or three rounds are enough for numbers of any length."""
    columns = _widen(columns, farthest)
    rounds = np.zeros(columns.shape[:-1], dtype=np.int64)
    while columns.max(initial=0) > 18:
        rounds += (columns > 9).any(-1)
        columns = carry_round(columns, farthest)
    return rounds + _cascade(columns)


def _trace(columns: Whole, farthest: int) -> list[Whole]:
    trace = [_widen(columns, farthest)]
    while (trace[-1] > 9).any():
        trace.append(carry_round(trace[-1], farthest))
    return trace


def _widen(columns: Whole, places: int) -> Whole:
    return np.pad(columns, [(0, 0)] * (columns.ndim - 1) + [(0, places)])


def _product_columns(multiplier: Digits, multiplicand: Digits) -> Whole:
    width = multiplier.shape[-1]
    if not 1 <= width <= MAX_MULTIPLIER:
        raise ValueError(f"a multiplier needs 1 to {MAX_MULTIPLIER} digits, not {width}")
    value = (multiplier * 10 ** np.arange(width)).sum(-1)
    return value[..., None] * multiplicand
