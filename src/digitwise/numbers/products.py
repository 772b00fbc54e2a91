"""How likely each number of levels of a k x n product is: the rounds of the parallel multiplication.

The first round leaves columns of at most 9 (k + 1), the second at most 12, and from then on carries are 1 and the
rounds left are a cascade. So the levels are, with m, m', m'' the columns at the start and after one and two rounds,

    [some m > 9] + [some m' > 9] + cascade(m'')          (one digit: [some m > 9] + cascade(m'), as m' is at most 17)

and a column of m' or m'' depends on the multiplier and on few digits below it. Reading the multiplicand from its ones
upwards, a machine with a *state* (what the digits read so far still send to the next k columns, and the carry of the
second round) therefore sees every column, and counting its paths gives the law without listing the problems.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from digitwise.counts import wilson
from digitwise.numbers import complexity
from digitwise.numbers import digits as dg
from digitwise.numbers.sums import Law
from digitwise.rng import generator

METHODS = ("exact", "double", "monte carlo")
EMPTY_COLUMNS = 3  # above the multiplicand: as far as a three-digit multiplier reaches
# Longest multiplicands counted exactly and in floating point by default, a second or two each. The 900 multipliers of
# three digits have 900,000 states, so their law takes minutes; it is there for who asks for it by name.
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
    The last class, `upto`, is open. By default the method is the best that takes about a second: "exact" while that
    is so, then "double" (the same sums in floating point, good to about 1e-13), then "monte carlo" with 95 %
    intervals, which multipliers of three digits always get (see FEASIBLE).
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


@lru_cache(maxsize=16)
def _count(multiplier: int, length: int, leading: bool, exact: bool, upto: int) -> Law:
    found = machine(multiplier)
    # Python's integers hold anything; int64 holds the 10^18 multiplicands of one multiplier and is far faster.
    kind: Any = np.float64 if not exact else np.int64 if length <= 18 else object

    anything = np.ones(found.column.shape, dtype=bool)
    below: list[Any] = [_no_carry(multiplier, length, leading)]
    if multiplier > 1:
        below += _shares(found.starts, _steps(found, length, leading, found.second == 0), kind, [0])
    steps, limits = _steps(found, length, leading, anything), list(range(upto - len(below)))
    together = len(limits) if len(found.follow) < 1000 else 1  # few states: fewer, larger steps; many: less memory
    for first in range(0, len(limits), together):
        below += _shares(found.starts, steps, kind, limits[first : first + together])
    shares = np.diff(np.array([0, *below, 1], dtype=object))
    shares = shares if exact else np.maximum(shares.astype(np.float64), 0.0)
    shares.setflags(write=False)
    return Law(shares, "exact" if exact else "double", open=True)


def _estimate(multiplier: int, length: int, leading: bool, upto: int, samples: int, seed: int) -> Law:
    rng = generator(seed, "levels", multiplier, length, int(leading))
    first = rng.integers(10 ** (multiplier - 1), 10**multiplier, samples)
    first_digits = (first[:, None] // 10 ** np.arange(multiplier) % 10).astype(np.uint8)
    second = rng.integers(0, 10, (samples, length), dtype=np.uint8)
    if leading:
        second = dg.sample(rng, length, np.full(samples, length))
    levels = np.minimum(complexity.product_rounds(first_digits, second), upto)
    counts = np.bincount(levels, minlength=upto + 1)
    intervals = np.array([wilson(int(count), samples) for count in counts])
    return Law(counts / samples, "monte carlo", True, intervals, samples)


def _no_carry(multiplier: int, length: int, leading: bool) -> Fraction:
    """P(no level at all): the multiplier times every single digit is below 10."""
    shares = []
    for value in range(10 ** (multiplier - 1), 10**multiplier):
        small = sum(value * digit < 10 for digit in range(10))
        shares.append(Fraction(small, 10) ** (length - 1) * Fraction(small - leading, 10 - leading))
    return sum(shares, Fraction(0)) / len(shares)


@dataclass(frozen=True, eq=False)
class Machine:
    """Reads a digit, gives out a column, goes to the next state; the states of all multipliers side by side."""

    starts: NDArray[np.int64]  # [multipliers]
    follow: NDArray[np.int64]  # [states, 10]
    column: NDArray[np.int64]  # [states, 10], of the last round that is no mere cascade: at most 18
    second: NDArray[np.int64]  # [states, 10], what the round before it carries; 0 for one digit, which has none


@lru_cache(maxsize=3)
def machine(multiplier: int) -> Machine:
    """All states that can be reached, found breadth first for all multipliers at once."""
    radix = 9 * multiplier + 10  # more than anything waiting for a column
    values = np.arange(10 ** (multiplier - 1), 10**multiplier)
    frontier = known = values * radix ** (multiplier + 1)
    while len(frontier):
        frontier = np.setdiff1d(_read(frontier, multiplier, radix)[0], known)
        known = np.union1d(known, frontier)
    follow, column, second = _read(known, multiplier, radix)
    starts = np.searchsorted(known, values * radix ** (multiplier + 1))
    return Machine(starts, np.searchsorted(known, follow), column, second)


def _read(states: NDArray[np.int64], multiplier: int, radix: int) -> tuple[NDArray[np.int64], ...]:
    """State, column and second-round carry after each digit. A state is written in base `radix`: the carry of the
    second round, then what waits for the next k columns, then the multiplier."""
    carry, *waiting, value = (states[:, None] // radix**index for index in range(multiplier + 2))
    product = value * np.arange(10)
    arriving = [part % radix + product // 10**place % 10 for place, part in enumerate([*waiting, 0])]
    now, *later = arriving
    if multiplier == 1:
        column, second = now, np.zeros_like(now)
    else:
        column, second = now % 10 + carry % radix, now // 10
    digits = [second, *later, value]
    return sum(part * radix**index for index, part in enumerate(digits)), column, second


class Step(NamedTuple):
    """One column, for all states at once: where they can go, `[choices, states]`. Missing choices lead to one state
    more than there are."""

    settling: NDArray[np.int64]  # columns that decide the carry; states without one are numbered first, then with one
    nines: NDArray[np.int64]
    digits: int


def _steps(found: Machine, length: int, leading: bool, allowed: NDArray[np.bool_]) -> list[Step]:
    """The columns from the top down: zeros until nothing waits any more, the leading digit, the rest."""
    above, top, below = (_step_of(found, allowed, digits) for digits in (range(1), range(int(leading), 10), range(10)))
    return [above] * EMPTY_COLUMNS + [top] + [below] * (length - 1)


def _step_of(found: Machine, allowed: NDArray[np.bool_], digits: range) -> Step:
    may, column, follow = (table[:, digits.start : digits.stop] for table in (allowed, found.column, found.follow))
    states = len(follow)
    settling = np.where(may & (column != 9), follow + states * (column > 9), 2 * states)
    nines = np.where(may & (column == 9), follow, states)
    return Step(_packed(settling, 2 * states), _packed(nines, states), len(digits))


def _packed(table: NDArray[np.int64], missing: int) -> NDArray[np.int64]:
    table = np.sort(table, axis=1)
    return np.ascontiguousarray(table[:, (table != missing).any(0)].T)


def _shares(starts: NDArray[np.int64], steps: list[Step], kind: Any, limits: list[int]) -> list[Any]:
    """Share of the problems without a cascade longer than each limit.

    `ways[limit, run, state]` is the number of ways to go on upwards (in floating point their share, which does not
    overflow) when the cascade that reaches up to here has `run` columns.
    """
    runs = np.arange(max(limits) + 2)
    too_long = runs > np.array(limits)[:, None]
    ways = np.ones((*too_long.shape, steps[0].settling.shape[1]), dtype=kind)
    ways[too_long] = 0
    problems = len(starts)
    for step in steps:
        ways = _descend(ways, step)
        ways[too_long] = 0
        if kind is np.float64:
            ways /= step.digits
        else:
            problems *= step.digits
    if kind is np.float64:
        return [float(row[0, starts].sum()) / problems for row in ways]
    return [Fraction(sum(int(way) for way in row[0, starts]), problems) for row in ways]


def _descend(ways: NDArray[Any], step: Step) -> NDArray[Any]:
    """One column further down: the sum over the digits that may stand there."""
    nothing = np.zeros_like(ways[:, :1, :1])
    settled = np.concatenate([ways[:, 0], ways[:, 1], nothing[:, 0]], axis=-1)
    # With a nine a running cascade grows by one column, and no cascade stays none.
    longer = np.zeros((*ways.shape[:-1], ways.shape[-1] + 1), dtype=ways.dtype)
    longer[:, 0, :-1] = ways[:, 0]
    longer[:, 1:-1, :-1] = ways[:, 2:]
    down = np.zeros_like(ways)
    for choice in step.settling:
        down += settled[:, choice][:, None]
    for choice in step.nines:
        down += longer[:, :, choice]
    return down
