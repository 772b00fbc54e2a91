"""Each finding of the paper as a predicate over counts.

All were written down before their recipes ran, with these exceptions. Trial runs of the a1 and a2 setting, seed 0
among them, had been looked at when A1, A2, A2-full and the a2 half of F1, F2, A3 and text-add were written; counts of
two seeds when C2-40 was. M1, M2, M2-large and M3 were changed after a look (`product_claims`), and F3 was split in two
when ten seeds had been seen. So was the rule for all verdicts: an interval over seeds took the place of one over all
problems of all seeds, and of point estimates. LOG.md lists what each of these changed.
"""

import math
from functools import partial
from typing import Any

from digitwise.counts import MANY_SEEDS, Numbered, OverSeeds
from digitwise.paper import dependence
from digitwise.paper.evidence import (
    FAILS,
    HOLDS,
    INCONCLUSIVE,
    Claims,
    Evidence,
    NotRun,
    above,
    all_of,
    at_least,
    at_most,
    most_of,
    within,
)
from digitwise.paper.product_claims import ABOUT_PRODUCTS

CLAIMS = Claims()
claim = CLAIMS.add


def on_long_sums(e: Evidence, recipe: str, suite: str, stratum: Numbered, arm: str = "") -> OverSeeds:
    """At the length at which consecutive carries, cascades and training distributions are compared."""
    return e.accuracy(recipe, 40 if e.profile == "paper" else 12, suite, stratum, arm=arm)


def cascades(e: Evidence, recipe: str, columns: int, arm: str = "") -> OverSeeds:
    return on_long_sums(e, recipe, "cascade", Numbered("cascade", columns), arm)


@claim("F1", "Encodings that state the symmetry make addition and multiplication carry to longer numbers.",
       "scaled: a2 at least 0.95 and m2-upe at least 0.9 at twice the trained length", "a2", "m2-upe")  # fmt: skip
def f1(e: Evidence) -> str:
    return all_of(at_least(e.accuracy("a2", 10), 0.95), at_least(e.accuracy("m2-upe", 10), 0.9))


@claim("F2", "Showing the symmetry by shifted copies is worth much less than stating it.",
       "at 10 digits relative positions beat shifted copies by more than 10 points", "a2", "a3")  # fmt: skip
def f2(e: Evidence) -> str:
    return above(e.accuracy("a2", 10), e.accuracy("a3", 10), 0.1)


def runs_without_carry(e: Evidence, recipe: str, columns: int, arm: str = "") -> OverSeeds:
    """Beside cascades: whoever calls every long run a cascade is right on those and wrong here."""
    return on_long_sums(e, recipe, "nines", Numbered("run", columns, "without carry"), arm)


@claim("F3-cascades", "Hard short examples help on long ones.",
       "cascades of 6 and of 8, longer than any in training: the mixture beats plain values", "c3")  # fmt: skip
def help_on_cascades(e: Evidence) -> str:
    return all_of(*(above(cascades(e, "c3", n, "mixed"), cascades(e, "c3", n, "values")) for n in (6, 8)))


@claim("F3-nines", "(ours) They do so without guessing that every long run carries.",
       "runs of 6 and of 8 nines that no carry enters: the mixture is at most 5 points below plain values",
       "c3")  # fmt: skip
def without_guessing(e: Evidence) -> str:
    arms = [[runs_without_carry(e, "c3", n, arm) for arm in ("mixed", "values")] for n in (6, 8)]
    return all_of(*(within(mixed, values, 0.05) for mixed, values in arms))


@claim("A1", "Absolute positions fail right beyond the trained length.",
       "at least 0.99 at 5 digits and at most 0.02 at 8", "a1")  # fmt: skip
def a1(e: Evidence) -> str:
    return all_of(at_least(e.accuracy("a1", 5), 0.99), at_most(e.accuracy("a1", 8), 0.02))


@claim("A2", "Relative positions carry to longer numbers.",
       "canvas 20: at least 0.95 at 10 digits and 0.7 at 15", "canvas20")  # fmt: skip
def a2(e: Evidence) -> str:
    at10, at15 = (e.accuracy("canvas20", length, arm="relative") for length in (10, 15))
    return all_of(at_least(at10, 0.95), at_least(at15, 0.7))


@claim("A2-50", "Relative positions carry from 5 to 50 digits.",
       "canvas 50: at least 0.93 at 40 digits and 0.9 at 49", "a2")  # fmt: skip
def headline(e: Evidence) -> str:
    return all_of(at_least(e.accuracy("a2", 40), 0.93), at_least(e.accuracy("a2", 49), 0.9))


@claim("A2-full", "Accuracy drops abruptly where the numbers fill the canvas.",
       "canvas 20: 20 digits are below 19, and no step from 17 on loses more", "canvas20")  # fmt: skip
def full_canvas(e: Evidence) -> str:
    at17, at18, at19, at20 = (e.accuracy("canvas20", length, arm="relative") for length in (17, 18, 19, 20))
    no_step_loses_more = (at_least((at19 - at20) - step, 0.0) for step in (at17 - at18, at18 - at19))
    return all_of(above(at19, at20), *no_step_loses_more)


@claim("A3", "Trained on shifted copies, an absolute model is right on shifted sums and wrong on long ones.",
       "at least 0.99 on shifted sums; more than 10 points below a2 at 10 digits", "a2", "a3")  # fmt: skip
def a3(e: Evidence) -> str:
    return all_of(at_least(e.accuracy("a3", 5, "shifted"), 0.99), f2(e))


@claim("table", "The shifted model errs most at the ones place.",
       "10 digits: place 0 is less accurate than each of places 1 to 4", "a3")  # fmt: skip
def places(e: Evidence) -> str:
    ones, *others = (e.accuracy("a3", 10, "places", group=Numbered("place", place)) for place in range(5))
    return all_of(*(above(other, ones) for other in others))


@claim("nocarry", "Without carries a relative model is right at every length.",
       "at least 0.99 at every length that leaves a pad, 1 to 19", "nocarry")  # fmt: skip
def nocarry(e: Evidence) -> str:
    return all_of(*(at_least(e.accuracy("nocarry", length, "nocarry"), 0.99) for length in range(1, 20)))


@claim("fixed-map", "A relative model looks at the same relative places wherever it answers.",
       "10 digits: own column at least 0.95, columns above and five or more below at most 0.02, places up to 2 back "
       "differ by at most 0.15 between answers", "fixed-map")  # fmt: skip
def fixed_map(e: Evidence) -> str:
    """10 digits, twice the trained length: an answer hangs on its own column, on none above it, hardly on columns that
    no training example needed, and equally at every place."""

    def changed(which: str, operand: int, back: int) -> OverSeeds:
        what = f"10 digits, summand {operand + 1}, {back} back: answers that change, {which}"
        count = partial(dependence.changed_answers, which=which)
        return e.measured("fixed-map", what, count, length=10, operand=operand, back=back)

    own = (at_least(changed("lowest", o, 0), 0.95) for o in (0, 1))
    far = (at_most(changed("share", o, back), 0.02) for o in (0, 1) for back in (-3, -2, -1, 5, 6, 7, 8, 9))
    same = (at_most(changed("highest", o, n) - changed("lowest", o, n), 0.15) for o in (0, 1) for n in (0, 1, 2))
    return all_of(*own, *far, *same)


@claim("C1", "Carries in a row are not what makes a sum hard.",
       "12 carries in a row cost at most 5 points against one", "c1")  # fmt: skip
def c1(e: Evidence) -> str:
    one, most = (on_long_sums(e, "c1", "consecutive", Numbered("carries", n)) for n in (1, 12))
    return within(most, one, 0.05)


@claim("C2", "Accuracy falls as cascades grow.",
       "12 digits: cascades of 7 are 5 points and of 12 are 20 points below cascades of 2", "c2")  # fmt: skip
def c2(e: Evidence) -> str:
    few, beyond, most = (cascades(e, "c2", columns) for columns in (2, 7, 12))
    return all_of(above(few, beyond, 0.05), above(few, most, 0.2))


@claim("C2-40", "Accuracy falls as cascades grow, at the paper's own length.",
       "40 digits: cascades of 7 are 5 points and of 12 are 20 points below cascades of 2", "c2")  # fmt: skip
def c2_at_40(e: Evidence) -> str:
    """C2 where no cascade fills the sum. Written when counts of two seeds had been seen."""
    few, beyond, most = (e.accuracy("c2", 40, "cascade", Numbered("cascade", n)) for n in (2, 7, 12))
    return all_of(above(few, beyond, 0.05), above(few, most, 0.2))


@claim("C2-nines", "(ours) The fall is there whether a run of nines is entered with a carry or without.",
       "12 digits: runs of 8 nines are at most 0.9 right with a carry and without", "c2")  # fmt: skip
def both_kinds_of_nines(e: Evidence) -> str:
    """Not the paper's: a fall on cascades means little if the model calls every long run a cascade."""
    kinds = (on_long_sums(e, "c2", "nines", Numbered("run", 8, f"{way} carry")) for way in ("with", "without"))
    return all_of(*(at_most(kind, 0.9) for kind in kinds))


MANY = 7  # columns of a cascade, beside which runs of as many nines without a carry are shown


@claim("C3", "A half-and-half mixture of values and complexity does best at most cascade lengths.",
       "12 digits: the mixture is at least as good as both others at most cascade lengths", "c3")  # fmt: skip
def c3(e: Evidence) -> str:
    def mixture_is_best(columns: int) -> str:
        mixed, *others = (cascades(e, "c3", columns, arm) for arm in ("mixed", "values", "complexity"))
        if columns >= MANY:
            for arm in ("mixed", "values", "complexity"):
                runs_without_carry(e, "c3", columns - 1, arm)  # shown beside it
        return all_of(*(within(mixed, other, 0.0) for other in others))

    return most_of(*(mixture_is_best(columns) for columns in range(13)))


CLAIMS += ABOUT_PRODUCTS


def proposition(evidence: Evidence, name: str) -> str:
    """A row of the theory table brings its own interval, in which the mean over seeds must lie (`theory/rows.py`). A
    mean that is not a number decides nothing."""
    row = next((row for row in evidence.rows("theory") if row["name"] == name), None)
    if row is None:
        raise NotRun(f"theory has no row {name}")
    evidence.shown.append({
        "what": row["statement"], "prediction": row["prediction"], "mean": row["measured"],
        "must lie in": row["interval"], "seeds": row["seeds"],
    })  # fmt: skip
    return INCONCLUSIVE if math.isnan(row["measured"]) else HOLDS if row["verdict"] == "holds" else FAILS


for number, row, statement in (
    ("T1", "theory-ape", "Linear attention with absolute positions: unseen positions learn nothing."),
    ("T2", "theory-ape-shifts", "With shifted copies the error has a floor."),
    ("T3", "theory-rpe", "With relative positions the loss goes to zero everywhere."),
):
    claim(number, statement, f"row {row} of the theory table", "theory")(partial(proposition, name=row))


def stated(number: dict[str, Any]) -> str:
    """One number behind a verdict. From many seeds on the range is that of the mean (`counts`); a row of the theory
    table has a range that its mean must lie in."""
    if "must lie in" in number:
        low, high = number["must lie in"]
        seeds = f"{len(number['seeds'])} seeds"
        return f"{number['what']}: {number['mean']:.4g}, must lie in [{low:.4g}, {high:.4g}], {seeds}"
    low, high = number["interval"]
    values = [f"{seed['value']:.4g}" for seed in number["seeds"].values()]
    seeds = f"seeds {', '.join(values)}" if len(values) > 1 else "one seed"
    shown = f"mean {number['mean']:.4g}" if len(values) >= MANY_SEEDS else f"{number['median']:.4g}"
    return f"{number['what']}: {shown}" + f" [{low:.4g}, {high:.4g}]" * (low < high) + f", {seeds}"
