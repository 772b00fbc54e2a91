"""Named experiments: from a name and a profile to the models that are meant to be compared.

Profiles: `paper` has the paper's sizes (for a GPU), `cpu` the same science within minutes on two cores, `smoke` a few
seconds, to see that everything runs.
"""

from digitwise.config import did_you_mean
from digitwise.paper.recipes import beyond, paper, start, text
from digitwise.paper.recipes.base import PAPER, Arms, Check, Recipe

PROFILES = ("paper", "cpu", "smoke")
RECIPES = {recipe.name: recipe for recipe in [*start.RECIPES, *paper.RECIPES, *text.RECIPES, *beyond.RECIPES]}


def find(name: str) -> Recipe:
    if name not in RECIPES:
        raise ValueError(f"no recipe '{name}'{did_you_mean(name, RECIPES)}")
    return RECIPES[name]


def arms(name: str, profile: str = "cpu") -> Arms:
    """The experiments of a recipe."""
    if profile not in PROFILES:
        raise ValueError(f"no profile '{profile}'{did_you_mean(profile, PROFILES)}")
    return find(name).arms(profile)


__all__ = [
    "PAPER",
    "PROFILES",
    "RECIPES",
    "Arms",
    "Check",
    "Recipe",
    "arms",
    "find",
]
