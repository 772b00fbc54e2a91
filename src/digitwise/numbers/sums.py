"""How likely each complexity of a sum is: exact laws for two uniform numbers of any length and base.

The columns of two uniform numbers are independent, and only the *sort* of a column matters: its digits sum to less
than base - 1 (*low*), to base - 1 (*nine*) or to more (*high*). In base 10 there are 45, 10 and 45 ways to write them.

Read the columns from the ones upwards. A limit on the chains of `complexity` forbids a word:

    cascade <= c        forbids   a high column, then c nines
    untriggered <= u    forbids   a low column, then u + 1 nines; the word may also begin right at the bottom, without
                                  its low column, because no carry enters there

So a law needs avoid[n], the number of sequences of n columns without a forbidden word. Put any column on top of a
sequence of n - 1 columns without one. Either there is still none, or the first word ends with the new column. Words
cannot overlap, because only their first column is not a nine. So *any* shorter sequence may stand below that word:

    avoid[n] = W avoid[n - 1] - C avoid[n - c - 1] - R (low avoid[n - u - 2] + [n = u + 1])                         (1)

with avoid[0] = 1, avoid[n] = 0 for negative n, W ways to write a column, C ways to write the first word, R ways to
write the nines of the second, and [n = u + 1] = 1 for the word at the bottom. The joint law takes all terms; the law
of one measure leaves out the term of the other. The topmost column has ways of its own if it must not be zero.

Example: the longest cascade of 3-digit sums. For c = 1 we have W = 100 and C = 45 x 10, so avoid = 1, 100,
100 x 100 - 450 x 1 = 9550, 100 x 9550 - 450 x 100 = 910,000. For c = 0 nothing is high, 55^3 = 166,375; for c = 2
one word fits, 10^6 - 45 x 10 x 10 = 995,500; for c = 3 none fits. The differences, out of 10^6, are the law:

>>> law(3).floats().tolist()
[0.166375, 0.743625, 0.0855, 0.0045]

2-digit sums without an untriggered run have u = 0 and R = 10, so avoid = 1, 100 - 10 (0 + 1) = 90 and
100 x 90 - 10 (45 x 1 + 0) = 8550, out of 10^4:

>>> float(law(2, measure="untriggered")[0])
0.855
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MEASURES = ("cascade", "untriggered", "joint")


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
        """P(class <= limit), one limit per axis."""
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
    """Number of ways to write a column of each sort, that is, of pairs of digits."""

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
    measure: str = "cascade",
    exact: bool = True,
    upto: int | None = None,
) -> Law:
    """The law of the longest cascade, of the longest untriggered run, or of both together.

    The two numbers are uniform below base^length (the paper's), or with `leading` among the numbers of exactly
    `length` digits (numbers of one digit include zero). `exact=False` gives floats: correctly rounded for one
    measure, good to about 1e-14 for the joint law. `upto` is the last class and holds everything longer. It defaults
    to `length`, and to at most 30 for the joint law, whose work grows with the square of it.
    """
    if length < 1:
        raise ValueError(f"a law needs a length of at least 1, not {length}")
    if base < 2:
        raise ValueError(f"a law needs a base of at least 2, not {base}")
    if measure not in MEASURES:
        raise ValueError(f"no law of the measure '{measure}'; there is {', '.join(MEASURES)}")
    if upto is not None and upto < 1:
        raise ValueError(f"upto must be at least 1, not {upto}")
    last = min(length, upto if upto is not None else 30 if measure == "joint" else length)
    return _law(length, base, leading and length > 1, measure, exact, last)


@lru_cache(maxsize=32)
def _law(length: int, base: int, leading: bool, measure: str, exact: bool, last: int) -> Law:
    """Count the problems within each limit 0, ..., `last`, and take differences. The limit `last` forbids nothing, so
    its class holds everything longer."""
    plain, top = columns(base), columns(base, leading)  # every column but the topmost; the topmost one
    problems = plain.total ** (length - 1) * top.total
    if measure == "joint":
        within = _joint_at_most(length, plain, top, exact, last)
    else:
        at_most = _cascade_at_most if measure == "cascade" else _untriggered_at_most
        within = np.array([*(at_most(limit, length, plain, top) for limit in range(last)), problems], dtype=object)
    differences = within
    for axis in range(within.ndim):
        differences = np.diff(differences, axis=axis, prepend=0)

    if measure == "joint" and not exact:
        probabilities = np.maximum(differences, 0.0)  # differences of equal floats may be -1e-17
    else:
        fractions = [Fraction(count, problems) for count in differences.flat]
        probabilities = np.array(fractions, dtype=object if exact else np.float64).reshape(differences.shape)
    probabilities.setflags(write=False)  # laws are remembered, so nobody may change one
    return Law(probabilities, "exact" if exact else "double", last < length)


def _cascade_at_most(c: int, length: int, plain: Columns, top: Columns) -> int:
    """Problems without a cascade longer than c: the last step of (1), whose column is the topmost one."""
    word = _cascade_word(c, plain, plain)

    @cache  # for c = 0 both terms need the same number, and it is the slowest one to find
    def avoid(n: int) -> int:
        return _avoid_one_word(n, plain.total, c + 1, word)

    return top.total * avoid(length - 1) - _cascade_word(c, plain, top) * avoid(length - c - 1)


def _untriggered_at_most(u: int, length: int, plain: Columns, top: Columns) -> int:
    """Problems without an untriggered run longer than u: the last step of (1), whose column is the topmost one."""
    nines = _run_nines(u, plain, plain)

    def avoid_above_bottom(n: int) -> int:
        return _avoid_one_word(n, plain.total, u + 2, plain.low * nines)

    def avoid(n: int) -> int:
        # Without those that begin with u + 1 nines: whatever stands above these starts afresh.
        return avoid_above_bottom(n) - nines * avoid_above_bottom(n - u - 1)

    low_or_bottom = plain.low * avoid(length - u - 2) + (length == u + 1)
    return top.total * avoid(length - 1) - _run_nines(u, plain, top) * low_or_bottom


def _joint_at_most(length: int, plain: Columns, top: Columns, exact: bool, last: int) -> NDArray[Any]:
    """Problems without a cascade longer than c and without an untriggered run longer than u, `[c, u]`, for all limits
    up to `last` at once: all steps of (1). If not `exact`, the same steps with shares of the problems."""
    c, u = np.ogrid[: last + 1, : last + 1]
    avoid = np.zeros((length + 1, last + 1, last + 1), dtype=object if exact else np.float64)
    avoid[0] = 1
    if not exact:
        plain, top = (Columns._make(ways / sorts.total for ways in sorts) for sorts in (plain, top))

    def factors(uppermost: Columns) -> tuple[Any, NDArray[Any], NDArray[Any]]:
        """W, C for each c and R for each u; the limit `last` forbids nothing."""
        words = [*(_cascade_word(limit, plain, uppermost) for limit in range(last)), 0]
        nines = [*(_run_nines(limit, plain, uppermost) for limit in range(last)), 0]
        return uppermost.total if exact else 1, np.array(words, avoid.dtype)[:, None], np.array(nines, avoid.dtype)

    def shorter(n: NDArray[np.int64]) -> NDArray[Any]:
        return np.where(n >= 0, avoid[np.maximum(n, 0), c, u], 0)

    below_top, at_top = factors(plain), factors(top)
    for n in range(1, length + 1):
        W, C, R = at_top if n == length else below_top
        low_or_bottom = plain.low * shorter(n - u - 2) + (n == u + 1)
        avoid[n] = W * avoid[n - 1] - C * shorter(n - c - 1) - R * low_or_bottom
    return avoid[length]


def _cascade_word(c: int, plain: Columns, uppermost: Columns) -> int:
    """C: ways to write a high column and c nines above it; the uppermost column of the word may have its own ways."""
    return uppermost.high if c == 0 else plain.high * plain.nine ** (c - 1) * uppermost.nine


def _run_nines(u: int, plain: Columns, uppermost: Columns) -> int:
    """R: ways to write u + 1 nines; the uppermost one may have its own ways."""
    return plain.nine**u * uppermost.nine


def _avoid_one_word(n: int, total: int, size: int, ways: int) -> int:
    """Sequences of n columns without a word of `size` columns: (1) for one word, solved by inclusion and exclusion.

    There are binomial(n - k (size - 1), k) ways to place k words, which do not overlap, and all other columns are free:

        sum over k of  (-1)^k binomial(n - k (size - 1), k) ways^k total^(n - k size)

    With so few terms all 1,001 classes of 1,000 digits take a tenth of a second.
    """
    if n < 0:
        return 0
    most, count, power, free = n // size, 0, 1, total**size
    for k in range(most + 1):
        count = count * free + comb(n - k * (size - 1), k) * power
        power *= -ways
    return count * total ** (n - most * size)
