"""What an average of weights keeps of itself, computed where no name and no number says it.

    decay = min(highest, (1 + step) / (10 + step)) if step > start else 0.0
    average.lerp_(weight, 1 - decay)

The program is followed to the update, and the share is computed for a step late in the run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.index import Index
from stethoscope.program.likenesses import words
from stethoscope.program.loop.turned_averages import LEAST_KEPT, Blend, TurnedAverage, blends_of_networks
from stethoscope.program.objective.declared_numbers import declared_numbers
from stethoscope.program.objective.probe import operands_of, score
from stethoscope.program.settings.bare_command_line import bare_command_line
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.trace import traces
from stethoscope.program.walk.values import Choice, Leaf, Part, Value, inputs

MOST_VALUES = 200  # of one share
LERPS = frozenset({"lerp", "lerp_"})
LATE = 1e6  # steps: every ramp of a decay is over
SMALLEST = 1e-7  # share that is none: a copy, or no move at all
COUNTS = frozenset(
    {"step", "steps", "iter", "iters", "iteration", "count", "updates", "num", "n", "i", "it", "t"}
)


def computed_shares(index: Index, settings: SettingsTree) -> Iterator[TurnedAverage]:
    """The updates by `lerp` that keep the small share, as computed from all that the program says."""
    blends = [(source, blend) for source, blend in blends_of_networks(index)]
    if not blends:
        return
    settled = bare_command_line(index, settings) or settings
    calls = {
        id(event.site.node): (trace.run, event)
        for trace in traces(index, settled)
        for event in trace.events
        if isinstance(event, Call) and event.name in LERPS
    }
    for source, blend in blends:
        met = next((calls[id(node)] for node in ast.walk(blend.node) if id(node) in calls), None)
        kept = _kept(*met, blend, settled) if met is not None else None
        if kept is not None and SMALLEST < kept < LEAST_KEPT:
            yield TurnedAverage(source, blend, kept)


def _kept(run: Execution, call: Call, blend: Blend, settings: SettingsTree) -> float | None:
    weight = call.argument(1, "weight")
    numbers = set(_numbers(run, run.force(weight), settings)) if weight is not None else set()
    shares = {number for number in numbers if SMALLEST < number < 1 - SMALLEST}
    if len(shares) != 1:
        return None
    (share,) = shares
    return 1 - share if blend.kept is None else share


def _numbers(run: Execution, value: Value, settings: SettingsTree) -> Iterator[float]:
    """What a share is late in the run, by each way that a condition leaves open."""
    if isinstance(value, Choice):
        for option in value.options:
            yield from _numbers(run, option, settings)
        return
    resumed = [one for one in _within(value) if isinstance(one, Choice) and any(map(_counts, one.options))]
    operands = [*resumed, *(one for one in operands_of(run.index, value) if isinstance(one, Leaf | Part))]
    declared = declared_numbers(run.index, settings, operands)
    given = [declared[one][1] if one in declared else LATE for one in operands]
    if not all(one in declared or one in resumed or _counts(one) for one in operands):
        return
    known = score(run.index, value, operands, given)
    if known is not None:
        yield known


def _within(value: Value) -> Iterator[Value]:
    """The values that a share is computed from."""
    waiting, seen = [value], 0
    while waiting and seen < MOST_VALUES:
        current = waiting.pop()
        seen += 1
        yield current
        waiting.extend(inputs(current))


def _counts(value: Value) -> bool:
    name = value.key if isinstance(value, Part) else getattr(value, "name", "")
    return bool(COUNTS.intersection(words(str(name))))
