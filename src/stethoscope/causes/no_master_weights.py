"""Half-precision weights are updated directly, and small updates are rounded away.

## How it works
bfloat16 keeps 8 bits of a weight and float16 keeps 11. An update below about 1/500 or 1/4000 of the weight
changes nothing, and weight decay never does. The lower the learning rate, the more weights stand still.

## How to tell it from its look-alikes
A learning rate that is too low moves every weight a little. Here most weights of two checkpoints are
identical to the last bit.

## What cures it
float32 weights under autocast, an optimizer that keeps float32 copies, or stochastic rounding.
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, DECISIVE, MODERATE, STRONG, Cause, Evidence, says

CAUSE = Cause(
    title="Half-precision weights lose small updates",
    prior=COMMON,
    evidence=(
        Evidence("weights-rounded-every-step", DECISIVE, "every update ends with a rounding of the weights"),
        Evidence(
            "half-weights-trained", STRONG, "an optimizer updates half-precision weights without a copy"
        ),
        Evidence(
            "half-weights-trained",
            MODERATE,
            "and what Adam divides by vanishes in float16",
            when=says("adaptive"),
        ),
    ),
    confirm_by="compare two checkpoints: count the weights that did not change in a thousand steps",
    shows=("loss-plateau", "loss-never-falls", "non-finite-values"),
)
