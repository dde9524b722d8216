"""The loss scale halves and doubles around a level, as designed.

## How it works
The scaler probes upwards until a step overflows, skips that step and halves. One skip per growth interval is
its equilibrium.

## How to tell it from its look-alikes
Skips stop right after a halving; in a forward overflow they go on.

## What cures it
Nothing to cure.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, EVEN, Cause, Evidence

CAUSE = Cause(
    title="A sawtooth of the loss scale",
    prior=EVEN,
    evidence=(
        Evidence(
            "loss-scale-sawtooth",
            DECISIVE,
            "the scale moves around its level, and overflows stop after each halving",
        ),
        Evidence("loss-scale-collapse", -DECISIVE, "the scale collapses"),
    ),
    confirm_by="fix the scale two octaves lower: the skips vanish and the loss curve stays",
    benign=True,
    explains=("loss-scale-sawtooth",),
)
