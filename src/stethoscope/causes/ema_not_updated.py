"""The average of the weights is never moved, or moved into nothing.

## How it works
What is validated and kept is a copy of the network at its start. The training loss falls, and the validation
stays where it began.

## How to tell it from its look-alikes
An average that is too slow comes closer from evaluation to evaluation; this one never moves. The raw weights
of the same checkpoint score well.

## What cures it
Update the average in place behind every step of the optimizer: `mean.lerp_(weight, 1 - decay)`.
"""

from __future__ import annotations

from stethoscope.causes.cause import (
    DECISIVE,
    MODERATE,
    OCCASIONAL,
    STRONG,
    Cause,
    Evidence,
    leaves_open,
    says,
)
from stethoscope.findings import Finding


def _of_average(finding: Finding) -> bool:
    return finding.evidence.get("of") == "average"


CAUSE = Cause(
    title="The average of the weights is never updated",
    prior=OCCASIONAL,
    evidence=(
        Evidence(
            "blended-with-itself", DECISIVE, "the average is blended with itself", when=says("averages")
        ),
        Evidence(
            "method-named-not-called", DECISIVE, "its update is named and not called", when=says("average")
        ),
        Evidence(
            "validation-in-another-range",
            -MODERATE,
            "what is evaluated is further off than an untrained network",
            when=says("stays"),
        ),
        Evidence(
            "metric-never-moves",
            STRONG,
            "no answer ever changes, whatever is trained",
            when=leaves_open("learns"),  # a training loss that measures no progress
        ),
        Evidence(
            "below-trivial-baseline",
            STRONG,
            "training learns, and what is evaluated knows nothing",
            when=says("learns"),
        ),
        Evidence("target-never-follows", DECISIVE, "the copy stays at the weights that it began with"),
        Evidence(
            "average-drawn-wrong-way",
            DECISIVE,
            "its update keeps nothing of it, or moves the network instead",
        ),
        Evidence("average-never-updated", DECISIVE, "nothing in the training moves the average"),
        Evidence(
            "metric-never-moves",
            STRONG,
            "no answer ever changes while training learns",
            when=says("learns"),
        ),
        Evidence("average-without-statistics", DECISIVE, "the statistics of the average stay as they began"),
        Evidence("average-follows-nothing", DECISIVE, "its update reaches none of its weights"),
        Evidence(
            "update-thrown-away", DECISIVE, "what should move the average is thrown away", when=_of_average
        ),
        Evidence("validation-left-behind", STRONG, "the validation never moves while training learns"),
        Evidence(
            "below-trivial-baseline",
            -MODERATE,
            "an untrained network is not as far off",
            when=says("far_below"),
        ),
    ),
    confirm_by="compare the average with the weights that the run began with, or evaluate the raw weights",
    leads_to=("wrong-weights-evaluated",),
    shows=("below-trivial-baseline", "overfit-gap", "metric-contradicts-its-loss"),
)
