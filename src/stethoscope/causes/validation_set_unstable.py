"""Each validation measures something else.

## How it works
The samples, crops or noise of an evaluation are drawn anew each time, and so few that the draw decides the
score. The curve is noise around the truth, and the best score is the luckiest.

## How to tell it from its look-alikes
Measure one checkpoint twice: here the two scores differ as much as two checkpoints do. Overfitting and a
metric that peaks move slowly, in one direction, over many evaluations; this jumps back and forth from one
to the next.

## What cures it
Fix the samples, seed the noise for every evaluation, and measure enough of both.
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, DECISIVE, MODERATE, STRONG, Cause, Evidence, Outcome, says

CAUSE = Cause(
    title="Every validation draws something else",
    prior=COMMON,
    evidence=(
        Evidence("score-counts-a-few", STRONG, "a handful of samples is evaluated"),
        Evidence("below-trivial-baseline", -MODERATE, "the weights themselves are thrown about"),
        Evidence("loss-waits-for-a-lower-rate", -MODERATE, "the weights themselves are thrown about"),
        Evidence("loss-stands-above-its-start", -MODERATE, "the weights themselves are thrown about"),
        Evidence("validation-strays-at-the-end", STRONG, "evaluations jump while the weights hardly move"),
        Evidence(
            "evaluation-treated-as-training",
            DECISIVE + STRONG,  # the draws are in the data set, where none is looked for in an evaluation
            "held-out samples are cropped, mirrored or noised by chance",
            when=says("same", False),
        ),
        Evidence(
            "evaluation-input-resized",
            DECISIVE + STRONG,  # the draw is a step of a transform, where none is looked for in an evaluation
            "what is measured is a random part of each sample",
            when=lambda finding: "crop" in finding.evidence,
        ),
        Evidence("evaluation-drawn-anew", DECISIVE, "chance decides what an evaluation measures"),
        Evidence(
            "evaluation-drawn-anew",
            -STRONG,
            "no draw was seen that an evaluation depends on",
            outcome=Outcome.CLEAR,
        ),
    ),
    confirm_by="evaluate one checkpoint twice and compare the scores",
    leads_to=("early-peak-is-noise",),
    shows=(
        "peak-then-decline",
        "overfit-gap",
        "metric-contradicts-its-loss",
        "below-trivial-baseline",
    ),
)
