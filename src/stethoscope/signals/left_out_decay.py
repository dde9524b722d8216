"""A weight decay that the settings ask for and that only optimizers take which are not in use."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from stethoscope.program.index import dotted, index
from stethoscope.program.loop.roles import OPTIMIZER_CLASSES
from stethoscope.program.settings.mentions import Mentions, Spot, mentions, taken_by_name
from stethoscope.program.settings.training_amounts import NONE
from stethoscope.recipe.quantities import Asked
from stethoscope.run import Run, Where
from stethoscope.signals import training_plan
from stethoscope.signals.missing import Missing
from stethoscope.signals.training_plan import CODE


@dataclass(frozen=True, slots=True, eq=False)
class LeftOutDecay:
    """The setting, the optimizer that is made without it, and the places where another one takes it."""

    asked: Asked | None
    made_at: tuple[Where, ...] = ()
    optimizer: str = ""
    taken_at: tuple[Where, ...] = ()


def measure(run: Run) -> LeftOutDecay | Missing:
    """Compare the decay that is asked for with the optimizer that the source makes under these settings."""
    plan = training_plan.measure(run)
    if isinstance(plan, Missing) or run.program is None:
        return Missing("no settings and no training loop were found with the run")
    coded = [one for one in plan["weight decay"].in_effect if one.how == CODE]
    if not coded:
        return Missing("the source does not show what decay its optimizer is told")
    asked = plan["weight decay"].only()
    if asked is None or not asked.amount.number or any(one.amount.value != NONE for one in coded):
        return LeftOutDecay(None)
    code = mentions(index(run.program))
    taken = list(taken_by_name(asked.setting.leaf, code))
    kinds = {str(one.amount.value) for one in plan["optimizer"].in_effect if one.how == CODE}
    if not taken or not all(_is_of_other(spot, kinds, code) for spot in taken):
        return LeftOutDecay(None)  # nobody takes it, which setting-never-used tells, or something else does
    made = tuple(place for one in coded for place in one.where)
    return LeftOutDecay(asked, made, " and ".join(sorted(kinds)), tuple(spot.where for spot in taken))


def _is_of_other(spot: Spot, kinds: set[str], code: Mentions) -> bool:
    """Whether a value is an argument of an optimizer of another kind than those in use."""
    parent = code.parents.get(id(spot.node))
    call = code.parents.get(id(parent)) if isinstance(parent, ast.keyword) else parent
    name = (dotted(call.func) or "").rpartition(".")[2] if isinstance(call, ast.Call) else ""
    return name in OPTIMIZER_CLASSES and name not in kinds
