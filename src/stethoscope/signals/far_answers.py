"""How far ahead of what was read the answers of a language model are held to."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.index import index
from stethoscope.program.objective.labels_moved import labels_moved
from stethoscope.program.objective.token_places import FarAnswer, far_answers
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.run import Run
from stethoscope.signals.minimised_objective import objective_of
from stethoscope.signals.missing import Missing


@dataclass(frozen=True, slots=True, eq=False)
class FarAnswers:
    """The cross entropies that ask for a token further than the next."""

    found: tuple[FarAnswer, ...]


def measure(run: Run) -> FarAnswers | Missing:
    """Add up the cuts on the way to both sides of each cross entropy, a Trainer's model among them."""
    objective = objective_of(run)
    if isinstance(objective, Missing):
        if run.program is None or not any("Trainer" in source.text for source in run.program):
            return objective
        objective = index(run.program), settings_tree(run.recipe)
    found = far_answers(*objective)
    if found:
        return FarAnswers(found)
    return FarAnswers(tuple(FarAnswer(site, 2, "labels") for site in labels_moved(objective[0])))
