"""Validation does not measure the task.

## How it works
The validation code shrinks or crops what it compares, or lets the training curriculum choose how hard it
is. Its numbers cannot be compared with each other, with a baseline, or with the finished model.

## How to tell it from its look-alikes
Run the trivial baseline (bicubic, chance, zero predictor) through the same validation: where that scores
as badly, the yardstick is broken and not the model.

## What cures it
Evaluate at full resolution and at the fixed target difficulty, then evaluate the kept checkpoints again.
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, DECISIVE, MODERATE, STRONG, WEAK, Cause, Evidence, Outcome, says

CAUSE = Cause(
    title="Validation does not measure the task",
    prior=COMMON,
    evidence=(
        Evidence(
            "below-trivial-baseline",
            -MODERATE,
            "the loss vanishes, and nothing is learned",
            when=says("loss_vanishes"),
        ),
        Evidence(
            "overfit-gap",
            MODERATE,
            "what is measured is worse than an untrained network from the first evaluation on",
            when=says("apart_at_once"),
        ),
        Evidence("validation-left-behind", -MODERATE, "what is evaluated does not move at all"),
        Evidence(
            "metric-never-moves", -STRONG, "the evaluated weights do not change at all", when=says("learns")
        ),
        Evidence(
            "below-trivial-baseline",
            -MODERATE,
            "the training data are not learned either",
            when=says("learns", False),
        ),
        Evidence(
            "evaluation-input-resized",
            STRONG + MODERATE,
            "only what is measured is resized before the network",
        ),
        Evidence("validation-resizes", DECISIVE, "the validation path changes the size of what it compares"),
        Evidence(
            "validation-follows-curriculum",
            DECISIVE,
            "validation takes its difficulty from the training step",
        ),
        Evidence(
            "peak-then-decline",
            STRONG,
            "the metric falls as the logged difficulty rises",
            when=lambda finding: finding.evidence.get("follows_difficulty") is True,
        ),
        Evidence(
            "validation-never-follows", MODERATE, "training learns, and what is measured does not follow"
        ),
        Evidence("below-trivial-baseline", MODERATE, "the best score is no better than doing nothing"),
        Evidence("peak-then-decline", WEAK, "the metric peaks early and declines, as such a yardstick does"),
        Evidence(
            "validation-resizes",
            -WEAK,
            "nothing in the source was seen to resize what validation compares",
            outcome=Outcome.CLEAR,
        ),
    ),
    confirm_by="validate one checkpoint and the trivial baseline both ways",
    leads_to=("early-peak-is-noise",),
    shows=("validation-left-behind", "overfit-gap", "metric-contradicts-its-loss"),
)
