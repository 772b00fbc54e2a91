"""How likely each complexity is: exact laws for two uniform numbers of any length and base.

Columns of two uniform numbers are independent, and only three things matter about a column: it stays below the carry
limit (*low*), it sums to base - 1 (*nine*) or it makes a carry (*high*). A cascade longer than c is the word "high,
then c nines"; an untriggered run longer than u is "low (or the bottom), then u + 1 nines". Such words cannot overlap
themselves or each other, since only their first letter is no nine. So the first word that ends at column j stands
behind *any* j - m columns without one, and with w the number of ways to write a word of m columns

    avoid[j] = W avoid[j - 1] - sum over the words of  w avoid[j - m]         (W: ways to write any column)

counts the problems that avoid them all. For a single word the solution is a short alternating sum of binomials, which
is why the whole law of 1,000 digits is exact within a fraction of a second. The laws of products are in `levels`.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

KINDS = ("cascade", "untriggered", "joint")


@dataclass(frozen=True, eq=False)
class Law:
    """Probability of each class, class 0 first; `[cascade, untriggered]` for a joint law.

    Exact laws hold Fractions, the others floats. If `open`, the last class of each axis also holds everything longer.
    """

    probabilities: NDArray[Any]
    method: str  # "exact"; "double": the exact sums in floating point; "monte carlo"
    open: bool = False
    intervals: NDArray[np.float64] | None = None  # [classes, 2], 95 % each, of a monte carlo law
    samples: int = 0

    def __getitem__(self, classes: Any) -> Any:
        return self.probabilities[classes]

    def __len__(self) -> int:
        return len(self.probabilities)

    def at_most(self, *limits: int) -> Any:
        """P(class <= limit), one limit for each axis."""
        if self.open and any(limit + 1 >= size for limit, size in zip(limits, self.probabilities.shape, strict=True)):
            raise ValueError("the last class is open: ask for the law up to a longer class")
        return self.probabilities[tuple(slice(0, limit + 1) for limit in limits)].sum()

    def floats(self) -> NDArray[np.float64]:
        return self.probabilities.astype(np.float64)

    def to_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {"method": self.method, "open": self.open, "probabilities": self.floats().tolist()}
        if self.method == "exact":
            out["exact"] = np.vectorize(str, otypes=[object])(self.probabilities).tolist()
        if self.intervals is not None:
            out |= {"samples": self.samples, "intervals": self.intervals.tolist()}
        return out


class Columns(NamedTuple):
    """Ways to write a column of each sort: pairs of digits."""

    low: int
    nine: int
    high: int

    @property
    def total(self) -> int:
        return sum(self)


def columns(base: int, leading: bool = False) -> Columns:
    """All pairs of digits by sort; with `leading`, the pairs of two digits that are not zero."""
    high = base * (base - 1) // 2  # a carry needs two digits above zero, so leading digits do not change this
    if leading:
        return Columns((base - 1) ** 2 - (base - 2) - high, base - 2, high)
    return Columns(base * (base - 1) // 2, base, high)


def law(
    length: int,
    base: int = 10,
    leading: bool = False,
    kind: str = "cascade",
    exact: bool = True,
    upto: int | None = None,
) -> Law:
    """The law of the longest cascade, of the longest untriggered run, or of both together.

    The two numbers are uniform below base^length (the paper's), or with `leading` among the numbers of exactly
    `length` digits (numbers of one digit include zero). `exact=False` gives floats: correctly rounded for one
    measure, good to about 1e-14 for the joint law. `upto` collects everything from that class on in the last one;
    it defaults to no limit, for the joint law to 30, whose work grows with its square.
    """
    if length < 1:
        raise ValueError(f"a law needs a length of at least 1, not {length}")
    if base < 2:
        raise ValueError(f"a law needs a base of at least 2, not {base}")
    if kind not in KINDS:
        raise ValueError(f"no law of kind '{kind}'; there is {', '.join(KINDS)}")
    if upto is not None and upto < 1:
        raise ValueError(f"upto must be at least 1, not {upto}")
    last = min(length, upto if upto is not None else 30 if kind == "joint" else length)
    return _law(length, base, leading and length > 1, kind, exact, last)


@lru_cache(maxsize=32)
def _law(length: int, base: int, leading: bool, kind: str, exact: bool, last: int) -> Law:
    if kind == "joint":
        below = _joint(length, base, leading, exact, last)
        for axis in (0, 1):
            below = np.diff(below, axis=axis, prepend=0 * np.take(below, [0], axis))
        if not exact:
            below = np.maximum(below, 0.0)  # differences of equal floats may be -1e-17
        return _frozen(below, exact, last < length)
    total = columns(base).total ** (length - 1) * columns(base, leading).total
    problems = _cascade_at_most if kind == "cascade" else _untriggered_at_most
    counts = [problems(longest, length, base, leading) for longest in range(last)] + [total]
    shares = [Fraction(count, total) for count in np.diff(np.array([0, *counts], dtype=object))]
    return _frozen(np.array(shares if exact else [float(share) for share in shares]), exact, last < length)


def _frozen(probabilities: NDArray[Any], exact: bool, is_open: bool) -> Law:
    probabilities.setflags(write=False)  # laws are remembered, so nobody may change one
    return Law(probabilities, "exact" if exact else "double", is_open)


def _avoid(places: int, total: int, word: int, ways: int) -> int:
    """Sequences of `places` columns without a word of `word` columns that can be written in `ways` ways: the solution
    of the recurrence above, by inclusion and exclusion over how many words stand at which places."""
    if places < 0:
        return 0
    most, sofar, power = places // word, 0, 1
    for number in range(most + 1):
        sofar = sofar * total**word + comb(places - number * (word - 1), number) * power
        power *= -ways
    return sofar * total ** (places - most * word)


def _cascade_at_most(longest: int, length: int, base: int, leading: bool) -> int:
    """Problems without the word "high, then `longest` nines"; the topmost column has ways of its own."""
    any_column, top = columns(base), columns(base, leading)

    def avoid(places: int) -> int:
        return _avoid(places, any_column.total, longest + 1, any_column.high * any_column.nine**longest)

    if longest == 0:
        return (top.total - top.high) * avoid(length - 1)
    word = any_column.high * any_column.nine ** (longest - 1) * top.nine
    return top.total * avoid(length - 1) - word * avoid(length - longest - 1)


def _untriggered_at_most(longest: int, length: int, base: int, leading: bool) -> int:
    """Problems without "low or the bottom, then `longest` + 1 nines": as if a low column stood below place 0."""
    any_column, top = columns(base), columns(base, leading)
    nines = longest + 1

    def avoid(places: int) -> int:
        word = any_column.low * any_column.nine**nines
        without = _avoid(places, any_column.total, nines + 1, word)
        return without - any_column.nine**nines * _avoid(places - nines, any_column.total, nines + 1, word)

    ends_at_top = any_column.nine**longest * top.nine
    from_bottom = ends_at_top if length == nines else 0
    return top.total * avoid(length - 1) - any_column.low * ends_at_top * avoid(length - nines - 1) - from_bottom


def _joint(length: int, base: int, leading: bool, exact: bool, last: int) -> NDArray[Any]:
    """P(cascade <= c and untriggered <= u) for all c, u < `last`, by the recurrence; `last` itself forbids nothing,
    as that class holds everything longer. Exact counts and floating-point shares take the same steps."""
    limits = np.arange(last + 1)
    cascades, runs = limits[:, None], limits[None, :]
    every, top = (
        [ways if exact else ways / found.total for ways in (*found, found.total)]
        for found in (columns(base), columns(base, leading))
    )
    low, nine, high, _ = every
    nines = np.array([nine**limit for limit in range(last + 1)], dtype=object if exact else np.float64)
    avoid = np.zeros((length + 1, last + 1, last + 1), dtype=nines.dtype)
    avoid[0] += 1
    for place in range(1, length + 1):
        # The words that end here: the column at hand is their last one, a nine unless the word is "high" alone.
        _, last_nine, last_high, total = top if place == length else every
        triggered = np.append(last_high, high * nines[:-1] * last_nine)[: last + 1, None] * (cascades < last)
        entered = (nines * last_nine)[None, :] * (runs < last)
        bottom, start = place - runs - 1, place - runs - 2
        before_triggered = np.where(place > cascades, avoid[np.maximum(place - cascades - 1, 0), cascades, runs], 0)
        before_entered = low * np.where(start >= 0, avoid[np.maximum(start, 0), cascades, runs], 0) + (bottom == 0)
        avoid[place] = total * avoid[place - 1] - triggered * before_triggered - entered * before_entered
    if not exact:
        return avoid[length]
    return avoid[length] * Fraction(1, columns(base).total ** (length - 1) * columns(base, leading).total)
