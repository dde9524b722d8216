"""Gradients are too small for float16 and become zero on the way back.

## How it works
float16 holds nothing below 6e-8. Gradients of activations often are, so without a loss scale the early
layers get zeros and learn nothing.

## How to tell it from its look-alikes
Gradients that vanish by depth are small in float32 as well. Here a float32 pass over the same batch gives
the same layers gradients.

## What cures it
A `GradScaler` around backward and step, or bfloat16, which has the range of float32.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, OCCASIONAL, Cause, Evidence, Outcome

CAUSE = Cause(
    title="Gradients underflow in float16",
    prior=OCCASIONAL,
    evidence=(
        Evidence("fp16-without-scaler", DECISIVE, "the backward pass runs in float16 without a loss scale"),
        Evidence(
            "fp16-without-scaler",
            -DECISIVE,
            "every loop scales its loss or needs no scale",
            outcome=Outcome.CLEAR,
        ),
    ),
    confirm_by="count the gradients that are exactly zero, per module, with a scale of 1 and of 65536",
    shows=("loss-plateau", "loss-never-falls", "loss-scale-high"),
)
