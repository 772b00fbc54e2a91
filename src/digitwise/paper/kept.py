"""Figures of kept results, drawn from counts and measured rows alone: weights are not always at hand."""

from collections.abc import Iterator
from pathlib import Path

from digitwise.paper import RECIPES, Recipe, reproduction
from digitwise.paper.evidence import Evidence, NotRun
from digitwise.paper.trained import Report, Runs, silent
from digitwise.runs import results
from digitwise.runs.folder import Run
from digitwise.runs.places import find_runs

MEASURED = {"theory"}
"""Analyses whose figures need more than the kept rows: `digitwise reproduce theory` measures and draws."""


def redraw(root: Path, profile: str = "cpu", progress: Report = silent) -> list[Path]:
    """Draw the figures of all recipes below a folder of results anew, each where it stands."""
    drawn, found = list[Path](), list(recipes_below(root))
    for number, (place, recipe) in enumerate(found, start=1):
        made = draw(place, recipe, profile, place / recipe.name)
        drawn += made
        if made:  # a folder without results costs one line and no bar
            progress("draw", number, len(found), recipe.name)
    if not drawn:
        raise ValueError(f"{root} is not a run folder, and has no results of the {profile} profile to draw")
    return drawn


def recipes_below(root: Path) -> Iterator[tuple[Path, Recipe]]:
    """Every recipe with each folder in which it may stand: those beyond the paper have one of their own."""
    places = dict.fromkeys([root, *(run.folder.parent.parent for run in find_runs(root))])
    return ((place, recipe) for place in places for recipe in RECIPES.values())


def draw(place: Path, recipe: Recipe, profile: str, folder: Path) -> list[Path]:
    """Draw what was kept of a recipe into a folder; nothing if it was not run, or needs to be measured again."""
    if recipe.analysis:
        rows = results.load_measured(place / recipe.name)
        known = rows is not None and recipe.analysis not in MEASURED
        return reproduction.ANALYSES[recipe.analysis].draw(rows or [], folder) if known else []
    runs = runs_of(place, recipe, profile)
    return reproduction.draw(runs, recipe, folder) if runs else []


def runs_of(place: Path, recipe: Recipe, profile: str) -> Runs:
    """The kept runs by arm, without arms that have none."""
    evidence, found = Evidence(place, profile), Runs()
    for arm in recipe.arms(profile):
        try:
            found[arm] = list[Run](evidence.runs(recipe.name, arm))
        except NotRun:
            continue
    return found
