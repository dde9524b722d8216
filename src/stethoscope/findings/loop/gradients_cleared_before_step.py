"""Gradients are cleared between the backward pass and the step, so the update is made of nothing.

## What it checks
On every path through a training loop: whether, after `backward()`, the gradients of an optimizer are
cleared (`optimizer.zero_grad()`, `model.zero_grad()`, `p.grad = None`) before that same optimizer steps.
Also, under `accelerator.accumulate()` with a window of several batches: whether they are cleared before the
backward pass. Accelerate passes over `zero_grad()` until the batch that updates, so it clears there, and
the update is made of the last batch alone.
And where several losses go back one after the other, whether gradients are cleared between them.

## Why it matters
The step finds gradients of zero or None. Plain SGD leaves the weights as they are; Adam moves by momentum
and weight decay alone. The loss does not fall, and nothing is raised.

## When it is harmless
Clearing after the step; before the backward pass where every batch is an update. Clearing between two losses
where the gradients of the first were looked at. Clearing another optimizer's gradients, as in the training of
two networks against each other. Clearing after gradients were set aside, where the loop writes `p.grad` by
hand before it steps (gradient surgery).

## References
- torch.optim.Optimizer.zero_grad
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.statements import moved
from stethoscope.program.loop.cleared_between_losses import cleared_between_losses
from stethoscope.program.loop.cleared_windows import cleared_windows
from stethoscope.program.loop.loop_order import (
    clears,
    go_together,
    last_before,
    moves_between,
    sets_gradients,
)
from stethoscope.program.loop.meeting_places import places_of
from stethoscope.program.loop.moves import Kind, Move
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.run import Fix, Level, Where
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="LOP102", since="0.2", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report each clearing that empties the step after it."""
    for loop in loops:
        told: set[Where] = set()
        for backward, zero, step in dict.fromkeys(_emptied(loop)):
            site = zero.event.site
            places = places_of(loop.trace, zero.event, step.event)
            if places[0] in told:  # objects of several classes that go through the same lines
                continue
            told.add(places[0])
            splices = moved(site.source, site.node, backward.event.site.node, after=False)
            yield Finding(
                where=places,
                message=f"{site.text} clears the gradients after the backward pass and before "
                f"{step.event.site.text}, which has nothing to update with",
                evidence={
                    "backward": backward.event.site.text,
                    "line of backward": backward.event.line,
                    "one_loss": False,
                },
                proof="on every path that steps, the gradients are cleared after the last backward pass",
                fix=Fix("clear the gradients before the backward pass", Level.SAFE, splices)
                if splices and site.source is backward.event.site.source
                else None,
            )

        for zero, step in dict.fromkeys(cleared_windows(loop)):
            if zero.event.site.where not in told:
                told.add(zero.event.site.where)
                yield _window_cleared(zero, step)

        for first, zero, step in dict.fromkeys(cleared_between_losses(loop)):
            if zero.event.site.where not in told:
                told.add(zero.event.site.where)
                yield _first_loss_cleared(first, zero, step)


def _first_loss_cleared(first: Move, zero: Move, step: Move) -> Finding:
    site = zero.event.site
    return Finding(
        where=(site.where, first.event.site.where),
        message=f"{site.text} throws away the gradients of {first.event.site.text} before "
        f"{step.event.site.text}, which knows the loss after it alone",
        evidence={"backward": first.event.site.text, "one_loss": True},
        proof="between the two backward passes nothing updates and nothing looks at the gradients",
    )


def _window_cleared(zero: Move, step: Move) -> Finding:
    site = zero.event.site
    splices = moved(site.source, site.node, step.event.site.node, after=True)
    return Finding(
        where=(site.where, step.event.site.where),
        message=f"{site.text} is passed over by Accelerate until the batch that updates, and takes away "
        "there what the batches before it gathered",
        evidence={"update": step.event.site.text, "line of update": step.event.line, "one_loss": False},
        proof="under accumulate(), zero_grad() acts only where gradients are synchronised: on the last batch",
        fix=Fix("clear the gradients after the update", Level.SAFE, splices) if splices else None,
    )


def _emptied(loop: TrainingLoop) -> Iterator[tuple[Move, Move, Move]]:
    if sets_gradients(loop):
        return
    for path in loop.paths:
        for step in path.of(Kind.STEP, Kind.SCALER_STEP):
            backward = last_before(path, step, Kind.BACKWARD)
            if backward is None or backward.event is step.event:
                continue
            between = moves_between(path, backward, step)
            if any(move.updates for move in between):
                continue
            for zero in between:
                if zero.kind is Kind.ZERO_GRAD and clears(loop, zero, step) and go_together(loop, zero, step):
                    yield backward, zero, step
