"""The schedule moves before the optimizer does.

## How it works
A scheduler sets its first rate when it is made. Stepped before the first update, that rate is never used
and all later ones come a round early.

## How to tell it from its look-alikes
The logged rate is the schedule shifted by one, not stretched: stretched is a matter of units.

## What cures it
`scheduler.step()` after `optimizer.step()`.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, OCCASIONAL, Cause, Evidence, Outcome

CAUSE = Cause(
    title="The schedule moves before the weights do",
    prior=OCCASIONAL,
    evidence=(
        Evidence("scheduler-before-optimizer", DECISIVE, "a round steps the schedule first"),
        Evidence("scheduler-before-optimizer", -DECISIVE, "every round updates first", outcome=Outcome.CLEAR),
    ),
    confirm_by="print the learning rate at the first update: it is the second value of the schedule",
    shows=("learning-rate-jump",),
)
