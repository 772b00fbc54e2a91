"""The paper's experiments by name, their verdicts and their figures, and what goes beyond the paper.

The seam is `recipes.Recipe`; a recipe needs one line in the list of its family.
"""

from digitwise.config import did_you_mean, lookup
from digitwise.paper import controls, products, proof, sums
from digitwise.paper.recipes import PAPER, Arms, Check, Recipe

PROFILES = ("paper", "cpu", "smoke")


def nothing_to_train(profile: str) -> Arms:
    return {}


WITHOUT_MODELS = [
    Recipe("theory", "Predictions for linear attention beside measurements, and the seven theory figures.",
           nothing_to_train, "Loss_iter_m1 to P_rpe", (), seeds=range(5), analysis="theory"),
    Recipe("complexity", "The four laws of complexity beside samples.",
           nothing_to_train, "sum_carries_50, sum_carries_5, smult_20, smult_5", (), analysis="complexity"),
]  # fmt: skip
FAMILIES = (sums.RECIPES, products.RECIPES, proof.RECIPES, controls.RECIPES, WITHOUT_MODELS)
RECIPES = {recipe.name: recipe for family in FAMILIES for recipe in family}


def find(name: str) -> Recipe:
    """Return a recipe by name, or `path/to/file.py:NAME`."""
    return lookup(name, RECIPES, "recipe")


def arms(name: str, profile: str = "cpu") -> Arms:
    """Return the experiments of a recipe."""
    if profile not in PROFILES:
        raise ValueError(f"no profile '{profile}'{did_you_mean(profile, PROFILES)}")
    return find(name).arms(profile)


__all__ = ["PAPER", "PROFILES", "RECIPES", "Arms", "Check", "Recipe", "arms", "find"]
