"""What a program minimises, taken apart once for every fact that asks."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.index import Index
from stethoscope.program.objective.orientation import Contribution, Reader
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.execution import STEPS, Execution, Exhausted
from stethoscope.program.walk.minimised import Minimised, minimised


@dataclass(frozen=True, slots=True, eq=False)
class Objective:
    """A minimised value, and the likenesses and distances that it is made of."""

    one: Minimised
    reader: Reader
    contributions: tuple[Contribution, ...]


@remembered
def objectives(index: Index, settings: SettingsTree) -> tuple[Objective, ...]:
    """Every minimised value that could be taken apart; trying its terms on numbers is what takes long."""
    found = []
    for one in minimised(index, settings):
        allow_reading(one.run)
        reader = Reader(one.run)
        try:
            found.append(Objective(one, reader, tuple(reader.objective(one.sink.value))))
        except (Exhausted, RecursionError):
            continue
    return tuple(found)


def allow_reading(run: Execution) -> None:
    """Give a walk steps for what is read of its values: following the program has used some, or all."""
    run.steps = max(run.steps, STEPS // 2)
