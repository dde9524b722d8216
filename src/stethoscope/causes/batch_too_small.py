"""The batch is so small that its gradients are mostly noise.

## How it works
Each update follows the samples that it happens to be made of. What they have in common is a small part of
their gradient, so the weights wander about the minimum, further the higher the rate is.

## How to tell it from its look-alikes
A rate that is too high helps itself to the same picture, and lowering it cures both: a larger batch at the
same rate tells them apart. A heavy-tailed loss leaps as well, and its score is fine.

## What cures it
More samples for each update, by a larger batch or by gathering gradients; or a rate that is lower by the
square root of the factor.
"""

from __future__ import annotations

from stethoscope.causes.cause import MODERATE, OCCASIONAL, STRONG, WEAK, Cause, Evidence, Outcome

CAUSE = Cause(
    title="The batch is too small",
    prior=OCCASIONAL,
    evidence=(
        Evidence("few-samples-at-a-high-rate", STRONG, "the rate suits dozens of samples"),
        Evidence("few-samples-a-step", WEAK, "a handful of samples stand behind each step"),
        Evidence("loss-falls-evenly", WEAK, "noisy steps make little progress each"),
        Evidence("loss-waits-for-a-lower-rate", WEAK, "noise keeps the loss up until the rate comes down"),
        Evidence("validation-strays-at-the-end", WEAK, "the weights are thrown about"),
        Evidence("batch-norm-of-few-samples", -STRONG, "batch norm suffers first"),
        Evidence(
            "few-samples-at-a-high-rate",
            -MODERATE,
            "batch and rate are in use together",
            outcome=Outcome.CLEAR,
        ),
    ),
    confirm_by="gather the gradients of sixteen batches before each update and compare",
)
