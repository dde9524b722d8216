"""The learning rate stays high to the end, and the loss swings around its minimum.

## How it works
Noise of the size of the rate keeps the weights from settling.

## How to tell it from its look-alikes
A short cool-down from the last checkpoint recovers the best score at once.

## What cures it
Decay the rate, or average the weights.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, MODERATE, OCCASIONAL, STRONG, Cause, Evidence, Outcome, says

CAUSE = Cause(
    title="The learning rate is not decayed",
    prior=OCCASIONAL,
    evidence=(
        Evidence(
            "method-named-not-called",
            DECISIVE,
            "the schedule's step is named and not called",
            when=says("rate"),
        ),
        Evidence("rate-never-comes-down", MODERATE, "the rate is at its height where the log ends"),
        Evidence(
            "hook-never-called", DECISIVE, "the hook that moves it is never called", when=says("schedule")
        ),
        Evidence("schedule-never-moved", DECISIVE, "nothing moves the schedule"),
        Evidence("decay-after-end", DECISIVE, "the computed course keeps its height to the last round"),
        Evidence(
            "schedule-moves-idle-optimizer", DECISIVE, "the schedule moves the rate of another optimizer"
        ),
        Evidence("loss-leaves-its-minimum", STRONG, "the loss reached its best and walked away from it"),
        Evidence("loss-oscillation", MODERATE, "the loss swings instead of settling"),
        Evidence("loss-oscillation", -MODERATE, "the loss does not swing", outcome=Outcome.CLEAR),
        Evidence(
            "below-trivial-baseline",
            -MODERATE,
            "a run that is no better than doing nothing does not suffer from its schedule",
        ),
    ),
    confirm_by="a linear cool-down over five per cent of the run",
)
