"""A schedule that waits for a plateau is asked with every batch.

## What it checks
`ReduceLROnPlateau` that is stepped in the loop over batches, with a patience that is a usual number of
epochs.

## Why it matters
Its patience counts calls. The loss of single batches is noise, so a few batches without a new best are the
rule: the learning rate is cut again and again within the first epoch, until nothing is learned any more.

## When it is harmless
A patience of many batches, as for a schedule that is meant so, and calls that are made once in many batches.
A loop over epochs that makes one update each is no loop over batches.

## References
- torch.optim.lr_scheduler.ReduceLROnPlateau, argument `patience`
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.loop.schedule_steps import schedule_steps
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.resume.checkpointing import made_by
from stethoscope.program.walk.events import Scope
from stethoscope.program.walk.values import Applied, Constant, Value
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="LOP401", since="0.6", severity=Severity.CRITICAL, subject=Subject.SOURCE)

MOST_EPOCHS = 50  # that anybody waits for; whoever counts batches waits for more
USUAL = 10  # the patience where none is given
PLACE = 3  # of the patience among the arguments


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report each schedule that loses its patience within an epoch."""
    told: set[object] = set()
    for loop in loops:
        for step in schedule_steps(loop):
            made, site = step.move.subject, step.move.event.site
            if step.round is not loop.body or made_by(made) != "ReduceLROnPlateau" or site.node in told:
                continue
            waits = _patience(made)
            if waits is not None and waits <= MOST_EPOCHS and _is_within_epochs(loop, step.round):
                told.add(site.node)
                yield Finding(
                    (site.where, *((made.site.where,) if isinstance(made, Applied) else ())),
                    f"the schedule is asked with every batch, and its patience of {waits:g} is soon over",
                    evidence={"patience": waits, "step": site.text},
                )


def _patience(made: Value | None) -> float | None:
    if not isinstance(made, Applied):
        return None
    given = made.keywords.get("patience", made.args[PLACE] if len(made.args) > PLACE else None)
    if given is None:
        return USUAL
    return given.value if isinstance(given, Constant) and isinstance(given.value, int | float) else None


def _is_within_epochs(loop: TrainingLoop, batches: Scope) -> bool:
    """Whether another loop goes around the one that updates."""
    return any(scope.kind == "loop" for scope in batches.outwards() if scope is not batches)
