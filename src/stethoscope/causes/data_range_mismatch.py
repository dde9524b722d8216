"""Inputs or targets are not in the range the model expects.

## How it works
Normalised twice, not at all, or with another mean: the model spends its capacity on the offset or cannot
reach the target.

## How to tell it from its look-alikes
Print minimum, maximum and mean of one batch of inputs, targets and outputs.

## What cures it
One normalisation, in one place, undone before the metric.
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


def _learned_but_far_off(finding: Finding) -> bool:
    return finding.evidence.get("far_below") is True and finding.evidence.get("learns") is True


def _grey_beside_learning(finding: Finding) -> bool:
    """Whether pictures score less than flat grey does, from a network that learns its training data."""
    seen = finding.evidence
    return seen.get("kind") == "flat colour" and seen.get("baseline") == 10.0 and seen.get("learns") is True


def _beyond_range(finding: Finding) -> bool:
    best = finding.evidence.get("best")
    return finding.evidence.get("kind") == "flat colour" and isinstance(best, float) and best < 0.0


CAUSE = Cause(
    title="Input and target ranges do not match",
    prior=OCCASIONAL,
    evidence=(
        Evidence("right-only-in-training", MODERATE, "held-out data come in another form"),
        Evidence("channels-in-another-order", DECISIVE, "one of the two sees its colours in another order"),
        Evidence("picture-reshaped", DECISIVE, "pictures are cut anew where their axes should be turned"),
        Evidence("bytes-wrap-in-samples", DECISIVE, "samples are differences of bytes, which wrap around"),
        Evidence("metric-never-moves", -STRONG, "the evaluated weights stay", when=says("learns")),
        Evidence(
            "overfit-gap",
            STRONG,
            "held-out answers are wrong and sure from the first evaluation on",
            when=says("apart_at_once"),
        ),
        Evidence("validation-in-another-range", MODERATE, "validation is in another range"),
        Evidence(
            "validation-in-another-range",
            STRONG,
            "from first to last, whatever is learned",
            when=says("stays"),
        ),
        Evidence("target-beyond-reach", DECISIVE, "the target holds numbers that the network cannot give"),
        Evidence("held-out-left-unscaled", DECISIVE, "only the training array is scaled"),
        Evidence("pictures-scaled-twice", DECISIVE, "pictures are divided by 255 twice"),
        Evidence(
            "pictures-out-of-scale", DECISIVE, "pictures come in numbers that their scaling does not fit"
        ),
        Evidence("pairs-in-two-colour-orders", DECISIVE, "red and blue stand in each other's place"),
        Evidence(
            "evaluation-normalised-differently",
            DECISIVE,
            "what is evaluated is normalised by other numbers",
        ),
        Evidence("network-fed-in-another-range", DECISIVE, "evaluation feeds the network in another range"),
        Evidence("evaluation-scaled-differently", DECISIVE, "the data of the evaluation is scaled otherwise"),
        Evidence(
            "validation-never-follows", MODERATE, "the validation gains nothing of what training learns"
        ),
        Evidence(
            "validation-never-follows",
            MODERATE,
            "held-out answers stay as uncertain as those of an untrained network",
            when=says("rises", False),
        ),
        Evidence("validation-left-behind", WEAK, "the validation never moves while training learns"),
        Evidence(
            "learned-by-heart", MODERATE, "held-out data never gained anything", when=says("of_another_kind")
        ),
        Evidence("below-trivial-baseline", MODERATE, "the best score is no better than doing nothing"),
        Evidence(
            "below-trivial-baseline",
            MODERATE,
            "while training learns, held-out pictures are worse than flat grey",
            when=_grey_beside_learning,
        ),
        Evidence(
            "below-trivial-baseline", STRONG, "errors exceed the whole range of a picture", when=_beyond_range
        ),
        Evidence(
            "below-trivial-baseline", -MODERATE, "the score beats the trivial baseline", outcome=Outcome.CLEAR
        ),
        Evidence("validation-resizes", -MODERATE, "the validation path itself already explains the scores"),
        Evidence(
            "overfit-gap",
            MODERATE,
            "held-out data never were better off than before training",
            when=says("never_gained"),
        ),
        Evidence(
            "below-trivial-baseline",
            MODERATE,
            "held-out answers are further off than any constant one",
            when=_learned_but_far_off,
        ),
    ),
    confirm_by="print the range of one batch of inputs, targets and outputs",
    shows=("peak-then-decline", "overfit-gap", "loss-plateau"),
)
