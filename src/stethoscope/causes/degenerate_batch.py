"""Some batches hold nothing to learn from.

## How it works
No positives, all labels ignored, only padding. The loss of such a batch is exactly zero or, where a mean over
nothing is taken, NaN.

## How to tell it from its look-alikes
A corrupt batch holds values that are not finite or absurd; here the values are fine and the count is zero.
Print how many elements count in the batch of a bad step.

## What cures it
Leave such batches out when they are made, and divide by at least one. With several processes every rank must
still go backward: give a zero that hangs on the graph.
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


def _sporadic(finding: Finding) -> bool:
    return finding.evidence.get("pattern") == "sporadic"


CAUSE = Cause(
    title="Batches without anything to learn from",
    prior=OCCASIONAL,
    evidence=(
        Evidence("held-out-loss-creeps", -STRONG, "held-out data gain by every step"),
        Evidence("answers-stay-at-guessing", WEAK, "the batches hold nothing to learn from"),
        Evidence(
            "held-out-parts-from-training",
            MODERATE,
            "what is learned holds nowhere else",
            when=says("by_heart"),
        ),
        Evidence("learning-hardly-begins", MODERATE, "the batches hold little to learn from"),
        Evidence("loss-never-falls", MODERATE, "the batches hold nothing to learn from"),
        Evidence("validation-settles-at-once", MODERATE, "the batches hold nothing to learn from"),
        Evidence(
            "unfilled-rows-are-drawn",
            DECISIVE + WEAK,  # rows that nobody wrote are empty rather than damaged
            "rows that nobody has filled are drawn like the others",
        ),
        Evidence("mean-over-nothing", DECISIVE, "the loss is a mean over a mask that may be empty"),
        Evidence("loss-exactly-zero", STRONG, "the loss is exactly zero on single steps"),
        Evidence("non-finite-values", MODERATE, "values are not finite now and then", when=_sporadic),
        Evidence("loss-exactly-zero", -WEAK, "no batch has a loss of zero", outcome=Outcome.CLEAR),
    ),
    confirm_by="print how many elements count in the batch of a bad step",
)
