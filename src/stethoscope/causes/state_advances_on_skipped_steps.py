"""Schedule or average go on where the scaler skipped the update.

## How it works
A loss scaler that meets a gradient that is not finite makes no update and says nothing. Whatever counts
batches goes on: the schedule spends its warm-up and its decay, the average takes in weights that did not
move. With a scaler that begins far too high, or one that overflows again and again, schedule and training
drift apart by as many steps.

## How to tell it from its look-alikes
A schedule in wrong units is off by a factor, this one by the number of skipped steps. A schedule that moves
before the optimizer is off by one. A scale that falls for good is sick by itself, and the schedule's drift
is then its consequence.

## What cures it
Move the schedule and the average only where the scale did not fall: `before = scaler.get_scale()`,
`scaler.step`, `scaler.update`, `if scaler.get_scale() >= before: scheduler.step()`. Begin at a scale of
65536.
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, DECISIVE, MODERATE, STRONG, Cause, Evidence, Outcome, says

CAUSE = Cause(
    title="Schedule or average go on where the update was skipped",
    prior=COMMON,
    evidence=(
        Evidence(
            "state-moves-on-skipped-steps",
            DECISIVE,
            "they move with every batch, and many updates were skipped",
        ),
        Evidence(
            "state-moves-on-skipped-steps",
            -DECISIVE,
            "whatever moves asks first whether there was an update",
            outcome=Outcome.CLEAR,
        ),
        Evidence("non-finite-values", MODERATE, "steps were skipped", when=says("skipped_by_scaler")),
        Evidence("scheduler-before-optimizer", -STRONG, "the schedule moves before the first update anyway"),
    ),
    confirm_by="compare the optimizer's own step count in a checkpoint with the steps that were logged",
)
