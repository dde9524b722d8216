"""The best score is the first one, because nothing was learned before it.

## How it works
A model that starts as its own baseline scores like it at the first evaluation. What follows is the
difference between the objective and the metric, not a lost optimum.

## How to tell it from its look-alikes
Compare the peak with the score of the untrained model: if they are alike there was no peak.

## What cures it
Do not go back to that checkpoint; find out why training does not improve on it.
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, MODERATE, WEAK, Cause, Evidence, says

CAUSE = Cause(
    title="The early peak is the starting level",
    prior=COMMON,
    evidence=(
        Evidence(
            "below-trivial-baseline",
            -MODERATE,
            "the loss vanishes, and nothing is learned",
            when=says("loss_vanishes"),
        ),
        Evidence(
            "below-trivial-baseline", -WEAK, "the training data are learned meanwhile", when=says("learns")
        ),
        Evidence(
            "below-trivial-baseline",
            -MODERATE,
            "the training data are not learned either",
            when=says("learns", False),
        ),
        Evidence(
            "peak-then-decline",
            MODERATE,
            "the best score stands at the very beginning",
            when=lambda finding: finding.evidence.get("from_the_start") is True,
        ),
        Evidence("below-trivial-baseline", MODERATE, "and it is no better than doing nothing"),
    ),
    confirm_by="evaluate the untrained model",
)
