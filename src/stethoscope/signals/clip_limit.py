"""The norm that gradients are cut to, and what the optimizer makes of gradients of that size."""

from __future__ import annotations

import re
from dataclasses import dataclass

from stethoscope.run import Run, Setting, Where
from stethoscope.signals import training_plan
from stethoscope.signals.missing import Missing
from stethoscope.signals.training_plan import CODE, TrainingPlan

_ADAPTIVE = re.compile(r"adam|rmsprop|adagrad|adadelta|lamb|novograd|adan|prodigy|adafactor", re.IGNORECASE)
_BY_SIZE = re.compile(r"^(?:torch\.optim\.)?(?:sgd|asgd|momentum|nesterov)\w*$", re.IGNORECASE)
_EPS = frozenset({"eps", "epsilon", "adam_epsilon", "adam_eps", "eps_adam", "optimizer_eps"})
_MOMENTUM = frozenset({"momentum", "sgd_momentum"})
DEFAULT_EPS = 1e-8


@dataclass(frozen=True, slots=True, eq=False)
class ClipLimit:
    """The limit and where it stands, with what else decides how far a clipped gradient moves the weights.

    `adaptive` says that the optimizer divides gradients by their own size, `by_size` that it does not; both
    are false where it is not known.
    """

    limit: float
    where: tuple[Where, ...]
    name: str
    setting: Setting | None
    adaptive: bool
    by_size: bool
    eps: float
    rate: float | None
    momentum: float
    updates: float | None


def measure(run: Run) -> ClipLimit | Missing:
    """Find one limit, in the source where that can be told and else in the settings."""
    plan = training_plan.measure(run)
    if isinstance(plan, Missing):
        return plan
    entry = plan["gradient clip"]
    coded = [one for one in entry.in_effect if one.how == CODE]
    numbers = {one.amount.number for one in coded}
    asked = entry.only()
    if len(numbers) == 1 and (number := numbers.pop()):
        limit, where, setting = number, coded[0].where, None
    elif not coded and asked is not None and asked.amount.number:
        limit, where, setting = asked.amount.number, (asked.setting.where,), asked.setting
    else:
        return Missing("no norm that gradients are clipped to was found in source or settings")
    if setting is None and asked is not None and asked.amount.number == limit:
        setting, where = asked.setting, (asked.setting.where, *where)
    kinds = _optimizers(plan)
    return ClipLimit(
        limit,
        where,
        asked.name if setting is not None and asked is not None else "the clip",
        setting,
        bool(kinds) and all(_ADAPTIVE.search(kind) for kind in kinds),
        bool(kinds) and all(_BY_SIZE.match(kind) for kind in kinds),
        _number(run, _EPS) or DEFAULT_EPS,
        _rate(plan),
        _number(run, _MOMENTUM) or 0.0,
        plan.updates,
    )


def _optimizers(plan: TrainingPlan) -> set[str]:
    entry = plan["optimizer"]
    coded = {str(one.amount.value) for one in entry.in_effect if one.how == CODE}
    return coded or {str(one.amount.value) for one in entry.asked}


def _rate(plan: TrainingPlan) -> float | None:
    """The highest rate that anything tells of: an upper bound is what is wanted."""
    entry = plan["learning rate"]
    amounts = [one.amount for one in entry.in_effect] + [one.amount for one in entry.asked]
    numbers = [amount.number for amount in amounts]
    return max((number for number in numbers if number is not None), default=None)


def _number(run: Run, names: frozenset[str]) -> float | None:
    for setting in run.recipe or ():
        value = setting.value
        if setting.leaf in names and isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    return None
