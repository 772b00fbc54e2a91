"""Invented results for every claim: where it must hold, where it must fail, and where nothing is decided."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from digitwise.paper.evidence import FAILS, HOLDS, INCONCLUSIVE

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Cell:
    """Accuracies by seed, of a recipe's only arm unless one is named."""

    recipe: str
    length: int
    shares: Sequence[float]
    suite: str = "uniform"
    stratum: str = ""
    group: str = ""
    arm: str = ""


@dataclass(frozen=True)
class Measured:
    """Rows that a recipe measured on weights."""

    recipe: str
    rows: Rows


World = list[Cell | Measured]


def at(recipe: str, length: int, *shares: float, **rest: str) -> Cell:
    return Cell(recipe, length, shares, **rest)


def training_distributions(mixed: float, others: float, columns: Iterable[int], guessed: float = 0.9) -> World:
    """By columns of a cascade; `guessed` is the mixture's share of right runs of nines that no carry enters."""
    arms = {"mixed": mixed, "values": others, "complexity": others}
    without = {"mixed": guessed, "values": 0.9, "complexity": 0.9}
    return [
        cell for n in columns for arm in arms for cell in (
            Cell("c3", 12, [arms[arm]], "cascade", f"cascade {n}", arm=arm),
            *(Cell("c3", 12, [without[arm]], "nines", f"run {run} without carry", arm=arm)
              for run in {n, n - 1} if n >= 6),
        )
    ]  # fmt: skip


def full_canvas(*by_length: tuple[float, ...]) -> World:
    return [at("canvas20", 17 + index, *shares, arm="relative") for index, shares in enumerate(by_length)]


def places(ones: Sequence[float], others: Sequence[float]) -> World:
    return [Cell("a3", 10, others if n else ones, suite="places", group=f"place {n}") for n in range(5)]


def no_carries(*at_19: float) -> World:
    shorter = (at("nocarry", length, 1.0, suite="nocarry") for length in range(1, 19))
    return [*shorter, at("nocarry", 19, *at_19, suite="nocarry")]


def above_1(recipe: str, length: int, *shares: float) -> Cell:
    """Products with multipliers above 1."""
    return Cell(recipe, length, shares, "factors", group="multiplier above 1")


def products(absolute: Sequence[float], longer: Sequence[float]) -> World:
    return [
        above_1("m1-ape", 5, 0.99, 0.99), above_1("m1-ape", 10, *absolute),
        above_1("m1-rpe", 5, 0.99, 0.99), above_1("m1-rpe", 10, 0.6, 0.7), above_1("m1-rpe", 15, *longer),
    ]  # fmt: skip


def two_encodings(**shares: Sequence[float]) -> World:
    return [above_1(recipe.replace("_", "-"), 10, *found) for recipe, found in shares.items()]


def at_8_digits(**shares: float) -> World:
    """Long multipliers, equally good at 5 digits."""
    recipes = {name.replace("_", "-"): share for name, share in shares.items()}
    return [cell for recipe, share in recipes.items() for cell in (at(recipe, 5, 0.9), at(recipe, 8, share))]


def layers(longest: dict[str, Sequence[Sequence[Sequence[int]]]]) -> World:
    """By model, seed and layer: the distances that moved furthest."""
    return [Measured("maps", [
        {"recipe": model, "seed": seed, "layer": layer, "longest": [*distances], "effective number": 1.0}
        for model, seeds in longest.items()
        for seed, of_seed in enumerate(seeds)
        for layer, distances in enumerate(of_seed)
    ])]  # fmt: skip


def dispersed(relative: Sequence[float], uniform: Sequence[float]) -> World:
    """Effective numbers by seed, the same for both sizes of multipliers."""
    models = {"m1-rpe": relative, "m1-rpe-3": relative, "m2-upe": uniform, "m2-upe-3": uniform}
    return [Measured("maps", [
        {"recipe": model, "seed": seed, "layer": 0, "longest": [1], "effective number": number}
        for model, numbers in models.items() for seed, number in enumerate(numbers)
    ])]  # fmt: skip


def dependence(problems: int, far: Sequence[float] = (0.0, 0.0), gap: float = 0.02) -> World:
    """`far` is by seed the share of answers that change with a digit eight places below."""
    rows = []
    for seed, share in enumerate(far):
        for operand in (0, 1):
            for back in range(-3, 10):
                middle = {0: 0.99, 1: 0.38, 2: 0.04}.get(back, share if back == 8 else 0.0)
                lowest, highest = (middle, middle + gap) if back == 1 else (middle, middle)
                rows.append({
                    "recipe": "canvas20", "seed": seed, "checkpoint": 1500, "length": 10, "operand": operand,
                    "back": back, "problems": problems, "places": 10 - abs(back), "share": middle, "lowest": lowest,
                    "highest": highest, "demanded": 0.0,
                })  # fmt: skip
    return [Measured("fixed-map", rows)]


def in_text(text: str, alone: str, at_10: Sequence[float]) -> World:
    shorter = (at(recipe, length, 1.0, 1.0) for recipe in (text, alone) for length in range(1, 10))
    return [*shorter, Cell(text, 10, at_10), at(alone, 10, 0.99, 0.98)]


def words(*many: float) -> World:
    found = {20: (0.97, 0.97), 40: many}
    return [Cell(recipe, 10, found[n], "text", f"words {n}") for recipe in ("text-add", "text-mult") for n in found]


def strata(recipe: str, suite: str, digits: int = 12, **by_name: Sequence[float]) -> World:
    """Sums by stratum."""
    return [Cell(recipe, digits, shares, suite, name.replace("_", " ")) for name, shares in by_name.items()]


def theory(name: str, measured: float) -> World:
    row = {"name": name, "statement": "", "prediction": 1.0, "measured": measured, "interval": [0.9, 1.1],
           "seeds": [0, 1], "verdict": "holds" if 0.9 <= measured <= 1.1 else "fails"}  # fmt: skip
    return [Measured("theory", [row])]


ON_20 = at("canvas20", 10, 0.98, 0.99, 0.98, arm="relative")
RELATIVE, SHIFTED = at("a2", 10, 0.98, 0.99, 0.98), at("a3", 5, 1.0, 1.0, suite="shifted")
FIRST, SECOND = [[-1, 0, 1]] * 3, [[1, -1, 0]] * 3
ALL_BACK, ONE_BACK = [[1, 0, 2, 3], [-2, 0, -1, -3]], [[1, 0, 2, 3], [-1, 0, 1, -2]]

WORLDS: dict[str, dict[str, World]] = {
    "F1": {
        HOLDS: [RELATIVE, at("m2-upe", 10, 0.95, 0.96, 0.97)],
        FAILS: [RELATIVE, at("m2-upe", 10, 0.75, 0.80, 0.85)],
        INCONCLUSIVE: [RELATIVE, at("m2-upe", 10, 0.912, 0.956, 0.972)],  # as committed
    },
    "F2": {
        HOLDS: [RELATIVE, at("a3", 10, 0.75, 0.80)],
        FAILS: [RELATIVE, at("a3", 10, 0.93, 0.96)],
        INCONCLUSIVE: [RELATIVE, at("a3", 10, 0.60, 0.93)],
    },
    "F3-cascades": {
        HOLDS: training_distributions(0.94, 0.04, (6, 8), guessed=0.2),
        FAILS: training_distributions(0.04, 0.94, (6, 8)),
        INCONCLUSIVE: training_distributions(0.51, 0.50, (6, 8)),
    },
    "F3-nines": {
        HOLDS: training_distributions(0.94, 0.04, (6, 8)),
        FAILS: training_distributions(0.94, 0.04, (6, 8), guessed=0.2),
        INCONCLUSIVE: training_distributions(0.94, 0.04, (6, 8), guessed=0.86),
    },
    "A1": {
        HOLDS: [at("a1", 5, 1.0, 0.999), at("a1", 8, 0.0, 0.0)],
        FAILS: [at("a1", 5, 1.0, 0.999), at("a1", 8, 0.3, 0.2)],
        INCONCLUSIVE: [at("a1", 5, 1.0, 0.97), at("a1", 8, 0.0, 0.0)],
    },
    "A2": {
        HOLDS: [ON_20, at("canvas20", 15, 0.80, 0.90, 0.85, arm="relative")],
        FAILS: [ON_20, at("canvas20", 15, 0.50, 0.60, 0.55, arm="relative")],
        INCONCLUSIVE: [ON_20, at("canvas20", 15, 0.99, 0.99, 0.60, arm="relative")],
    },
    "A2-50": {
        HOLDS: [at("a2", 40, 0.97, 0.98), at("a2", 49, 0.95, 0.96)],
        FAILS: [at("a2", 40, 0.97, 0.98), at("a2", 49, 0.5, 0.6)],
        INCONCLUSIVE: [at("a2", 40, 0.97, 0.98), at("a2", 49, 0.5, 0.96)],
    },
    "A2-full": {
        HOLDS: full_canvas((0.90, 0.80), (0.88, 0.78), (0.86, 0.76), (0.20, 0.10)),
        FAILS: full_canvas((0.90, 0.80), (0.50, 0.40), (0.40, 0.30), (0.30, 0.20)),
        INCONCLUSIVE: full_canvas((0.80, 0.81), (0.60, 0.61), (0.40, 0.41), (0.19, 0.20)),
    },
    "A3": {
        HOLDS: [RELATIVE, SHIFTED, at("a3", 10, 0.75, 0.80)],
        FAILS: [RELATIVE, at("a3", 5, 0.96, 0.97, suite="shifted"), at("a3", 10, 0.75, 0.80)],
        INCONCLUSIVE: [RELATIVE, at("a3", 5, 1.0, 0.95, suite="shifted"), at("a3", 10, 0.75, 0.80)],
    },
    "table": {
        HOLDS: places((0.80, 0.85), (0.95, 0.96)),
        FAILS: places((0.99, 0.99), (0.90, 0.95)),
        INCONCLUSIVE: places((0.60, 0.99), (0.95, 0.95)),
    },
    "nocarry": {HOLDS: no_carries(1.0, 0.999), FAILS: no_carries(0.5, 0.6), INCONCLUSIVE: no_carries(1.0, 0.97)},
    "M1": {
        HOLDS: products((0.02, 0.05), (0.3, 0.5)),
        FAILS: products((0.02, 0.05), (0.99, 0.99)),
        INCONCLUSIVE: products((0.100, 0.060), (0.3, 0.5)),
    },
    "M2-uniform": {
        HOLDS: two_encodings(m2_upe=(0.9, 0.95), m1_rpe=(0.4, 0.5)),
        FAILS: two_encodings(m2_upe=(0.1, 0.2), m1_rpe=(0.4, 0.5)),
        INCONCLUSIVE: two_encodings(m2_upe=(0.9, 0.1), m1_rpe=(0.4, 0.5)),
    },
    "M2-relative": {
        HOLDS: two_encodings(m1_rpe=(0.4, 0.5), m1_ape=(0.1, 0.2)),
        FAILS: two_encodings(m1_rpe=(0.02, 0.03), m1_ape=(0.1, 0.2)),
        INCONCLUSIVE: two_encodings(m1_rpe=(0.05, 0.9), m1_ape=(0.1, 0.2)),
    },
    "M2-large": {
        HOLDS: at_8_digits(m2_upe_3=0.5, m1_rpe_3=0.1, m2_upe=0.9, m1_rpe=0.8),
        FAILS: at_8_digits(m2_upe_3=0.5, m1_rpe_3=0.1, m2_upe=0.9, m1_rpe=0.1),
        INCONCLUSIVE: at_8_digits(m2_upe_3=0.31, m1_rpe_3=0.30, m2_upe=0.9, m1_rpe=0.9),
    },
    "M3": {
        HOLDS: at_8_digits(m2_upe_3=0.8, m3_rpe_3=0.5, m3_ape_3=0.5),
        FAILS: at_8_digits(m2_upe_3=0.3, m3_rpe_3=0.7, m3_ape_3=0.1),
        INCONCLUSIVE: at_8_digits(m2_upe_3=0.6, m3_rpe_3=0.5, m3_ape_3=0.49),
    },
    "maps": {
        HOLDS: layers({"m1-rpe": [FIRST, FIRST], "m2-upe": [FIRST, FIRST]}),
        FAILS: layers({"m1-rpe": [FIRST, FIRST], "m2-upe": [SECOND, [*FIRST, *SECOND]]}),
        INCONCLUSIVE: layers({"m1-rpe": [FIRST, FIRST], "m2-upe": [FIRST, SECOND]}),
    },
    "maps-large": {
        HOLDS: layers({"m1-rpe-3": [ALL_BACK, ALL_BACK], "m2-upe-3": [ALL_BACK, ALL_BACK]}),
        FAILS: layers({"m1-rpe-3": [ONE_BACK, ONE_BACK], "m2-upe-3": [ALL_BACK, ALL_BACK]}),
        INCONCLUSIVE: layers({"m1-rpe-3": [ONE_BACK, ALL_BACK], "m2-upe-3": [ALL_BACK, ALL_BACK]}),
    },
    "maps-dispersed": {
        HOLDS: dispersed((20.0, 22.0), (18.0, 16.0)),
        FAILS: dispersed((16.0, 18.0), (20.0, 22.0)),
        INCONCLUSIVE: dispersed((20.0, 22.0), (18.0, 25.0)),
    },
    "fixed-map": {
        HOLDS: dependence(2000),
        FAILS: dependence(2000, far=(0.1, 0.2)),
        INCONCLUSIVE: dependence(200, gap=0.11),  # as committed
    },
    **{
        text: {
            HOLDS: in_text(text, alone, (0.98, 0.99)),
            FAILS: in_text(text, alone, (0.50, 0.60)),
            INCONCLUSIVE: in_text(text, alone, (0.99, 0.80)),
        }
        for text, alone in (("text-add", "a2"), ("text-mult", "m2-upe"))
    },
    "text-longer": {HOLDS: words(0.96, 0.97), FAILS: words(0.60, 0.80), INCONCLUSIVE: words(0.98, 0.80)},
    "C1": {
        HOLDS: strata("c1", "consecutive", carries_1=(0.97, 0.97), carries_12=(0.96, 0.97)),
        FAILS: strata("c1", "consecutive", carries_1=(0.97, 0.97), carries_12=(0.80, 0.85)),
        INCONCLUSIVE: strata("c1", "consecutive", carries_1=(0.97, 0.97), carries_12=(0.92, 0.93)),
    },
    "C2": {
        HOLDS: strata("c2", "cascade", cascade_2=(0.97, 0.97), cascade_7=(0.3, 0.2), cascade_12=(0.1, 0.1)),
        FAILS: strata("c2", "cascade", cascade_2=(0.97, 0.97), cascade_7=(0.3, 0.2), cascade_12=(0.9, 0.9)),
        INCONCLUSIVE: strata("c2", "cascade", cascade_2=(0.97, 0.97), cascade_7=(0.3, 0.95), cascade_12=(0.1, 0.1)),
    },
    "C2-40": {
        HOLDS: strata("c2", "cascade", 40, cascade_2=(0.97, 0.97), cascade_7=(0.3, 0.2), cascade_12=(0.1, 0.1)),
        FAILS: strata("c2", "cascade", 40, cascade_2=(0.97, 0.97), cascade_7=(0.3, 0.2), cascade_12=(0.9, 0.9)),
        INCONCLUSIVE: strata("c2", "cascade", 40, cascade_2=(0.97, 0.97), cascade_7=(0.3, 0.95), cascade_12=(0.1, 0.1)),
    },
    "C2-nines": {
        HOLDS: strata("c2", "nines", run_8_with_carry=(0.2, 0.3), run_8_without_carry=(0.5, 0.8)),
        FAILS: strata("c2", "nines", run_8_with_carry=(0.2, 0.3), run_8_without_carry=(0.95, 0.97)),
        INCONCLUSIVE: strata("c2", "nines", run_8_with_carry=(0.2, 0.3), run_8_without_carry=(0.5, 0.97)),
    },
    "C3": {
        HOLDS: training_distributions(0.9, 0.5, range(7)) + training_distributions(0.5, 0.9, range(7, 13)),
        FAILS: training_distributions(0.9, 0.5, range(6)) + training_distributions(0.5, 0.9, range(6, 13)),
        INCONCLUSIVE: training_distributions(0.9, 0.5, range(6)) + training_distributions(0.5, 0.5, range(6, 13)),
    },
    **{
        claim: {HOLDS: theory(row, 1.05), FAILS: theory(row, 1.2), INCONCLUSIVE: theory(row, float("nan"))}
        for claim, row in (("T1", "theory-ape"), ("T2", "theory-ape-shifts"), ("T3", "theory-rpe"))
    },
}
