"""An optimizer is stepped twice with the same gradients: by the scaler and by hand, or twice by hand.

## What it checks
On every path: `scaler.step(optimizer)` and `optimizer.step()` for the same optimizer, or two places that call
`optimizer.step()`, one of them perhaps in a helper, with no backward pass between the two.

## Why it matters
`scaler.step` calls `optimizer.step` itself. The second step repeats the update with the same gradients: twice
the learning rate and twice the count in Adam's bias correction. And it is not skipped where the scaler found
overflowed gradients, so one of those makes the weights NaN.

## When it is harmless
One of the two on the path with mixed precision, and the other on the path without.

## References
- torch.amp.GradScaler.step
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.statements import blocks_around, cut
from stethoscope.program.loop.alternatives import are_alternatives
from stethoscope.program.loop.loop_order import go_together, moves_between, surely_same
from stethoscope.program.loop.meeting_places import places_of
from stethoscope.program.loop.moves import Kind, Move
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.walk.events import Call
from stethoscope.run import Fix, Level, Splice
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="LOP106", since="0.2", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report each optimizer that is stepped by the scaler and by hand, or twice by hand."""
    for loop in loops:
        for first, again in dict.fromkeys(_repeated(loop)):
            yield Finding(
                where=places_of(loop.trace, again.event, first.event),
                message=f"{again.event.site.text} repeats the update of line {first.event.line}",
                evidence={"first": first.event.site.text, "line of first": first.event.line},
                proof="no backward pass lies between the two steps of one optimizer",
            )
        for by_scaler, by_hand in dict.fromkeys(_pairs(loop)):
            splice = _cut(by_hand)
            yield Finding(
                where=places_of(loop.trace, by_hand.event, by_scaler.event),
                message=f"{by_hand.event.site.text} repeats the update of {by_scaler.event.site.text}",
                evidence={"scaler": by_scaler.event.site.text},
                proof="no backward pass lies between the two steps of one optimizer",
                fix=Fix("leave the step to the scaler", Level.SAFE, (splice,)) if splice else None,
            )


def _pairs(loop: TrainingLoop) -> Iterator[tuple[Move, Move]]:
    for path in loop.paths:
        for by_scaler in path.of(Kind.SCALER_STEP):
            for by_hand in path.of(Kind.STEP):
                if not surely_same(by_scaler.subject, by_hand.subject) or by_hand.by_engine:
                    continue
                first, second = sorted((by_scaler, by_hand), key=path.moves.index)
                between = moves_between(path, first, second)
                if any(move.kind is Kind.BACKWARD for move in between):
                    continue
                if go_together(loop, by_scaler, by_hand):
                    yield by_scaler, by_hand


def _repeated(loop: TrainingLoop) -> Iterator[tuple[Move, Move]]:
    """Two steps by hand at two places of the source."""
    for path in loop.paths:
        steps = [move for move in path.of(Kind.STEP) if not move.by_engine]
        for first, again in itertools.pairwise(steps):
            if first.event.site.node is again.event.site.node or not _has_no_closure(again):
                continue
            if not surely_same(first.subject, again.subject) or not go_together(loop, first, again):
                continue
            if are_alternatives(loop.trace, first.event, again.event):
                continue
            between = moves_between(path, first, again)
            if not any(move.kind in {Kind.BACKWARD, Kind.ZERO_GRAD} for move in between):
                yield first, again


def _has_no_closure(step: Move) -> bool:
    """A step that gets a closure computes its gradients itself."""
    return isinstance(step.event, Call) and not step.event.args and not step.event.keywords


def _cut(step: Move) -> Splice | None:
    site = step.event.site
    block, position = blocks_around(site.source, site.node)[0]
    return cut(site.source, block, position)
