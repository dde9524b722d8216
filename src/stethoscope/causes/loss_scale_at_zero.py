"""The loss scale reached zero, from which torch cannot return.

## How it works
torch's GradScaler has no floor. About 166 halvings from 65536 give exactly 0; then loss * 0 is 0, its
inverse infinite, every gradient NaN, and every later step is skipped although data and model are fine.

## How to tell it from its look-alikes
A learning rate of zero also freezes the weights, but there the scale is not zero.

## What cures it
Treat what made it fall; build a new scaler at 2^10 to 2^16 and raise an error when the scale drops below 1.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, MODERATE, OCCASIONAL, Cause, Evidence, Outcome

CAUSE = Cause(
    title="The loss scale is stuck at zero",
    prior=OCCASIONAL,
    evidence=(
        Evidence("loss-scale-at-zero", DECISIVE, "a scale of zero makes every gradient NaN"),
        Evidence("loss-scale-at-zero", -DECISIVE, "the scale never reached zero", outcome=Outcome.CLEAR),
        Evidence("loss-scale-collapse", MODERATE, "the scale fell all the way"),
    ),
    confirm_by="set the scale to 1024 on the last checkpoint: training goes on",
)
