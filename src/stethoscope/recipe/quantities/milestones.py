"""At which points of the run the learning rate drops.

milestones: [20000, 30000]      lr_steps      lr_milestones      decay_epochs: [100, 150]
30,60      SOLVER.STEPS: [60000, 80000]
"""

from __future__ import annotations

import re
from itertools import pairwise

from stethoscope.recipe.quantities._amount import Amount, Quantity
from stethoscope.recipe.quantities._spelling import Spelling, as_numbers

QUANTITY = Quantity("milestones", 51)

_NAMES = re.compile(
    r"(?:lr_|sched_|scheduler_|decay_)?milestones|lr_steps|lr_decay_(?:epochs|steps|iters)|lr_drops?|decay_epochs"
    r"|decay_milestones|step_epochs|lr_step_epochs"
)
_SECTIONS = frozenset({"solver", "scheduler", "sched"})  # in which a list of steps is one of milestones


def read(spelling: Spelling) -> Amount | None:
    """A rising list of positive numbers."""
    is_inside = (
        spelling.leaf == "steps" and bool(spelling.around & _SECTIONS) and "noise" not in spelling.around
    )
    if not (is_inside or _NAMES.fullmatch(spelling.leaf)) or not spelling.is_for_training:
        return None
    numbers = as_numbers(_listed(spelling.value))
    if not numbers:
        return None
    rising = all(a < b for a, b in pairwise(numbers))
    if numbers[0] <= 0 or not rising:
        return None
    unit = "share" if numbers[-1] <= 1 else spelling.unit
    return Amount(tuple(numbers), unit)


def _listed(value: object) -> object:
    """A list, also where a program takes it as a text: `--milestones 30,60`."""
    return value.split(",") if isinstance(value, str) and "," in value else value
