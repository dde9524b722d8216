"""The epsilon that an adaptive optimizer adds before it divides, and the rate it has beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.likenesses import words
from stethoscope.program.settings.mentions import text_of
from stethoscope.program.settings.training_amounts import constant_of, optimizers_made
from stethoscope.program.walk.values import Applied
from stethoscope.run import Run, Setting, Where
from stethoscope.signals import training_plan
from stethoscope.signals.missing import Missing
from stethoscope.signals.training_plan import CODE, TrainingPlan

# Those that divide by the root of a running mean of squares. RMSprop has recipes with an epsilon of 1.
_ADAM = re.compile(r"^(?:torch\.optim\.|apex\.\w+\.|bnb\.optim\.)?\w*(?:adam|lamb)\w*$", re.IGNORECASE)
_OWN_NAMES = re.compile(r"(?:adam|opt|optim|optimizer)_?(?:eps|epsilon)|eps_adam", re.IGNORECASE)
_BARE_NAMES = frozenset({"eps", "epsilon"})
_SECTIONS = frozenset({"optimizer", "optim", "optimiser", "adam", "adamw"})


@dataclass(frozen=True, slots=True, eq=False)
class OptimizerEpsilon:
    """An epsilon of an optimizer of Adam's kind, by the name it is set under, and the highest rate."""

    value: float
    name: str
    where: tuple[Where, ...]
    rate: float | None


def measure(run: Run) -> OptimizerEpsilon | Missing:
    """Find one epsilon: what the source hands to the optimizer, else what the settings call so."""
    plan = training_plan.measure(run)
    if isinstance(plan, Missing):
        return plan
    kinds = _kinds(plan)
    if not kinds or not all(_ADAM.match(kind) for kind in kinds):
        return Missing("no optimizer of Adam's kind was found in source or settings")
    handed = list(_handed(run, plan))
    found = handed or ([] if _makes_its_own(plan) else list(_asked(run)))
    if len({value for value, _, _ in found}) != 1:
        return Missing("neither source nor settings tell the optimizer's epsilon")
    value, name, where = found[0]
    return OptimizerEpsilon(value, name, where, _rate(plan))


def _kinds(plan: TrainingPlan) -> set[str]:
    entry = plan["optimizer"]
    coded = {str(one.amount.value) for one in entry.in_effect if one.how == CODE}
    return coded or {str(one.amount.value) for one in entry.asked}


def _handed(run: Run, plan: TrainingPlan) -> Iterator[tuple[float, str, tuple[Where, ...]]]:
    """The epsilons that the optimizers of a loop are made with, at the setting they come from."""
    for training in plan.trainings:
        for move in training.loop.moves:
            for made in optimizers_made(training.loop, move.subject) if move.updates else ():
                known = constant_of(training.loop, made.keywords.get("eps"))
                value = known.value if known is not None else None
                settings = _behind(run, known.setting if known is not None else "", made)
                # What a file sets counts before the default of the field that it fills.
                value = settings[0].value if settings else value
                if isinstance(value, int | float):
                    where = (*(one.where for one in settings), made.site.where)
                    yield float(value), settings[0].dotted if settings else "eps", where


def _behind(run: Run, key: str, made: Applied) -> list[Setting]:
    """The setting that an optimizer's epsilon is: by its key, or by the name that it is taken under."""
    given = (word.value for word in getattr(made.site.node, "keywords", ()) if word.arg == "eps")
    names = {getattr(value, "attr", text_of(getattr(value, "slice", None))) for value in given}
    found = [one for one in run.recipe or () if one.dotted == key]
    found = found or [one for one in run.recipe or () if one.leaf in names]
    found = list({one.dotted: one for one in reversed(found)}.values())  # of one key the first counts
    return found if len({str(one.value) for one in found}) == 1 else []


def _makes_its_own(plan: TrainingPlan) -> bool:
    """Whether the source was seen to make the optimizer: then a name alone says nothing."""
    return any(one.how == CODE for one in plan["optimizer"].in_effect)


def _asked(run: Run) -> Iterator[tuple[float, str, tuple[Where, ...]]]:
    for setting in run.recipe or ():
        value = setting.value
        if not isinstance(value, int | float) or isinstance(value, bool):
            continue
        around = {word for part in setting.key[:-1] if isinstance(part, str) for word in words(part)}
        is_of_optimizer = setting.leaf in _BARE_NAMES and bool(around & _SECTIONS)
        if is_of_optimizer or _OWN_NAMES.fullmatch(setting.leaf):
            yield float(value), setting.dotted, (setting.where,)


def _rate(plan: TrainingPlan) -> float | None:
    """The highest rate that anything tells of: with it the optimizer goes furthest."""
    entry = plan["learning rate"]
    amounts = [one.amount for one in entry.in_effect] + [one.amount for one in entry.asked]
    return max((one.number for one in amounts if one.number is not None), default=None)
