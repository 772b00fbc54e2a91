"""The paper's experiments by name. The cpu profile reduces canvases to 20, and models and steps to minutes."""

from dataclasses import replace
from functools import partial

from digitwise.data import (
    Distribution,
    MixedComplexity,
    Mixture,
    NoCarry,
    Shifted,
    ShortMultipliers,
    UniformComplexity,
    UniformLengths,
    UniformValues,
)
from digitwise.models.encoder import Architecture
from digitwise.paper.recipes.base import (
    PAPER,
    PAPER_TRAINING,
    SMALL,
    SMALL_TRAINING,
    Arms,
    Check,
    Recipe,
    encoding,
    in_profile,
)
from digitwise.paper.recipes.start import additions, canvas20
from digitwise.runs.experiment import Experiment, Testing
from digitwise.tasks import Multiplication


def short(profile: str) -> Distribution:
    """At most 5 digits: the paper draws values, we draw lengths, which learns several times faster."""
    return UniformValues(5) if profile == "paper" else UniformLengths(5)


def a1(profile: str) -> Arms:
    return {"absolute": canvas20(profile)["absolute"]}


def a2(profile: str) -> Arms:
    if profile != "paper":
        return {"relative": canvas20(profile)["relative"]}
    experiment = additions("a2", 50, 5, 3000, (20, 40), profile)
    return {"relative": replace(experiment, encoding=encoding("relative", profile))}


def a3(profile: str) -> Arms:
    experiment = additions("a3", 20, 5, 4000, (10, 15), profile)
    return {"absolute": replace(experiment, data=Shifted(short(profile)), encoding=encoding("absolute", profile))}


def nocarry(profile: str) -> Arms:
    experiment = additions("nocarry", 20, 5, 3000, (), profile)
    return {"relative": replace(experiment, data=NoCarry(5), encoding=encoding("relative", profile))}


#: Products are tables to be learned: Muon needs fewer than half of AdamW's steps (LOG.md).
PRODUCTS = replace(SMALL_TRAINING, optimizer="muon", rate=6e-3, decay=0.3, steps=1800)


def product(name: str, kind: str, profile: str) -> Arms:
    """Single-digit multipliers, canvas 20, trained on multiplicands of at most 5 digits. At our size training has 0
    among the multipliers, tests never do."""
    experiment = Experiment(
        name=name,
        task=Multiplication(1, 20, zero=False),
        data=short(profile) if profile == "paper" else ShortMultipliers(short(profile)),
        encoding=encoding(kind, profile),
        architecture=SMALL,
        training=PRODUCTS,
        testing=Testing(tuple(range(1, 21)), problems=1000, validation_lengths=(10, 15)),
    )
    return {kind: in_profile(experiment, profile)}


#: Digits of the "3-digit" multipliers in the cpu profile: 3 rise too slowly for two hours (LOG.md).
LARGE = 2
LARGE_MODEL = Architecture(layers=4, width=128, heads=4)
LARGE_TRAINING = replace(PRODUCTS, decay=0.1, steps=8000)


def large_product(name: str, kind: str, profile: str, shifted: bool = False) -> Arms:
    """Multipliers of 3 digits; at our size of `LARGE`, a smaller canvas, and shorter multipliers in training too."""
    paper = profile == "paper"
    base = Shifted(short(profile)) if shifted else short(profile)
    canvas = 20 if paper else 16  # on 10 and 12 places 8 digits were lost (LOG.md)
    experiment = Experiment(
        name=name,
        task=Multiplication(3 if paper else LARGE, canvas),
        data=base if paper else ShortMultipliers(base),
        encoding=encoding(kind, profile),
        architecture=replace(PAPER, layers=9) if paper else LARGE_MODEL,
        training=replace(PAPER_TRAINING, pool=500_000) if paper else LARGE_TRAINING,
        testing=Testing(tuple(range(1, canvas + 1)), problems=1000, validation_lengths=(8,)),
    )
    return {f"{kind}-3": experiment}


def maps(profile: str) -> Arms:
    """The multiplication models, relative and uniform."""
    return {
        **product("m1-rpe", "relative", profile),
        **product("m2-upe", "uniform", profile),
        **large_product("m1-rpe-3", "relative", profile),
        **large_product("m2-upe-3", "uniform", profile),
    }


def c3(profile: str) -> Arms:
    """At our size all three draw lengths first: with 5 columns in every problem, hard examples tie what is learned to
    those columns, and nothing carries to longer sums (LOG.md)."""
    experiment = additions("c3", 20 if profile != "paper" else 50, 5, 1500, (12,), profile)
    base = replace(experiment, encoding=encoding("relative", profile))
    kinds: dict[str, Distribution]
    if profile == "paper":
        kinds = {"values": UniformValues(5), "complexity": UniformComplexity(5), "mixed": MixedComplexity(5)}
    else:
        complexity = Mixture(tuple((1.0, UniformComplexity(length)) for length in range(1, 6)))
        mixed = Mixture(((0.5, UniformLengths(5)), (0.5, complexity)))
        kinds = {"values": UniformLengths(5), "complexity": complexity, "mixed": mixed}
    pooled = replace(base, training=replace(base.training, pool=100_000))
    return {arm: replace(pooled, data=data) for arm, data in kinds.items()}


def nothing_to_train(profile: str) -> Arms:
    return {}


RECIPES = [
    Recipe("a1", "Addition, absolute positions: perfect up to the trained length, nothing beyond.", a1,
           "APE_5to20", seeds=3, curves="checkpoints"),
    Recipe("a2", "Addition, relative positions: carries to several times the trained length.", a2,
           "RPE_5to50", seeds=3, curves="checkpoints"),
    Recipe("a3", "Addition, absolute positions, shifted copies: right on shifted sums, wrong on long ones.", a3,
           "APEshifted_5to20, Aug:table", (Check("uniform"), Check("shifted", (5,)), Check("places", (10,))),
           seeds=2, curves="checkpoints"),
    Recipe("nocarry", "Additions without carries, relative positions: right at every length.", nocarry,
           "nocarry", (Check("nocarry"),)),
    Recipe("m1-ape", "Single-digit multiplier, absolute positions.", partial(product, "m1-ape", "absolute"),
           "Mult_APE", seeds=3, curves="checkpoints"),
    Recipe("m1-rpe", "Single-digit multiplier, relative positions.", partial(product, "m1-rpe", "relative"),
           "Mult_RPE", seeds=3, curves="checkpoints"),
    Recipe("m2-upe", "Single-digit multiplier, uniform positions.", partial(product, "m2-upe", "uniform"),
           "Mult_UPE_set", seeds=3, curves="checkpoints"),
    Recipe("m1-rpe-3", "Long multipliers (3 digits, 2 in the cpu profile), relative positions.",
           partial(large_product, "m1-rpe-3", "relative"), "Mult3_RPE", curves="checkpoints", checkpoints="all"),
    Recipe("m2-upe-3", "Long multipliers (3 digits, 2 in the cpu profile), uniform positions.",
           partial(large_product, "m2-upe-3", "uniform"), "Mult3_UPE", curves="checkpoints", checkpoints="all"),
    Recipe("m3-ape-3", "Long multipliers (3 digits, 2 in the cpu profile), absolute positions, shifted copies.",
           partial(large_product, "m3-ape-3", "absolute", shifted=True), "Mult3_APE",
           curves="checkpoints", checkpoints="all"),
    Recipe("m3-rpe-3", "Long multipliers (3 digits, 2 in the cpu profile), relative positions, shifted copies.",
           partial(large_product, "m3-rpe-3", "relative", shifted=True), "RPE3_augmented",
           curves="checkpoints", checkpoints="all"),
    Recipe("c1", "Addition, relative positions: the model of a2 on consecutive carries that do not cascade.", a2,
           "consecutive", (Check("consecutive", (12,), paper=(40,)),), seeds=3, curves="strata"),
    Recipe("c2", "Addition, relative positions: the model of a2 on cascades, and on runs of nines with and without a "
           "carry.", a2,
           "cascade",
           (Check("cascade", (12,), paper=(40,)), Check("nines", (12,), paper=(40,))), seeds=3, curves="strata"),
    Recipe("c3", "Addition, three training distributions: tested on 12 digits by cascade length.", c3,
           "comp_40",
           (Check("uniform"), Check("cascade", (12,), paper=(40,)), Check("nines", (12,), paper=(40,))),
           curves="strata"),
    Recipe("maps", "Positional vectors of every layer of the multiplication models, and their change from the start.",
           maps, "RPE_maps, CPE_maps, RPE3_maps, CPE3_maps", (), analysis="maps"),
    Recipe("fixed-map", "Which places an answer depends on, changing one digit at a time, for the a2 model.",
           a2, "appendix Fixed map for RPE", (), seeds=3, analysis="fixed-map"),
    Recipe("theory", "Predictions for linear attention beside measurements, and the seven theory figures.",
           nothing_to_train, "Loss_iter_m1 to P_rpe", (), seeds=5, analysis="theory"),
    Recipe("complexity", "The four laws of complexity beside samples.",
           nothing_to_train, "sum_carries_50, sum_carries_5, smult_20, smult_5", (), analysis="complexity"),
]  # fmt: skip
