"""A norm computed in float16 overflows and silences its layer.

## How it works
A hand-written norm takes the variance in float16. Above 65504, which is a spread of 256, it is inf; the
output is divided by inf and becomes zero, and so does the gradient. There is no NaN to catch.

## How to tell it from its look-alikes
Dead units stay dead in float32 too; here the same weights give a healthy output in float32. A forward
overflow elsewhere gives inf or NaN, not zeros.

## What cures it
Statistics in float32: `F.layer_norm`, or `x.float()` before the variance. A larger epsilon does not help.
"""

from __future__ import annotations

from stethoscope.causes.cause import OCCASIONAL, STRONG, Cause, Evidence

CAUSE = Cause(
    title="A norm overflows in float16",
    prior=OCCASIONAL,
    evidence=(
        Evidence("hand-written-norm-in-half", STRONG, "a hand-written norm takes its variance in float16"),
    ),
    confirm_by="run one batch of the same weights in float32: the module's output is zero only in float16",
    shows=("non-finite-values", "loss-spike", "loss-scale-collapse"),
)
