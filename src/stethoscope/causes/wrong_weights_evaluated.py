"""What is evaluated is not what is meant to be used.

## How it works
An average of the weights is kept and the raw weights are measured, or a stale copy is. The scores speak of
another network than the one that will be used, and choose checkpoints for it.

## How to tell it from its look-alikes
Evaluate raw and averaged weights of one checkpoint side by side: here the logged score is that of the wrong
one.

## What cures it
Hand the averaged network to the evaluation, or swap its weights in around it.
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

CAUSE = Cause(
    title="The weights that are evaluated are not those meant to be used",
    prior=OCCASIONAL,
    evidence=(
        Evidence("right-only-in-training", MODERATE, "other weights than the trained ones are asked"),
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
        Evidence(
            "metric-never-moves",
            STRONG,
            "no answer ever changes while training learns",
            when=says("learns"),
        ),
        Evidence(
            "metric-never-moves",
            DECISIVE,
            "no evaluation differs in any digit: the same weights are evaluated every time",
            when=says("same_weights"),
        ),
        Evidence(
            "weights-read-and-dropped",
            DECISIVE,
            "the weights to measure never reach the network",
            when=says("trained", False),
        ),
        Evidence("earlier-weights-evaluated", DECISIVE, "the evaluation reads weights of an earlier step"),
        Evidence("frozen-copy-evaluated", DECISIVE, "the evaluation runs a copy from before training"),
        Evidence("raw-weights-instead-of-ema", STRONG, "training keeps an average that no evaluation runs"),
        Evidence(
            "validation-never-follows",
            MODERATE,
            "the validation wanders about where it began while training learns",
        ),
        Evidence(
            "validation-never-follows",
            MODERATE,
            "held-out answers stay as uncertain as those of an untrained network",
            when=says("rises", False),
        ),
        Evidence("validation-left-behind", STRONG, "the validation never moves while training learns"),
        Evidence(
            "below-trivial-baseline",
            -MODERATE,
            "an untrained network is not as far off",
            when=says("far_below"),
        ),
    ),
    confirm_by="evaluate raw and averaged weights of one checkpoint",
    shows=("peak-then-decline", "overfit-gap", "below-trivial-baseline"),
)
