"""Terms of a loss that can teach only a network which the step behind them does not move.

`loss_g = pixels + 0.1 * adversarial(disc(fake.detach()))` is as large as it should be, and falls and rises
with the discriminator. Its gradients stop there: the optimizer of the generator moves by the pixels alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.loop.loop_holders import known_holders
from stethoscope.program.loop.moves import Kind, Move
from stethoscope.program.loop.parameter_owners import Holder, holder_of
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.objective.addends import addends_of
from stethoscope.program.objective.cut_off_parts import Reach
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import Applied, Delayed, Instance, Site, Value

DEPTH = 8  # functions that a sum is followed into


@dataclass(frozen=True, slots=True, eq=False)
class LessonForAnother:
    """The term, where it is cut off from what the step moves, and the two networks."""

    term: Site
    cut: Site
    moved: Instance
    taught: Instance


def lessons_for_others(loop: TrainingLoop) -> Iterator[LessonForAnother]:
    """The terms of a loop's losses whose gradients end in a network that another optimizer has."""
    holders = known_holders(loop)
    if len(holders) < 2 or not loop.is_whole or not loop.trace.complete:
        return
    for place, move in enumerate(loop.moves):
        if move.kind is Kind.BACKWARD and move.subject is not None:
            moving = _moving(loop, loop.moves[place + 1 :])
            others = [one for one in holders if one not in moving]
            for addend in addends_of(loop.run, move.subject, DEPTH) if moving else ():
                found = _for_another(loop.run, addend.value, moving, others)
                if found is not None:
                    yield found


def _moving(loop: TrainingLoop, behind: Sequence[Move]) -> list[Holder]:
    """The optimizers that step on the gradients of a backward pass: behind it, before they are cleared."""
    found: list[Holder] = []
    cleared: list[Holder] = []
    for move in behind:
        held = holder_of(loop.trace, move.subject) if move.updates or move.kind is Kind.ZERO_GRAD else ()
        if move.updates:
            found += [one for one in held if one not in cleared]
        else:
            cleared += held
    return found


def _for_another(
    run: Execution, term: Value, moving: list[Holder], others: list[Holder]
) -> LessonForAnother | None:
    reach = Reach(run)
    reach.follow([term])
    if reach.is_spent or not isinstance(term, Applied | Delayed):
        return None
    reached = list(reach.reached.values())
    if not reached or any(_has(run, moving, one) for one in reached):
        return None
    taught = next((one for one in reached if isinstance(one, Instance) and _has(run, others, one)), None)
    cut = next(
        ((one, site) for one, site in reach.behind.values() if _has(run, moving, one)),
        None,
    )
    if taught is None or cut is None or not isinstance(cut[0], Instance):
        return None
    return LessonForAnother(term.site, cut[1], cut[0], taught)


def _has(run: Execution, holders: list[Holder], network: Value) -> bool:
    return any(one.holds(run, network) for one in holders)
