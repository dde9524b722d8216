"""The schedule, its warm-up or the curriculum is laid out for a longer run than this one.

## How it works
The run ends while the rate is still on its way up, or long before it decays, or while the task is still made
easier. What was planned for later never happens.

## How to tell it from its look-alikes
A rate that is too low from the start is low at its highest point as well; here the plan is right and the
run is too short for it. A schedule that is moved in the wrong units has lengths that would fit.

## What cures it
Lengths as shares of the run: a few per cent for the warm-up, all of it for the decay.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, OCCASIONAL, STRONG, WEAK, Cause, Evidence, Outcome

CAUSE = Cause(
    title="The schedule is longer than the run",
    prior=OCCASIONAL,
    evidence=(
        Evidence("rate-climbs-to-the-end", STRONG, "the rate is still on its way up where the log ends"),
        Evidence("warmup-longer-than-run", DECISIVE, "the warm-up does not end within the run"),
        Evidence("curriculum-longer-than-run", DECISIVE, "the full task is never met"),
        Evidence("milestones-after-end", DECISIVE, "every drop of the rate lies behind the end"),
        Evidence("schedule-longer-than-run", DECISIVE, "the decay is laid out over many times the run"),
        Evidence("decay-after-end", DECISIVE, "the computed course falls behind the end only"),
        Evidence("warm-up-without-end", DECISIVE, "the computed course is still rising at the end"),
        Evidence("warmup-longer-than-run", -WEAK, "the warm-up ends in time", outcome=Outcome.CLEAR),
    ),
    confirm_by="plot the learning rate over the whole run, or print the last value of the schedule",
    shows=("loss-plateau",),
)
