"""How likely each number of levels of a k x n product is: the rounds of the parallel multiplication.

Let m, m' and m'' be the columns at the start, after one round and after two (`complexity.parallel_multiplication`).
A column of m' is at most 9 (k + 1) and one of m'' at most 12, so from m'' on all carries are 1 and a cascade is left:

    levels = [some m > 9] + [some m' > 9] + cascade(m'')        for k = 2 and 3
    levels = [some m > 9] + cascade(m')                         for k = 1, where m' is at most 17

Read the multiplicand from the ones upwards. Whatever the digits read so far do to higher columns is a *state*: the
multiplier, what waits for each of the next k columns of m', and the carry of the second round. This is the state of
56 x 4297 after its digits 7 and 9:

    place              3   2   1   0
    7 x 56 = 392           3   9   2
    9 x 56 = 504       5   0   4
    m' complete               13   2      the second round carries 1 from place 1 to place 2
    still waiting      5   3              so the state is (56, 5, 3, 1)

The next digit and the state give the next column of m'' and the next state. Counting the paths through the states
gives the law without listing the problems.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from digitwise.counts import wilson
from digitwise.numbers import complexity
from digitwise.numbers import digits as dg
from digitwise.numbers.sums import Law
from digitwise.rng import generator

METHODS = ("exact", "double", "monte carlo")
EMPTY_COLUMNS = 3  # above the multiplicand: a digit of a product moves up by at most three places
# The longest multiplicands whose laws take a second or two, exactly and in floating point. Multipliers of three digits
# have 900,000 states, so these laws take minutes; only naming the method computes them.
FEASIBLE = {1: (200, 2000), 2: (18, 40), 3: (0, 0)}


def levels_law(
    multiplier: int,
    length: int,
    leading: bool = False,
    method: str | None = None,
    upto: int = 12,
    samples: int = 200_000,
    seed: int = 0,
) -> Law:
    """The law of the levels of a product.

    The multiplier is uniform among the numbers of `multiplier` digits without a leading zero (1 to 9 for one digit, as
    in the paper), the multiplicand uniform below 10^length or, with `leading`, among those of exactly `length` digits.
    The last class, `upto`, is open. By default the method is the best one that takes about a second: "exact", or
    "double" (the same sums in floating point, good to about 1e-13), or "monte carlo" with 95 % intervals, which is
    the default for all multipliers of three digits (see FEASIBLE).
    """
    if not 1 <= multiplier <= 3:
        raise ValueError(f"levels are known for multipliers of 1 to 3 digits, not {multiplier}")
    if length < 1:
        raise ValueError(f"a law needs a length of at least 1, not {length}")
    if upto < 2:
        raise ValueError(f"upto must be at least 2, not {upto}")
    if method is None:
        exact, double = FEASIBLE[multiplier]
        method = "exact" if length <= exact else "double" if length <= double else "monte carlo"
    if method not in METHODS:
        raise ValueError(f"no method '{method}'; there is {', '.join(METHODS)}")
    if method == "monte carlo":
        return _estimate(multiplier, length, leading, upto, samples, seed)
    return _count(multiplier, length, leading and length > 1, method == "exact", upto)


def _estimate(multiplier: int, length: int, leading: bool, upto: int, samples: int, seed: int) -> Law:
    rng = generator(seed, "levels", multiplier, length, int(leading))
    values = rng.integers(10 ** (multiplier - 1), 10**multiplier, samples)
    multipliers = (values[:, None] // 10 ** np.arange(multiplier) % 10).astype(np.uint8)
    multiplicands = rng.integers(0, 10, (samples, length), dtype=np.uint8)
    if leading:
        multiplicands = dg.sample(rng, length, np.full(samples, length))
    levels = np.minimum(complexity.product_rounds(multipliers, multiplicands), upto)
    counts = np.bincount(levels, minlength=upto + 1)
    intervals = np.array([wilson(int(count), samples) for count in counts])
    return Law(counts / samples, "monte carlo", True, intervals, samples)


@lru_cache(maxsize=16)
def _count(multiplier: int, length: int, leading: bool, exact: bool, upto: int) -> Law:
    """The differences of P(levels <= 0), P(levels <= 1), ...: no level means that no m exceeds 9; if k > 1, at most one
    level means that no m' does; each further limit is one on the cascade, 0, 1, and so on."""
    states = reachable_states(multiplier)
    # Python's integers hold anything; int64 holds the 10^18 multiplicands of one multiplier and is far faster.
    dtype: Any = np.float64 if not exact else np.int64 if length <= 18 else object

    at_most: list[Any] = [_no_carry(multiplier, length, leading)]
    if multiplier > 1:
        at_most += _shares(states, _from_the_top(states, length, leading, states.carry == 0), dtype, [0])
    everything = np.ones(states.column.shape, dtype=bool)
    choices, limits = _from_the_top(states, length, leading, everything), list(range(upto - len(at_most)))
    together = len(limits) if len(states.follow) < 1000 else 1  # few states: fewer, larger steps; many: less memory
    for first in range(0, len(limits), together):
        at_most += _shares(states, choices, dtype, limits[first : first + together])
    probabilities = np.diff(np.array([0, *at_most, 1], dtype=object))
    probabilities = probabilities if exact else np.maximum(probabilities.astype(np.float64), 0.0)
    probabilities.setflags(write=False)  # laws are remembered, so nobody may change one
    return Law(probabilities, "exact" if exact else "double", open=True)


def _no_carry(multiplier: int, length: int, leading: bool) -> Fraction:
    """P(no m > 9): the multiplier times every single digit is below 10."""
    shares = []
    for value in range(10 ** (multiplier - 1), 10**multiplier):
        small = sum(value * digit < 10 for digit in range(10))
        shares.append(Fraction(small, 10) ** (length - 1) * Fraction(small - leading, 10 - leading))
    return sum(shares, Fraction(0)) / len(shares)


@dataclass(frozen=True, eq=False)
class States:
    """The states of all multipliers, numbered together, and what each does with the next digit: `[states, 10]`."""

    starts: NDArray[np.int64]  # [multipliers], the state before the ones
    follow: NDArray[np.int64]  # the next state
    column: NDArray[np.int64]  # the column of m'', of m' if k = 1
    carry: NDArray[np.int64]  # what the second round carries out of that column: m' // 10; 0 if k = 1


@lru_cache(maxsize=3)
def reachable_states(multiplier: int) -> States:
    """All states that can occur, found breadth first for all multipliers at once."""
    values = np.arange(10 ** (multiplier - 1), 10**multiplier)
    starts = np.ravel_multi_index((values, *[0 * values] * (multiplier + 1)), _radices(multiplier))
    frontier = known = starts
    while len(frontier):
        frontier = np.setdiff1d(_read(frontier, multiplier)[0], known)
        known = np.union1d(known, frontier)
    follow, column, carry = _read(known, multiplier)
    return States(np.searchsorted(known, starts), np.searchsorted(known, follow), column, carry)


def _radices(multiplier: int) -> tuple[int, ...]:
    """More than the parts of a state can be: the multiplier, what waits for each of k columns, and the carry.

    Written in these radices a state is one integer, which is fast to sort: (56, 5, 3, 1) has the radices 100, 28, 28
    and 28, so it is ((56 x 28 + 5) x 28 + 3) x 28 + 1 = 1233317.
    """
    return 10**multiplier, *[9 * multiplier + 10] * (multiplier + 1)


def _read(states: NDArray[np.int64], multiplier: int) -> tuple[NDArray[np.int64], ...]:
    """The next state, the column and the carry of the second round, `[states, 10]`, after each possible digit.

    >>> seven = _read(np.array([56 * 28**3]), 2)[0][:, 7]
    >>> _read(seven, 2)[0][:, 9].tolist()
    [1233317]
    """
    radices = _radices(multiplier)
    value, *waiting, carry_in = (part[:, None] for part in np.unravel_index(states, radices))
    product = value * np.arange(10)
    now, *later = (before + product // 10**up % 10 for up, before in enumerate([*waiting[::-1], 0]))
    column, carry = (now, 0 * now) if multiplier == 1 else (now % 10 + carry_in, now // 10)
    follow = np.ravel_multi_index(np.broadcast_arrays(value, *later[::-1], carry), radices)
    return follow, column, carry


class Choices(NamedTuple):
    """Where the digits that may stand at one place lead from each state: `[choices, states]`.

    With N states, `deciding` holds the next state after a column below 9, N + the next state after a column above 9,
    and 2N if there is no such choice. `nine` holds the next state after a column of 9, and N if there is no such
    choice.
    """

    deciding: NDArray[np.int64]
    nine: NDArray[np.int64]
    digits: int  # how many digits may stand there


def _from_the_top(states: States, length: int, leading: bool, allowed: NDArray[np.bool_]) -> list[Choices]:
    """The choices at each place, highest place first: zeros until nothing waits, the leading digit, all others."""
    above, top, rest = (_choices(states, allowed, digits) for digits in (range(1), range(int(leading), 10), range(10)))
    return [above] * EMPTY_COLUMNS + [top] + [rest] * (length - 1)


def _choices(states: States, allowed: NDArray[np.bool_], digits: range) -> Choices:
    tables = (allowed, states.column, states.follow)
    may, column, follow = (table[:, digits.start : digits.stop] for table in tables)
    number = len(follow)
    deciding = np.where(may & (column != 9), follow + number * (column > 9), 2 * number)
    nine = np.where(may & (column == 9), follow, number)
    return Choices(_dense(deciding, 2 * number), _dense(nine, number), len(digits))


def _dense(table: NDArray[np.int64], missing: int) -> NDArray[np.int64]:
    """`[states, digits] -> [choices, states]` with as few choices as possible: most digits do not give a 9."""
    table = np.sort(table, axis=1)
    return np.ascontiguousarray(table[:, (table != missing).any(0)].T)


def _shares(states: States, choices: list[Choices], dtype: Any, limits: list[int]) -> list[Any]:
    """The share of the problems without a cascade longer than each limit.

    `ways[limit, cascade, state]` is the number of ways to choose all digits above, if the cascade that ends right
    below has `cascade` columns. In floating point it is the share of these ways, since their number would overflow.
    """
    too_long = np.arange(max(limits) + 2) > np.array(limits)[:, None]
    ways = np.ones((*too_long.shape, len(states.follow)), dtype=dtype)
    ways[too_long] = 0
    for place in choices:
        ways = _one_place_down(ways, place)
        ways[too_long] = 0
        if dtype is np.float64:
            ways /= place.digits
    if dtype is np.float64:
        return [float(by_cascade[0, states.starts].sum()) / len(states.starts) for by_cascade in ways]
    problems = len(states.starts) * prod(place.digits for place in choices)
    return [Fraction(sum(int(way) for way in by_cascade[0, states.starts]), problems) for by_cascade in ways]


def _one_place_down(ways: NDArray[Any], place: Choices) -> NDArray[Any]:
    """The sum of the ways over the digits that may stand at this place."""
    nowhere = np.zeros_like(ways[:, 0, :1])
    after_deciding = np.concatenate([ways[:, 0], ways[:, 1], nowhere], axis=-1)
    # A nine makes a cascade longer by one column, and makes none where there is none.
    after_nine = np.zeros((*ways.shape[:-1], ways.shape[-1] + 1), dtype=ways.dtype)
    after_nine[:, 0, :-1] = ways[:, 0]
    after_nine[:, 1:-1, :-1] = ways[:, 2:]
    down = np.zeros_like(ways)
    for choice in place.deciding:
        down += after_deciding[:, choice][:, None]
    for choice in place.nine:
        down += after_nine[:, :, choice]
    return down
