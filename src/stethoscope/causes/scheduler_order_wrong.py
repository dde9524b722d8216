"""The schedule moves before the optimizer does, or its share acts twice.

## How it works
A scheduler sets its first rate when it is made. Stepped before the first update, that rate is never used
and all later ones come a round early. A share of the rate that is multiplied in again, by hand or by a
scheduler that multiplies, leaves less of the rate with every round.

## How to tell it from its look-alikes
The logged rate is the schedule shifted by one, not stretched: stretched is a matter of units. A
share that acts again falls away far below the last rate of the schedule.

## What cures it
`scheduler.step()` after `optimizer.step()`, and one place that sets the rate, from the one asked for.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, MODERATE, OCCASIONAL, WEAK, Cause, Evidence, Outcome

CAUSE = Cause(
    title="The schedule moves before the weights do, or acts twice",
    prior=OCCASIONAL,
    evidence=(
        Evidence("schedule-stepped-first", MODERATE, "PyTorch saw the schedule move first"),
        Evidence("scheduler-before-optimizer", DECISIVE, "a round steps the schedule first"),
        Evidence("schedule-acts-twice", DECISIVE, "its share is multiplied into a rate that has it already"),
        Evidence("scheduler-before-optimizer", -WEAK, "every round updates first", outcome=Outcome.CLEAR),
        Evidence("schedule-acts-twice", -WEAK, "no share acts twice", outcome=Outcome.CLEAR),
    ),
    confirm_by="print the learning rate at the first update: it is the second value of the schedule",
    shows=("learning-rate-jump", "loss-plateau", "loss-never-falls"),
)
