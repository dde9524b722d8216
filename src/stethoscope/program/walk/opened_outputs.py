"""The parts of what a network returns, for loops over them: `for name, value in net(x).items()`.

A network's pass stays closed while values are followed, so that it is known as one. Where its parts are gone
through by name or place, its forward says what they are; each stays a part of the pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stethoscope.program.walk.values import Delayed, Items, Table, Value

if TYPE_CHECKING:
    from stethoscope.program.walk.execution import Execution

MOST_STEPS = 2_000  # of the budget of a walk, for the forward of one network


def opened_output(run: Execution, value: Value) -> Items | Table | None:
    """The list or table that a network's pass gives, of parts of the pass; None where it gives another."""
    if not isinstance(value, Delayed) or not run.is_sealed(value) or run.steps < MOST_STEPS:
        return None
    made = expanded_quietly(run, value)
    if isinstance(made, Table) and made.entries and not made.rest:
        return Table({key: run.part(value, key) for key in made.entries if isinstance(key, str | int)})
    if isinstance(made, Items) and made.items:
        return Items([run.part(value, place) for place in range(len(made.items))])
    return None


def expanded_quietly(run: Execution, value: Delayed) -> Value:
    """What a pass gives; a trace does not hear of what happens inside."""
    mark, scope = len(run.events), run.scope
    try:
        made: Value = value
        while isinstance(made, Delayed):
            made = run.expand(made)
        return made
    finally:
        del run.events[mark:]
        run.scope = scope
