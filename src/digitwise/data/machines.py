"""Columns drawn under a condition on their chains, without rejection.

Only the sort of a column matters: low, nine or high (see `numbers.sums`). So a sum is drawn in two steps: the sorts of
its columns, from the ones upwards, and then a uniform pair of digits for each column of the drawn sort.

A small machine reads the sorts and accepts those that meet the condition. This is `cascades(2)`, which accepts a sum
if its longest cascade has exactly 2 columns. Its state is the length of the cascade that ends with the last column
read, plus 3 once a cascade of 2 columns has occurred. It starts in state 0 and accepts in the states 3, 4 and 5:

    state                                                next state after   low   nine   high
    0    no cascade ends here                                                0     0      1
    1    a cascade of 1 column ends here                                     0     5      1
    2    never entered, because 2 columns lead to state 5
    3    like 0, after a cascade of 2 columns                                3     3      4
    4    like 1, after a cascade of 2 columns                                3     5      4
    5    a cascade of 2 columns ends here                                    3    dead    4

For example, low, high, nine, low leads to 0, 1, 5, 3 and is accepted; one more nine before the last low is not. If
each step is taken with a probability proportional to the number of ways to finish after it, every accepted sum is
equally likely. These numbers are counted beforehand, from the top column down.

>>> cascades(2).follow[[0, 1, 3, 4, 5]].tolist()
[[0, 0, 1], [0, 5, 1], [3, 3, 4], [3, 5, 4], [3, -1, 4]]
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from digitwise.numbers.digits import Digits
from digitwise.numbers.sums import columns

LOW, NINE, HIGH = range(3)
DEAD = -1


@dataclass(frozen=True, eq=False)
class Machine:
    """The next state after each state and sort. It starts in state 0, as no carry enters the ones."""

    follow: NDArray[np.int64]  # [states, 3], DEAD after a column that must not come
    accepts: NDArray[np.bool_]  # [states], whether the columns may end there
    after_run: int = 0  # the state right above a run of nines that was put there; the next column must not be a nine


def cascades(longest: int) -> Machine:
    """Accepts if the longest cascade has exactly `longest` columns. The module's docstring shows the states."""
    return _exactly(longest, lambda length: (0, length + 1 if length else 0, 1))


def consecutive(longest: int) -> Machine:
    """Accepts if exactly `longest` carries is the most in a row, and no carry enters a nine. The states count the
    carries in a row that end here, as those of `cascades` count columns."""
    return _exactly(longest, lambda length: (0, DEAD if length else 0, length + 1))


def _exactly(longest: int, grow: Callable[[int], tuple[int, int, int]]) -> Machine:
    """`grow` tells how long a chain becomes with a low column, a nine and a high one."""
    grown = np.array([grow(length) for length in range(longest + 1)])
    grown[grown > longest] = DEAD
    size = longest + 1
    not_yet = np.where(grown == longest, grown + size, grown)
    reached = np.where(grown == DEAD, DEAD, grown + size)
    return Machine(np.concatenate([not_yet, reached]), np.arange(2 * size) >= size)


def triggered_at_most(run: int) -> Machine:
    """Accepts if no run of nines that a carry enters is longer than `run`.

    States: 0 if no carry ends here, 1 + n if a carry and n nines above it do, and `after_run`.
    """
    follow = np.empty((run + 3, 3), dtype=np.int64)
    follow[:, LOW], follow[:, HIGH] = 0, 1
    follow[:, NINE] = [0, *range(2, run + 2), DEAD, DEAD]
    return Machine(follow, np.ones(run + 3, dtype=bool), after_run=run + 2)


def untriggered_at_most(run: int) -> Machine:
    """Accepts if no run of nines without a carry is longer than `run`.

    States: n if n nines without a carry end here, run + 1 if a carry ends here, and `after_run`.
    """
    follow = np.empty((run + 3, 3), dtype=np.int64)
    follow[:, LOW], follow[:, HIGH] = 0, run + 1
    follow[:, NINE] = [*range(1, run + 1), DEAD, run + 1, DEAD]
    return Machine(follow, np.ones(run + 3, dtype=bool), after_run=run + 2)


@dataclass(frozen=True, eq=False)
class Chances:
    """How to draw a step by a uniform number: below `low` the column is low, below `nine` a nine, else high.

    Tables are flat, because a lookup by `left * states + state` is faster than one by two indices; `left` is the
    number of columns that are still to be drawn.
    """

    low: NDArray[np.float64]  # [left * states]
    nine: NDArray[np.float64]  # [left * states]
    follow: NDArray[np.int64]  # [states * 3]
    states: int
    after_run: int


MOST_CHANCES = 50_000_000
"""About a gigabyte of them; a run of 1,000 nines in 1,005 digits needs three million."""


@lru_cache(maxsize=64)
def chances_of(build: Callable[[int], Machine], longest: int, places: int, leading: bool) -> Chances:
    """The chances of the machine `build(longest)` for up to `places` columns; with `leading` the top digits are not
    zero. The ways to finish are kept as logarithms: those of a cascade of 400 columns differ by a factor of 10^400."""
    machine = build(longest)
    if (places + 1) * machine.follow.size > MOST_CHANCES:
        raise ValueError(f"chains of {longest} columns in {places:,} digits need too much memory: try shorter numbers")
    with np.errstate(divide="ignore"):
        log_finish = np.log(machine.accepts.astype(float))
        log_write = {at_top: np.log(np.array(columns(10, at_top), dtype=float)) for at_top in (False, True)}
    share = np.zeros((places + 1, *machine.follow.shape))
    for left in range(1, places + 1):
        log_step = np.append(log_finish, -np.inf)[machine.follow] + log_write[leading and left == 1]
        log_finish = np.logaddexp.reduce(log_step, axis=1)
        possible = np.isfinite(log_finish)
        share[left, possible] = np.exp(log_step[possible] - log_finish[possible, None])
    # Rounding must not let an impossible sort come: its interval is empty, and the last possible one ends at exactly 1.
    nine = np.where(share[..., HIGH] == 0, 1.0, share[..., LOW] + share[..., NINE])
    low = np.where(share[..., NINE] == 0, nine, share[..., LOW])
    return Chances(low.ravel(), nine.ravel(), machine.follow.ravel(), len(machine.accepts), machine.after_run)


def draw_sorts(
    rng: np.random.Generator,
    chances: Chances,
    count: int,
    places: int,
    lengths: NDArray[np.int64] | None = None,
    start: int = 0,
) -> NDArray[np.uint8]:
    """The sorts of the columns of `count` problems, `[count, places]`. If `lengths` is given, problem i has
    `lengths[i]` columns, and what stands above them is meaningless."""
    state = np.full(count, start)
    left = np.full(count, places) if lengths is None else lengths
    sorts = np.empty((places, count), dtype=np.uint8)
    for place in range(places):
        at = np.maximum(left - place, 0) * chances.states + state
        drawn = rng.random(count)
        sort = (drawn >= chances.low[at]).view(np.uint8) + (drawn >= chances.nine[at]).view(np.uint8)
        sorts[place] = sort
        # Above its length a problem may be in a dead state, which has no entry in the tables.
        state = np.maximum(chances.follow[state * 3 + sort], 0)
    return np.ascontiguousarray(sorts.T)


def draw_digits(rng: np.random.Generator, sorts: NDArray[np.uint8], leading: bool) -> Digits:
    """A uniform pair of digits for each column of the given sort: `[count, places] -> [count, 2, places]`."""
    first, second = _pairs(False)
    choice = rng.integers(0, len(first) // 3, sorts.shape, dtype=np.uint16) * np.uint16(3) + sorts
    out = np.empty((len(sorts), 2, sorts.shape[1]), dtype=np.uint8)
    np.take(first, choice, out=out[:, 0])
    np.take(second, choice, out=out[:, 1])
    if leading:
        first, second = _pairs(True)
        top = rng.integers(0, len(first) // 3, len(sorts)) * 3 + sorts[:, -1]
        out[:, 0, -1], out[:, 1, -1] = first[top], second[top]
    return out


@lru_cache(maxsize=2)
def _pairs(leading: bool) -> tuple[Digits, Digits]:
    """First and second digits at `choice * 3 + sort`. The number of choices is a multiple of the number of pairs of
    each sort, so a uniform choice gives uniform pairs whatever the sort."""
    digits = range(int(leading), 10)
    by_sort: list[list[tuple[int, int]]] = [[], [], []]
    for a in digits:
        for b in digits:
            by_sort[(a + b > 8) + (a + b > 9)].append((a, b))
    choices = np.lcm.reduce([len(pairs) for pairs in by_sort])
    both = np.array([[pairs[choice % len(pairs)] for pairs in by_sort] for choice in range(choices)], dtype=np.uint8)
    return np.ascontiguousarray(both[..., 0].ravel()), np.ascontiguousarray(both[..., 1].ravel())
