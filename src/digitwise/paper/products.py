"""Recipes about products: the paper's, products in a text, and products without a canvas."""

from dataclasses import replace
from functools import partial
from typing import Any, cast

from digitwise.data import Shifted, ShortMultipliers
from digitwise.encodings import Nothing, UniformByPlace
from digitwise.models import Architecture
from digitwise.paper.recipes import (
    COLUMN_TRAINING,
    FURTHER,
    LONG,
    MULTIPLIER,
    PAPER,
    PAPER_TRAINING,
    SHORT,
    SMALL,
    SMALL_TRAINING,
    TEXT_CHECKS,
    WORDS,
    Arms,
    Check,
    Recipe,
    by_place,
    encoding,
    in_columns,
    in_profile,
    in_text,
    short,
)
from digitwise.paper.stages import STAGE, every_length, grown
from digitwise.runs.experiment import Experiment
from digitwise.tasks import Multiplication, TextMultiplication

#: The stages of a product.
SOFT, SHARPER = replace(STAGE, steps=4000), replace(STAGE, steps=2000, rate=2e-3, dropout=0.05, sharpness=4.0)
#: Where every distance of the canvas has its vector: a decay that leaves only those that are needed.
DEEP_SOFT = replace(SOFT, optimizer="muon", rate=5e-3, steps=2400, table_decay=5.0)
DEEP_SHARPER = replace(SHARPER, steps=1000, table_decay=5.0)
SMALL_CANVAS = 8


def product(name: str, kind: str, profile: str, grows: bool = False) -> Arms:
    """Single-digit multipliers, canvas 20, trained on multiplicands of at most 5 digits. At our size training has 0
    among the multipliers, tests never do, and a second stage sharpens.

    What `grows` is trained on a smaller canvas, where pads are few. A likely reason why that helps: attention that
    finds nothing else goes to pads, and long numbers leave none. Relative and absolute positions have their canvas from
    the start, as in the paper: to grow gives all far distances to the multiplier one vector, which is what uniform
    positions state (LOG.md). They also have the paper's six layers, and Muon: with AdamW relative positions find the
    multiplier by its distance, and every place that training has not shown is wrong.
    """
    experiment = Experiment(
        name=name,
        task=Multiplication(1, 20, zero=False),
        data=short(profile) if profile == "paper" else ShortMultipliers(short(profile), tries=16),
        encoding=encoding(kind, profile),
        architecture=SMALL,
        training=SOFT,
        testing=every_length(20, (10, 15)),
    )
    if profile == "paper":
        return {kind: in_profile(experiment, profile)}
    if grows:
        return {kind: in_stages(experiment)}
    deep = replace(experiment, architecture=replace(SMALL, layers=6))
    return {kind: replace(deep, training=DEEP_SHARPER, after=replace(deep, name=f"{name}-soft", training=DEEP_SOFT))}


def grown_products(profile: str) -> Arms:
    """The same stages for every encoding."""
    return {
        **product("m2-upe", "uniform", profile, grows=True),
        **product("m1-rpe-grown", "relative", profile, grows=True),
        **product("m1-ape-grown", "absolute", profile, grows=True),
    }


def in_stages(experiment: Experiment) -> Experiment:
    """First on a small canvas, then sharper there, then grown to the experiment's own."""
    task, testing, name = cast(Any, experiment.task), experiment.testing, experiment.name
    small = replace(experiment, task=replace(task, canvas=SMALL_CANVAS), testing=every_length(SMALL_CANVAS, (6, 7)))
    one = replace(small, name=f"{name}-{SMALL_CANVAS}", training=SOFT)
    two = replace(small, name=f"{name}-{SMALL_CANVAS}-sharp", training=SHARPER, after=one)
    return grown(two, name, task.canvas, testing.validation_lengths, factor=2.0)


LARGE_MODEL = Architecture(layers=5, width=128, heads=8)
#: The same for all multipliers of 3 digits. Products are tables to be learned, for which Muon needs fewer than half of
#: AdamW's steps; dropout cost more than it gave (LOG.md).
LARGE_SOFT = replace(
    SMALL_TRAINING, optimizer="muon", rate=6e-3, steps=7000, schedule="cosine", floor=0.02, dropout=0.0,
    table_decay=0.6, checkpoints=4,
)  # fmt: skip
LARGE_SHARPER = replace(
    LARGE_SOFT, optimizer="adamw", steps=1500, rate=2e-3, table_decay=1.0, sharpness=4.0, factor=1.3
)
REACH = 4
"""Distances beyond it share a vector, as in Shaw et al. (2018). A small canvas then shows every vector there is, and a
large one has no distance that is new."""


def large_product(name: str, kind: str, profile: str, shifted: bool = False) -> Arms:
    """Multipliers of 3 digits; at our size training has shorter ones too.

    Uniform positions clip their distances. So their batches can stand on small canvases, which take half as long, and
    while logits grow on some that 5 digits fill. The others need the whole canvas in every step: relative ones tell
    the digits of the multiplier apart by far distances, and copies need room. With copies they also have fewer
    steps and smaller batches, for time.
    """
    paper = profile == "paper"
    base = Shifted(short(profile)) if shifted else short(profile)
    experiment = Experiment(
        name=name,
        task=Multiplication(3, 20),
        data=base if paper else ShortMultipliers(base, tries=16),
        encoding=encoding(kind, profile),
        architecture=replace(PAPER, layers=9) if paper else LARGE_MODEL,
        training=replace(PAPER_TRAINING, pool=500_000) if paper else LARGE_SHARPER,
        testing=every_length(20, (8, 10)),
    )
    if paper:
        return {f"{kind}-3": experiment}
    soft, sharper = LARGE_SOFT, LARGE_SHARPER
    if not shifted:
        soft, sharper = replace(soft, steps=12_000, batch=128), replace(sharper, batch=128)
    if kind == "uniform":
        experiment = replace(experiment, encoding=replace(cast(Any, experiment.encoding), reach=REACH))
        soft = replace(soft, canvases=(SMALL_CANVAS,))
        sharper = replace(sharper, steps=6000, canvases=(5, 6, 7, 8, 20))
    first = replace(experiment, name=f"{name}-soft", training=soft)
    return {f"{kind}-3": replace(experiment, training=sharper, after=first)}


def maps(profile: str) -> Arms:
    """The multiplication models, relative and uniform."""
    return {
        **product("m1-rpe", "relative", profile),
        **product("m2-upe", "uniform", profile, grows=True),
        **large_product("m1-rpe-3", "relative", profile),
        **large_product("m2-upe-3", "uniform", profile),
    }


def text_multiply(profile: str) -> Arms:
    """As in the paper's sketch, with heads that add, heads that multiply, and heads that read."""
    paper = profile == "paper"
    groups = ((1, by_place(profile)), (2, by_place(profile, UniformByPlace)), (1, Nothing()))
    task = TextMultiplication(3, 20, most=WORDS) if paper else TextMultiplication(1, 12, zero=False, most=WORDS)
    experiment = in_text("text-mult", task, groups, 3000, profile)
    return {"text": experiment if paper else replace(experiment, data=ShortMultipliers(short(profile)))}


def column_product1(profile: str) -> Arms:
    return in_columns(
        "beyond-product1", "*", replace(MULTIPLIER, layers=1), replace(COLUMN_TRAINING, steps=2000), multiplier=1
    )


def column_product3(profile: str) -> Arms:
    return in_columns("beyond-product3", "*", MULTIPLIER, replace(COLUMN_TRAINING, steps=5000))


def all_in_one(profile: str) -> Arms:
    return in_columns("beyond-all", "+-*", MULTIPLIER, replace(COLUMN_TRAINING, steps=5000))


#: Seeds by arm, for the recipes that report them and for the maps of their vectors.
SEEDS = {
    "absolute": range(12, 15), "relative": range(12, 15), "uniform": range(15, 20), "relative-3": (11,),
    "uniform-3": (10,),
}  # fmt: skip
#: Seeds of the large multipliers with shifted copies.
COPIES = (10,)
#: What single-digit multipliers are tested on: a product with 1 is a copy, and is counted apart.
FACTORS = (Check("uniform"), Check("factors", (5, 10, 15)))
#: Where relative positions lose the multiplier, the places that training has not shown are wrong.
AND_PLACES = (*FACTORS, Check("places", (10,)))
RECIPES = [
    Recipe("m1-ape", "Single-digit multiplier, absolute positions.", partial(product, "m1-ape", "absolute"),
           "Mult_APE", AND_PLACES, seeds=SEEDS["absolute"], curves="checkpoints"),
    Recipe("m1-rpe", "Single-digit multiplier, relative positions.", partial(product, "m1-rpe", "relative"),
           "Mult_RPE", AND_PLACES, seeds=SEEDS["relative"], curves="checkpoints"),
    Recipe("m2-upe", "Single-digit multiplier, uniform positions.", partial(product, "m2-upe", "uniform", grows=True),
           "Mult_UPE_set", FACTORS, seeds=SEEDS["uniform"], curves="checkpoints"),
    Recipe("m1-rpe-3", "Multipliers of 3 digits, relative positions.",
           partial(large_product, "m1-rpe-3", "relative"), "Mult3_RPE", seeds=SEEDS["relative-3"],
           curves="checkpoints", checkpoints="all"),
    Recipe("m2-upe-3", "Multipliers of 3 digits, uniform positions.",
           partial(large_product, "m2-upe-3", "uniform"), "Mult3_UPE", seeds=SEEDS["uniform-3"],
           curves="checkpoints", checkpoints="all"),
    Recipe("m3-ape-3", "Multipliers of 3 digits, absolute positions, shifted copies.",
           partial(large_product, "m3-ape-3", "absolute", shifted=True), "Mult3_APE", seeds=COPIES,
           curves="checkpoints", checkpoints="all"),
    Recipe("m3-rpe-3", "Multipliers of 3 digits, relative positions, shifted copies.",
           partial(large_product, "m3-rpe-3", "relative", shifted=True), "RPE3_augmented", seeds=COPIES,
           curves="checkpoints", checkpoints="all"),
    Recipe("grown", "Single-digit multipliers, learned on a canvas of 8 and grown to 20, with each encoding.",
           grown_products, checks=FACTORS, seeds=range(15, 18), own_seeds={"uniform": SEEDS["uniform"]}),
    Recipe("maps", "Positional vectors of every layer of the multiplication models, and their change from the start.",
           maps, "RPE_maps, CPE_maps, RPE3_maps, CPE3_maps", (), own_seeds=SEEDS, analysis="maps"),
    Recipe("text-mult", "Products anywhere in a text: by length, words and sentences.", text_multiply, "mult_text",
           TEXT_CHECKS),
    Recipe("beyond-product1", "1-digit multipliers without a canvas.", column_product1, checks=(
        FURTHER, Check("uniform", (1000,), LONG), Check("edges", (1, 2, 5, 20, 100, 1000), 20)),
           seeds=range(3), checkpoints="last"),
    Recipe("beyond-product3", "1- to 3-digit multipliers without a canvas.", column_product3, checks=(
        Check("uniform", (5, 8, 20, 50, 100), SHORT), Check("more", (5, 20), SHORT),
        Check("edges", (1, 2, 5, 20, 100), 20)), seeds=range(3), checkpoints="last"),
    Recipe("beyond-all", "One model adds, subtracts and multiplies, told by the operator.", all_in_one, checks=(
        Check("uniform", (5, 8, 20, 50), SHORT),), seeds=range(3), checkpoints="last"),
]  # fmt: skip
