"""Every case where rows hear rows: sums of many numbers, and products.

What a row says to the next one can meet any carry there, since both depend on different digits. So this walk lets every
message of a row meet every carry, but for what `products` knows: more than can happen, and a machine that passes is
right. What a code tells the next
row has one meaning. What it tells the next place has one meaning for each kind of row: a row of the digit 5 need not
say a carry of 4 as a row of the digit 8 does, since nobody hears both. The meaning is the one that most of the
situations in which a code first appears give to it; a code that is said where it does not fit is wrong there and not
followed, or one slip would make all that follows look wrong. For the same reason a walk can be told which codes are
said `often`: then others, the strays, are wrong where they are said. If nothing is wrong, no stray is said, and nothing
was left out. A wrong case need not have a problem that shows it: `expose` searches for one.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from digitwise.machines.run import lay_out, run
from digitwise.machines.table import NOTHING, Ints, Situation, Table
from digitwise.machines.walk import ACROSS, ALONG, OVER, READ, SEEN, State, Tell, Walk, phase_after, value
from digitwise.tasks.problems import Kind
from digitwise.tasks.symbols import PAD, PLUS, SPELLING, TIMES

ROUNDS = 108
"""Of 20,000 problems each."""
EACH = 3
"""Problems that are searched for each situation."""
RARE = 500
"""Problems whose neighbours are searched."""
LONGEST = 5
"""Digits of the numbers in problems that are searched for."""


class Step(NamedTuple):
    """A cell in a situation, and what should come of it."""

    situation: Situation
    symbol: int
    carry: int  # what it should say along
    result: int  # what it should say across
    used: int
    after: State  # of the row, without the code
    where: bool  # what the next row needs to know of the place
    row: tuple[int, ...]  # the kind of row: what all of its cells have in common
    carries: str  # what its messages along are called


Heard = dict[bool, dict[int, int]]
"""Codes that a row can hear from the one before, with what they stand for: from two kinds of places, which for sums are
the lowest and others, for products those where the multiplicand is over and others."""


def sums_of_many(tell: Tell, often: Collection[int] | None = None) -> Walk:
    """States of a row: what is heard, the carry, whether it is the first row, the phases of its number and of the sum
    so far. A sum is right from two numbers on, so the first row is never read."""

    def steps(state: State, heard: Heard) -> Iterator[Step]:
        code, carry, first, x_phase, sum_phase = state
        lowest = x_phase is None
        for x in SEEN:
            after_x = phase_after(x_phase, x)
            for across, so_far in ({NOTHING: PAD} if first else heard[lowest]).items() if after_x is not None else ():
                after_sum = OVER if first else phase_after(sum_phase, so_far)
                if after_sum is not None:
                    total = value(x) + value(so_far) + carry
                    right = PAD if x == so_far == PAD and not total else total % 10
                    used = ALONG | ACROSS if first else READ | ALONG | ACROSS
                    after = (total // 10, first, after_x, after_sum)
                    situation = Situation(PLUS, (x,), code, across)
                    yield Step(situation, right, total // 10, right, used, after, lowest, (first,), "carry")

    return _walk(tell, {(NOTHING, 0, first, None, None) for first in (True, False)}, steps, often)


def products(tell: Tell, often: Collection[int] | None = None) -> Walk:
    """States of a row: what is heard, the carry, whether it is the first row, its digit of the multiplier, the phase of
    the multiplicand. A row hears the digits of the row before one place lower: ten times the result so far. So it hears
    what was said below the same symbol of the multiplicand that it has read last, a digit or a pad."""

    def steps(state: State, heard: Heard) -> Iterator[Step]:
        code, carry, first, m, phase = state
        rows = {NOTHING: 0} if first or phase is None else heard[phase == OVER]
        for x in SEEN:
            after_x = phase_after(phase, x)
            for across, so_far in rows.items() if after_x is not None else ():
                carry_on, digit = divmod(m * value(x) + so_far + carry, 10)
                situation = Situation(TIMES, (m, x), code, across)
                after = (carry_on, first, m, after_x)
                used = READ | ALONG | ACROSS
                over, row = after_x == OVER, (first, m)
                yield Step(situation, digit, carry_on, digit, used, after, over, row, f"carry in rows of {m}")

    return _walk(tell, {(NOTHING, 0, first, m, None) for first in (True, False) for m in range(10)}, steps, often)


def _walk(
    tell: Tell, states: set[State], steps_of: Callable[[State, Heard], Iterable[Step]], often: Collection[int] | None
) -> Walk:
    walk, carries, results = Walk(tell), _Meanings(), _Meanings()
    heard: Heard = {True: {}, False: {}}
    done: set[tuple[State, Situation]] = set()
    while True:
        new = [
            (state, step) for state in states for step in steps_of(state, heard) if (state, step.situation) not in done
        ]
        if not new:
            break
        told = walk.told([(step.situation, step.used) for _, step in new])
        carries.settle(((*step.row, one.along), step.carry) for one, (_, step) in zip(told, new, strict=True))
        results.settle(((one.across,), step.result) for one, (_, step) in zip(told, new, strict=True))
        for (state, step), (symbol, along, across) in zip(new, told, strict=True):
            done.add((state, step.situation))
            fits_along = carries.of[*step.row, along] == step.carry
            fits_across = results.of[across,] == step.result and (often is None or across in often)
            if (step.used & READ and symbol != step.symbol) or not (fits_along and fits_across):
                walk.wrong[step.situation] = None
            if fits_along:
                states.add((along, *step.after))
            if fits_across:
                heard[step.where][across] = step.result
            walk.meanings[step.carries][along].add(SPELLING[carries.of[*step.row, along]])
            walk.meanings["digit to the next row"][across].add(SPELLING[results.of[across,]])
    return walk


WALKS = {"sums": sums_of_many, "product": products}


class _Meanings:
    """What codes stand for, those along a row by the kind of row."""

    def __init__(self) -> None:
        self.of: dict[tuple[int, ...], int] = {}

    def settle(self, said: Iterable[tuple[tuple[int, ...], int]]) -> None:
        votes: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
        for code, meaning in said:
            if code not in self.of:
                votes[code][meaning] += 1
        self.of |= {code: counted.most_common(1)[0][0] for code, counted in votes.items()}


def expose(table: Table, claim: str, wrong: Iterable[Situation], rng: np.random.Generator) -> list[str]:
    """Problems of at most 5 digits in which these very situations occur, few for each, shortest first.

    All are run by the table: random ones, ones made of few different digits and of nines, and neighbours of those that
    led into the rarest situations so far. What is wrong late in training is beside what is rare.
    """
    own, digits_AK, along, across = (np.array(part) for part in zip(*wrong, strict=True))
    left = np.zeros(len(table.symbol), dtype=np.int64)  # how many problems are still wanted, by number of the situation
    left[table.number(table.combination(own, list(digits_AK.T)), along, across)] = EACH
    met = np.zeros(len(table.symbol), dtype=np.int64)  # how often
    rare: dict[int, Ints] = {}  # problems, by number of rows
    found: list[str] = []
    for round_ in range(ROUNDS):
        if not left.any():
            break
        rows = 1 + round_ % 3 if claim == "product" else 2 + round_ % 4
        kind = Kind("*" if claim == "product" else "+", rows)
        values = _numbers(rng, 20_000, rows, claim)
        if rows in rare:
            values[: len(values) // 2] = _neighbours(rng, rare[rows], len(values) // 2, kind.factor)
        digits = (values[..., None] // 10 ** np.arange(LONGEST) % 10).astype(np.uint8)
        multipliers, numbers = np.split(digits, [bool(kind.factor)], axis=1)
        layout = lay_out(table, kind, numbers, multipliers.reshape(len(digits), -1))
        met_BRP = np.stack([row.numbers_BP for row in run(table, layout)], axis=1)
        met += np.bincount(met_BRP.ravel(), minlength=len(met))
        rare[rows] = values[np.argsort(met[met_BRP].min((1, 2)), kind="stable")[:RARE]]
        where = np.nonzero(left[met_BRP])
        hit, first = np.unique(met_BRP[where], return_index=True)
        left[hit] -= 1
        found += [f" {kind.operator} ".join(map(str, values[problem])) for problem in where[0][first]]
    return sorted(dict.fromkeys(found), key=len)


def _neighbours(rng: np.random.Generator, values: Ints, count: int, factor: int) -> Ints:
    """Problems that differ in one digit from these; a multiplier of so many digits, if there is one, keeps them."""
    every, values = np.arange(count), values[rng.integers(0, len(values), count)]
    which, at = rng.integers(0, values.shape[1], count), rng.integers(0, LONGEST, count)
    in_factor = (which == 0) & (factor > 0)
    place = 10 ** np.where(in_factor, at % max(factor, 1), at)
    old = values[every, which]
    new = old + (rng.integers(0, 10, count) - old // place % 10) * place
    values[every, which] = np.where(in_factor & (factor > 1) & (new < 10 ** max(factor - 1, 0)), old, new)
    return values


def _numbers(rng: np.random.Generator, count: int, rows: int, claim: str) -> Ints:
    """Values `[count, rows]`, or for products the multiplier of so many digits and the multiplicand."""
    shape = (count, rows if claim == "sums" else 1)
    values, digit = np.zeros(shape, dtype=np.int64), rng.integers(0, 10, shape)
    stays = rng.choice([0.0, 0.5, 0.8], (count, 1))
    for _ in range(LONGEST):
        chance = rng.random(shape)
        digit = np.where(chance < stays, digit, np.where(chance < stays + 0.15, 9, rng.integers(0, 10, shape)))
        values = values * 10 + digit
    values %= 10 ** rng.integers(1, LONGEST + 1, shape)
    if claim == "sums":
        return values
    multiplier = rng.integers(10 ** (rows - 1) if rows > 1 else 0, 10**rows, (count, 1))
    few = rng.choice([0, 1, 8, 9], (count, rows)) @ 10 ** np.arange(rows)
    few = np.where(few < 10 ** (rows - 1), few + 9 * 10 ** (rows - 1), few)
    return np.concatenate([np.where(rng.random((count, 1)) < 0.5, multiplier, few[:, None]), values], axis=1)
