"""The weights start too large.

## How it works
Each layer makes what comes in larger, so outputs, loss and gradients begin far too high. In half precision
the first steps overflow; in single precision the first updates throw the weights about, and the network
settles in a worse place.

## How to tell it from its look-alikes
A learning rate that is too high runs away from a sound start; here the very first loss is above that of a
guess, before any update. Unscaled data does the same, but then the inputs are large and the weights are
not.

## What cures it
A deviation of 0.02 for transformers, He or Glorot for the rest, residual branches divided by the root of
their number.
"""

from __future__ import annotations

from stethoscope.causes.cause import (
    DECISIVE,
    MODERATE,
    OCCASIONAL,
    STRONG,
    WEAK,
    Cause,
    Evidence,
    Outcome,
    says,
)
from stethoscope.findings import Finding


def _out_of_range(finding: Finding) -> bool:
    seen = finding.evidence
    return (
        seen.get("kind") == "flat colour" and seen.get("baseline") == 10.0 and seen.get("learns") is not True
    )


CAUSE = Cause(
    title="The weights start too large",
    prior=OCCASIONAL,
    evidence=(
        Evidence("nothing-measured-is-learned", WEAK, "the first losses were thrown far off"),
        Evidence("below-trivial-baseline", STRONG, "answers begin far out of range", when=says("from_afar")),
        Evidence("validation-in-another-range", -MODERATE, "training goes well"),
        Evidence("loss-begins-far-above", MODERATE, "the first losses are far above all later ones"),
        Evidence("below-trivial-baseline", STRONG, "the outputs are far out of range", when=_out_of_range),
        Evidence(
            "below-trivial-baseline",
            MODERATE,
            "the network never does better than a constant answer",
            when=says("learns", False),
        ),
        Evidence("parameter-from-empty-memory", DECISIVE, "a parameter begins as whatever memory held"),
        Evidence("weights-start-large", DECISIVE, "the source starts the weights far too large"),
        Evidence("answers-start-far-apart", DECISIVE, "the first answers are far surer than a guess"),
        Evidence("first-loss-above-chance", STRONG, "the first loss is far above that of a guess"),
        Evidence("loss-spike", WEAK, "the loss is thrown about"),
        Evidence("non-finite-values", WEAK, "values overflow"),
        Evidence("weights-start-large", -WEAK, "no weights are seen to start large", outcome=Outcome.CLEAR),
        Evidence(
            "first-loss-above-chance", -STRONG, "the first loss is that of a guess", outcome=Outcome.CLEAR
        ),
        Evidence("non-finite-values", MODERATE, "before any update", when=says("from_the_start")),
    ),
    confirm_by="send one batch through the untrained network: outputs ten times larger than inputs",
    leads_to=("gradient-growth", "forward-overflow"),
)
