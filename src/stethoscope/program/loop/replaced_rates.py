"""Rates that the settings ask for and that every round of the loop replaces by numbers of the code.

optimizer = AdamW(model.parameters(), lr=cfg.lr)
...
for group in optimizer.param_groups:
    group["lr"] = 2e-4 * factor(step)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.likenesses import words
from stethoscope.program.loop.known_numbers import is_parsed, known_number
from stethoscope.program.loop.loop_order import questions
from stethoscope.program.loop.parameter_owners import Holder, holders
from stethoscope.program.loop.rate_courses import RATE_WORDS, is_rate_of_group
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.walk.ancestry import ancestry, quietly
from stethoscope.program.walk.events import Assignment, Event
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import Applied, Constant, Delayed, Part, Site, Value

ARITHMETIC = frozenset({"*", "/", "+", "-", "max", "min", "float"})


@dataclass(frozen=True, slots=True)
class ReplacedRate:
    """Where a rate is written, the setting that the optimizer was made with, and its value."""

    site: Site
    setting: str
    asked: float
    optimizer: Site


def replaced_rates(loop: TrainingLoop) -> Iterator[ReplacedRate]:
    """Every rate of a group that each round computes without the one that was asked for."""
    updates = [move for move in loop.moves if move.updates]
    for event in loop.events if updates else ():
        if not isinstance(event, Assignment) or event.operator or not is_rate_of_group(event.target):
            continue
        if not questions(loop, event) <= questions(loop, updates[0].event):
            continue
        holder = _holder(loop, event)
        rate = holder.call.argument(1, "lr") if holder is not None else None
        asked = _asked(loop.run, rate)
        if holder is None or rate is None or asked is None:
            continue
        if not _is_of_numbers(loop.run, event.value) or _is_set_now_and_then(loop, event.value):
            continue
        if not _has_part(loop.run, event.value, asked[1]):
            yield ReplacedRate(event.site, *asked, holder.call.site)


def _holder(loop: TrainingLoop, event: Event) -> Holder | None:
    """The optimizer whose groups are gone through around an event, where it is the only one."""
    made = holders(loop.trace)
    for scope in event.scopes():
        over = quietly(loop.run, scope.value) if scope.kind == "loop" and scope.value is not None else None
        if isinstance(over, Part) and over.key == "param_groups" and isinstance(over.base, Applied):
            return next((one for one in made if one.call.site.node is over.base.site.node), None)
    return None


def _asked(run: Execution, rate: Value | None) -> tuple[str, float] | None:
    """The setting or flag that a rate is, and its number."""
    rate = quietly(run, rate) if rate is not None else None
    number = known_number(run, rate)
    if number is None or not number > 0:
        return None
    if isinstance(rate, Constant) and rate.setting:
        return rate.setting, number
    if isinstance(rate, Part) and is_parsed(run, rate.base):
        return str(rate.key), number
    return None


def _is_of_numbers(run: Execution, value: Value) -> bool:
    """Whether a rate is a number of the code, times what a function of the program gives."""
    if isinstance(value, Constant):
        return not value.setting and isinstance(value.value, float)
    if isinstance(value, Applied) and value.callee in ARITHMETIC:
        return any(_is_of_numbers(run, one) for one in value.args) and all(
            isinstance(one, Constant | Delayed) or _is_of_numbers(run, one) for one in value.args
        )
    return False


def _is_set_now_and_then(loop: TrainingLoop, value: Value) -> bool:
    """Whether a number got into a rate under a condition: in the other rounds it is another one."""
    made_from = {id(one) for one in ancestry(loop.run, value)}
    return any(
        isinstance(event, Assignment) and id(event.value) in made_from and is_named_rate(event.target)
        for event in loop.events
        if any(scope.kind == "if" for scope in event.scopes())
    )


def _has_part(run: Execution, value: Value, asked: float) -> bool:
    """Whether a rate of the settings, of a group or of an object goes into a value; or may do so."""
    for one in ancestry(run, value):
        if isinstance(one, Constant):
            named = one.setting.rpartition(".")[2]
            is_same = isinstance(one.value, float) and one.value == asked
            if is_same or RATE_WORDS & set(words(named)):
                return True
        elif isinstance(one, Part) and RATE_WORDS & set(words(str(one.key))):
            return True
    return False


def is_named_rate(target: ast.expr) -> bool:
    """Whether a name or attribute is called a rate of learning: `self.optim.peak_lr`."""
    name = str(getattr(target, "attr", None) or getattr(target, "id", ""))
    parts = set(words(name))
    return "lr" in parts or {"learning", "rate"} <= parts
