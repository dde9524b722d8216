"""Actions that a critic is asked about, drawn so that no gradient gets back to the actor.

An actor that learns from its critic's answer needs a draw with gradients. The critic's answer is raised or
lowered in what is minimised, and what it judges goes through `sample()` of what the actor made.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Index
from stethoscope.program.objective.bare_draws import REPARAMETRISED
from stethoscope.program.objective.opposed_sides import PushedPass, pushed_passes
from stethoscope.program.objective.taken_apart import allow_reading
from stethoscope.program.objective.tried_policies import learns
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.minimised import minimised
from stethoscope.program.walk.values import Applied, Delayed, Instance, Site, Value, inputs

MOST_VISITED = 200


@dataclass(frozen=True, slots=True, eq=False)
class DrawnAction:
    """The draw, and the answer of the critic that is raised or lowered."""

    draw: Site
    answer: Site


@remembered
def drawn_actions(index: Index, settings: SettingsTree) -> tuple[DrawnAction, ...]:
    """The draws between the actors and the critics of a program."""
    if not any(".sample(" in source.text for source in index.program):
        return ()
    found: dict[int, DrawnAction] = {}
    for one in minimised(index, settings):
        if is_test(one.sink.site.source):
            continue
        allow_reading(one.run)
        try:
            with warnings.catch_warnings():  # shapes that fit in no way
                warnings.simplefilter("ignore")
                for each in pushed_passes(one):
                    for draw in _bare_draws(one.run, each) if each.way else ():
                        found[id(draw.site.node)] = DrawnAction(draw.site, each.site)
        except (Exhausted, RecursionError):
            continue
    return tuple(found.values())


def _bare_draws(run: Execution, each: PushedPass) -> Iterator[Applied]:
    """The draws in what a critic is given, from distributions that learn."""
    made = each.made
    given = made.args[1:] if isinstance(made, Applied) and made.callee == "()" else made.args
    waiting, seen = [*given, *made.keywords.values()], set[int]()
    known: dict[int, bool] = {}
    while waiting and len(seen) < MOST_VISITED:
        value = waiting.pop()
        if id(value) in seen or id(value) in run.unrecorded or isinstance(value, Instance):
            continue
        seen.add(id(value))
        if isinstance(value, Applied) and value.callee == ".sample" and value.args:
            if _is_reparametrised(value.args[0]) and learns(run, value.args[0], known):
                yield value
            continue
        waiting.extend(_made_of(run, value))


def _made_of(run: Execution, value: Value) -> Iterator[Value]:
    """What a value is made of; of a network's answer, what the network computes."""
    if isinstance(value, Delayed):
        inner = run.expand(value)
        if inner is not value:
            yield inner
            return
    yield from inputs(value)


def _is_reparametrised(value: Value) -> bool:
    return isinstance(value, Applied) and value.callee.rpartition(".")[2] in REPARAMETRISED
