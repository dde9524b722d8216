"""The validation path: what it compares, and whether it shrinks that first or follows the curriculum."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.evaluation.comparisons import comparisons_in
from stethoscope.program.evaluation.evaluation_entries import evaluation_entries
from stethoscope.program.evaluation.followed_progress import Following, followed_in
from stethoscope.program.evaluation.measured_against_input import (
    AgainstInput,
    against_input,
    asks_for_something_else,
)
from stethoscope.program.evaluation.shrinking import (
    Rulers,
    Shrinking,
    shrunk_targets,
    trained_sites,
    unseen_shrinkings,
)
from stethoscope.program.index import Function, index
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.program.walk.budget import budget
from stethoscope.program.walk.entries import walk
from stethoscope.program.walk.execution import STEPS, Execution
from stethoscope.program.walk.minimised import minimised
from stethoscope.run import Program, Recipe, Where

MOST_ENTRIES = 40
ALL_STEPS = 100_000  # for all walks together: one or two seconds


@dataclass(frozen=True, slots=True)
class ValidationPath:
    """The functions that validate, and what they do to the yardstick. `compared` counts comparisons met."""

    functions: tuple[str, ...]
    compared: int
    shrinkings: tuple[Shrinking, ...]
    followings: tuple[Following, ...]
    against_input: tuple[AgainstInput, ...] = ()


@remembered
def validation_path(program: Program, recipe: Recipe | None = None) -> ValidationPath:
    """Follow every function that validates."""
    names = index(program)
    settings = settings_tree(recipe)
    trains_for = minimised(names, settings)
    trained = trained_sites(trains_for)
    shrinkings: dict[Where, Shrinking] = {}
    followings: dict[Where, Following] = {}
    entries = evaluation_entries(names)[:MOST_ENTRIES]
    against: dict[Where, AgainstInput] = {}
    compared = 0
    left = budget(names, ALL_STEPS)
    for entry in entries:
        run = Execution(names, settings, min(STEPS, left))
        walk(run, entry.start)
        comparisons = list(comparisons_in(run, entry))
        compared += len(comparisons)
        rulers = Rulers.of(run)
        found = [s for comparison in comparisons for s in shrunk_targets(comparison, rulers, trained)]
        if not comparisons:
            found = list(unseen_shrinkings(run, entry, rulers, trained))
        for shrinking in found:
            known = shrinkings.get(shrinking.where)
            if known is None or known.compared_at is None:
                shrinkings[shrinking.where] = shrinking
        for following in followed_in(run, comparisons, entry):
            followings.setdefault(following.where, following)
        against.update({one.measured.where: one for one in against_input(run, comparisons)})
        left -= min(STEPS, left) - max(run.steps, 0)
    if against and not asks_for_something_else(trains_for):
        against = {}
    spoken = tuple(e.start.spoken if isinstance(e.start, Function) else e.start.name for e in entries)
    return ValidationPath(
        spoken, compared, tuple(shrinkings.values()), tuple(followings.values()), tuple(against.values())
    )
