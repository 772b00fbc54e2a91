"""The paper's findings about products, and about problems in a text, as predicates over counts.

M1 and M2 are judged at the last checkpoint, which was changed after they had been seen: M1 failed before, because the
best checkpoint of m1-rpe was its first; M2 held before for the same reason. How they were changed again, and what the
verdicts were until then, stands in LOG.md.
"""

from functools import partial

from digitwise.counts import Numbered, OverSeeds
from digitwise.paper import maps
from digitwise.paper.evidence import INCONCLUSIVE, Claims, Evidence, above, all_of, at_least, at_most, within

ABOUT_PRODUCTS = Claims()
claim = ABOUT_PRODUCTS.add


def more_than_copies(e: Evidence, recipe: str, length: int = 10) -> OverSeeds:
    """Multipliers above 1, at the last checkpoint: where all long numbers are wrong, the best on validation is best by
    chance."""
    return e.accuracy(recipe, length, "factors", group="multiplier above 1", checkpoint="last")


@claim("M1", "For products absolute positions fail and relative ones decline.",
       "last checkpoint, multipliers above 1: both at least 0.9 at 5 digits; absolute at most 0.1 at 10; relative "
       "loses 5 points by 15, and is still above absolute at 10: it declines and does not collapse",
       "m1-ape", "m1-rpe")  # fmt: skip
def m1(e: Evidence) -> str:
    relative, middle, longer = (more_than_copies(e, "m1-rpe", length) for length in (5, 10, 15))
    absolute, wrong = (more_than_copies(e, "m1-ape", length) for length in (5, 10))
    declines = all_of(above(relative, longer, 0.05), above(middle, wrong))
    return all_of(at_least(absolute, 0.9), at_most(wrong, 0.1), at_least(relative, 0.9), declines)


@claim("M2-uniform", "Uniform positions carry products to longer multiplicands than relative ones.",
       "last checkpoint: at 10 digits, multipliers above 1, uniform is above relative", "m1-rpe", "m2-upe")  # fmt: skip
def uniform_above_relative(e: Evidence) -> str:
    return above(more_than_copies(e, "m2-upe"), more_than_copies(e, "m1-rpe"))


@claim("M2-relative", "Relative positions carry products to longer multiplicands than absolute ones.",
       "last checkpoint: at 10 digits, multipliers above 1, relative is above absolute",
       "m1-ape", "m1-rpe")  # fmt: skip
def relative_above_absolute(e: Evidence) -> str:
    return above(more_than_copies(e, "m1-rpe"), more_than_copies(e, "m1-ape"))


#: How far apart accuracies may be to count as equal.
EQUAL = 0.05


def at_equal_level(e: Evidence, *recipes: str) -> tuple[bool, list[OverSeeds]]:
    """Accuracy at 8 digits where accuracy at 5, in distribution, is the same: the level that all models reach, and of
    each the first checkpoint that reaches it. Before it stands whether all are within `EQUAL` of that level: if not,
    nothing is shown."""
    reached = {recipe: e.by_checkpoint(recipe, 5) for recipe in recipes}
    level = min(max(accuracies.values()) for accuracies in reached.values())
    first = {name: str(min(step for step, accuracy in reached[name].items() if accuracy >= level)) for name in recipes}
    levels = [e.accuracy(recipe, 5, checkpoint=step).median for recipe, step in first.items()]
    return max(levels) - level <= EQUAL, [e.accuracy(recipe, 8, checkpoint=step) for recipe, step in first.items()]


@claim("M2-large", "For larger multipliers the advantage of uniform positions over relative ones grows.",
       "at 8 digits, at equal accuracy at 5 (within 5 points), uniform is above relative, and by more than with "
       "1-digit multipliers", "m1-rpe", "m2-upe", "m1-rpe-3", "m2-upe-3")  # fmt: skip
def larger_multiplier(e: Evidence) -> str:
    fair, (uniform, relative) = at_equal_level(e, "m2-upe-3", "m1-rpe-3")
    small_fair, (small_uniform, small_relative) = at_equal_level(e, "m2-upe", "m1-rpe")
    grows = at_least((uniform - relative) - (small_uniform - small_relative), 0.0)
    return all_of(above(uniform, relative), grows) if fair and small_fair else INCONCLUSIVE


@claim("M3", "Shifted copies do not replace uniform positions.",
       "at 8 digits, at equal accuracy at 5 (within 5 points), uniform without copies is above relative with copies, "
       "and more than 10 points above absolute with copies", "m2-upe-3", "m3-rpe-3", "m3-ape-3")  # fmt: skip
def m3(e: Evidence) -> str:
    fair, (uniform, relative, absolute) = at_equal_level(e, "m2-upe-3", "m3-rpe-3", "m3-ape-3")
    return all_of(above(uniform, relative), above(uniform, absolute, 0.1)) if fair else INCONCLUSIVE


@claim("maps", "The vector of the previous place stands out in every layer.",
       "single-digit multipliers, every layer of both models: of all distances -1 has moved furthest",
       "maps")  # fmt: skip
def previous_place(e: Evidence) -> str:
    what = "share of layers in which the vector of -1 is the longest"
    models = (
        e.measured("maps", f"{name}: {what}", maps.previous_longest, recipe=name) for name in ("m1-rpe", "m2-upe")
    )
    return all_of(*(at_least(model, 1.0) for model in models))


@claim("maps-large", "For 3-digit multipliers the places one to three back stand out.",
       "in some layer of both models one to three back are among the four that moved furthest", "maps")  # fmt: skip
def places_back(e: Evidence) -> str:
    """For a multiplier of k digits -1 to -k are noticeable: in some layer they are among the k + 1 longest."""
    what, value = "noticeable (1) or not (0): -1 to -3", partial(maps.noticeable, digits=3)
    models = (e.measured("maps", f"{name}: {what}", value, recipe=name) for name in ("m1-rpe-3", "m2-upe-3"))
    return all_of(*(at_least(model, 1.0) for model in models))


@claim("maps-dispersed", "The vectors of uniform models are less dispersed than those of relative ones.",
       "mean effective number of distances over the layers, smaller in every seed, both sizes of multipliers",
       "maps")  # fmt: skip
def less_dispersed(e: Evidence) -> str:
    def spread(model: str) -> OverSeeds:
        return e.measured("maps", f"{model}: effective number of distances", maps.mean_number, recipe=model)

    return all_of(*(above(spread(f"m1-rpe{size}"), spread(f"m2-upe{size}")) for size in ("", "-3")))


def no_worse_in_text(e: Evidence, text: str, alone: str) -> str:
    """At every length up to twice the trained one."""
    return all_of(*(within(e.accuracy(text, length), e.accuracy(alone, length), 0.05) for length in range(1, 11)))


@claim("text-add", "Sums in a text are solved as far as sums alone.",
       "text-add is at most 5 points below a2 at every length from 1 to 10", "text-add", "a2")  # fmt: skip
def text_add(e: Evidence) -> str:
    return no_worse_in_text(e, "text-add", "a2")


@claim("text-mult", "Products in a text are solved as far as products alone.",
       "scaled to single-digit multipliers: at most 5 points below m2-upe at every length from 1 to 10",
       "text-mult", "m2-upe")  # fmt: skip
def text_mult(e: Evidence) -> str:
    return no_worse_in_text(e, "text-mult", "m2-upe")


@claim("text-longer", "(ours) Texts twice as long as any in training change nothing.",
       "10 digits: 40 words at each side are at most 5 points below 20", "text-add", "text-mult")  # fmt: skip
def longer_text(e: Evidence) -> str:
    def among(words: int, recipe: str) -> OverSeeds:
        return e.accuracy(recipe, 10, "text", Numbered("words", words))

    return all_of(*(within(among(40, recipe), among(20, recipe), 0.05) for recipe in ("text-add", "text-mult")))
