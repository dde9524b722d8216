"""The average of the weights lags behind the weights.

## How it works
An exponential average with decay d looks back over 1 / (1 - d) updates. In a run that is not several times
as long, what is evaluated is mostly what the training began with.

## How to tell it from its look-alikes
The weights themselves are good: evaluate them beside the average. A training that learns nothing is bad by
both.

## What cures it
A decay whose horizon is a tenth of the run or less, or one that grows from small values.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, OCCASIONAL, STRONG, Cause, Evidence, Outcome

CAUSE = Cause(
    title="The average of the weights is too slow for the run",
    prior=OCCASIONAL,
    evidence=(
        Evidence(
            "average-slower-than-run", DECISIVE, "the weights at the start are a good part of it at the end"
        ),
        Evidence(
            "validation-trails-far-behind",
            DECISIVE,
            "what is evaluated goes the way of training, smoothly and far behind",
        ),
        Evidence("average-slower-than-run", -STRONG, "its horizon fits the run", outcome=Outcome.CLEAR),
    ),
    confirm_by="evaluate the weights themselves beside their average at the last checkpoint",
    shows=(
        "validation-left-behind",
        "overfit-gap",
        "below-trivial-baseline",
        "learned-by-heart",
        "held-out-parts-from-training",
        "validation-never-follows",
        "right-only-in-training",
    ),
)
