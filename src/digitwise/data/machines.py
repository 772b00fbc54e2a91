"""Columns drawn under a condition on their chains, without rejection.

Only three sorts of columns matter (below, at or above 9; see `laws`), so a sum is drawn in two steps. First the sorts,
from the ones upwards, by a small machine whose *state* says how long the chain below is and whether the wanted length
has been reached; each step is weighted by the ways to finish from where it leads, which are counted beforehand from
the top down. Then the pair of digits of each column, uniform among those of its sort.
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
    """The next state for each state and sort of column. All start in state 0: below place 0 there is no carry."""

    follow: NDArray[np.int64]  # [states, 3], DEAD for a column that must not come
    final: NDArray[np.bool_]  # [states]
    exit: int = 0  # the state right behind a run of nines, if the machine is used there


def cascades(longest: int) -> Machine:
    """States: the cascade that reaches up to here has 0 to `longest` columns; the same once `longest` was reached."""
    size = longest + 1
    follow = np.full((2 * size, 3), DEAD)
    for reached in (0, size):
        for current in range(size):
            state = reached + current
            follow[state, LOW] = reached
            follow[state, NINE] = reached if current == 0 else state + 1 if current < longest else DEAD
            follow[state, HIGH] = reached + 1 if longest else DEAD
    # Arriving at a cascade of `longest` columns moves to the second half.
    follow[follow == longest] = size + longest
    if longest == 0:
        follow[:, :2] = size
    return Machine(follow, np.arange(2 * size) >= size)


def consecutive(longest: int) -> Machine:
    """States: 0 to `longest` carries in a row reach up to here; the same once `longest` was reached."""
    size = longest + 1
    follow = np.full((2 * size, 3), DEAD)
    for reached in (0, size):
        for current in range(size):
            follow[reached + current, LOW] = reached
            follow[reached + current, NINE] = reached if current == 0 else DEAD
            follow[reached + current, HIGH] = reached + current + 1 if current < longest else DEAD
    follow[follow == longest] = size + longest
    return Machine(follow, np.arange(2 * size) >= size)


def triggered_limit(run: int) -> Machine:
    """No run of nines entered with a carry is longer than `run`. States: no carry, one and 0 to `run` nines, exit."""
    follow = np.empty((run + 3, 3), dtype=np.int64)
    follow[:, LOW], follow[:, HIGH] = 0, 1
    follow[:, NINE] = [0, *range(2, run + 2), DEAD, DEAD]
    return Machine(follow, np.ones(run + 3, dtype=bool), exit=run + 2)


def untriggered_limit(run: int) -> Machine:
    """No run of nines entered without a carry is longer than `run`. States: 0 to `run` such nines, a carry, exit."""
    follow = np.empty((run + 3, 3), dtype=np.int64)
    follow[:, LOW], follow[:, HIGH] = 0, run + 1
    follow[:, NINE] = [*range(1, run + 1), DEAD, run + 1, DEAD]
    return Machine(follow, np.ones(run + 3, dtype=bool), exit=run + 2)


@dataclass(frozen=True, eq=False)
class Table:
    """A machine with the chances of its steps, given how many columns are left."""

    follow: NDArray[np.int64]  # [states * 3]
    not_low: NDArray[np.float64]  # [left * states], a uniform number from here on up is no low column
    high: NDArray[np.float64]  # [left * states], and from here on up a high one
    states: int
    exit: int


@lru_cache(maxsize=64)
def table(build: Callable[[int], Machine], longest: int, places: int, leading: bool) -> Table:
    """The weights of all ways to finish, from the last column backwards. Logarithms, as a cascade of 400 columns is
    likelier by a factor of 10^400 where it has already begun."""
    machine = build(longest)
    states = len(machine.final)
    with np.errstate(divide="ignore"):
        sofar = np.log(machine.final.astype(float))
        ways = {at_top: np.log(np.array(columns(10, at_top), dtype=float)) for at_top in (False, True)}
    chances = np.zeros((places + 1, states, 3))
    for left in range(1, places + 1):
        step = np.append(sofar, -np.inf)[machine.follow] + ways[leading and left == 1]
        sofar = np.logaddexp.reduce(step, axis=1)
        possible = np.isfinite(sofar)
        chances[left, possible] = np.exp(step[possible] - sofar[possible, None])
    # What cannot come must not come by rounding either: a last sort that is impossible starts at exactly 1.
    high = np.where(chances[..., HIGH] == 0, 1.0, chances[..., LOW] + chances[..., NINE])
    not_low = np.where(chances[..., NINE] == 0, high, chances[..., LOW])
    return Table(machine.follow.ravel(), not_low.ravel(), high.ravel(), states, machine.exit)


def walk(
    rng: np.random.Generator,
    chances: Table,
    count: int,
    places: int,
    lengths: NDArray[np.int64] | None = None,
    start: int = 0,
) -> NDArray[np.uint8]:
    """The sorts of `lengths` columns (all, if not given) of `count` problems, `[count, places]`; what stands beyond a
    problem's length means nothing."""
    state = np.full(count, start)
    left = np.full(count, places) if lengths is None else lengths
    sorts = np.empty((places, count), dtype=np.uint8)
    for place in range(places):
        at = np.maximum(left - place, 0) * chances.states + state
        drawn = rng.random(count)
        sort = (drawn >= chances.not_low[at]).view(np.uint8) + (drawn >= chances.high[at]).view(np.uint8)
        sorts[place] = sort
        # Beyond its length a problem only has to stay somewhere in the table.
        state = np.maximum(chances.follow[state * 3 + sort], 0)
    return np.ascontiguousarray(sorts.T)


def write(rng: np.random.Generator, sorts: NDArray[np.uint8], leading: bool) -> Digits:
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
    """First and second digits by `choice * 3 + sort`, so many choices that each pair of a sort occurs equally often."""
    digits = range(int(leading), 10)
    by_sort: list[list[tuple[int, int]]] = [[], [], []]
    for a in digits:
        for b in digits:
            by_sort[(a + b > 8) + (a + b > 9)].append((a, b))
    choices = np.lcm.reduce([len(pairs) for pairs in by_sort])
    both = np.array([[pairs[choice % len(pairs)] for pairs in by_sort] for choice in range(choices)], dtype=np.uint8)
    return np.ascontiguousarray(both[..., 0].ravel()), np.ascontiguousarray(both[..., 1].ravel())
