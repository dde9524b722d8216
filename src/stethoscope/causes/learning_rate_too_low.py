"""The learning rate is too low, or decays too early, for the run to get anywhere.

## How it works
Steps are so small that the loss stays near where it began, or is still falling slowly when the run ends.

## How to tell it from its look-alikes
Vanishing gradients look alike; there a range test shows no head-room. Here ten times the rate learns at once.

## What cures it
Three to ten times the rate, or a longer schedule.
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, MODERATE, STRONG, Cause, Evidence, Outcome

CAUSE = Cause(
    title="The learning rate is too low",
    prior=COMMON,
    evidence=(
        Evidence("loss-plateau", MODERATE, "the loss stays where it began"),
        Evidence(
            "loss-plateau",
            MODERATE,
            "the rate is far below what such models train with",
            when=lambda finding: finding.evidence.get("lr_tiny") is True,
        ),
        Evidence("loss-plateau", -STRONG, "the loss improves", outcome=Outcome.CLEAR),
        Evidence("divergence", -STRONG, "the loss runs away, which small steps cannot do"),
    ),
    confirm_by="a learning-rate range test of a hundred steps",
)
