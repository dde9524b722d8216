"""The metric is computed on the wrong range, crop, colours or alignment.

## How it works
A [-1, 1] image compared with a [0, 1] image, a shift by a pixel, another colour space: the score is bad
before training begins and stays so.

## How to tell it from its look-alikes
Give the metric the target itself: it must be perfect. Give it the trivial baseline: it must match the
published value.

## What cures it
Correct the metric and evaluate the kept checkpoints again.
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, DECISIVE, MODERATE, STRONG, WEAK, Cause, Evidence, Outcome, says

CAUSE = Cause(
    title="The metric is computed wrongly",
    prior=COMMON,
    evidence=(
        Evidence(
            "below-trivial-baseline",
            -MODERATE,
            "the training loss begins as far off as the score says",
            when=says("from_afar"),
        ),
        Evidence("score-ignores-its-loss", MODERATE, "the loss falls and the score gains nothing"),
        Evidence(
            "score-ignores-its-loss",
            STRONG,
            "and it does not move at all, as a score of the outputs must",
            when=says("stands_still"),
        ),
        Evidence(
            "below-trivial-baseline",
            -MODERATE,
            "the loss vanishes, and nothing is learned",
            when=says("loss_vanishes"),
        ),
        Evidence(
            "below-trivial-baseline",
            -MODERATE,
            "the training data are not learned either",
            when=says("learns", False),
        ),
        Evidence("score-stays-at-nothing", MODERATE, "no score at all beside a loss that falls"),
        Evidence("score-counts-ignored", DECISIVE, "labels that are to be ignored are counted"),
        Evidence("metric-arguments-swapped", DECISIVE, "the prediction stands where the truth belongs"),
        Evidence("ranking-of-decisions", DECISIVE, "what is to be ordered was decided before"),
        Evidence("answers-over-batch", DECISIVE, "answers are taken over the samples of a batch"),
        Evidence("answers-one-token-off", DECISIVE, "answers are compared with the token before theirs"),
        Evidence("metric-beyond-its-bounds", DECISIVE, "a score is better than perfect"),
        Evidence("psnr-beyond-its-loss", DECISIVE, "the ratio says more than any loss of the run allows"),
        Evidence(
            "all-held-against-all",
            DECISIVE,
            "every prediction is measured against all targets",
            when=says("measured"),
        ),
        Evidence(
            "softmax-before-cross-entropy",
            DECISIVE,
            "only the cross entropy that is measured gets a softmax",
            when=says("measured"),
        ),
        Evidence("metric-wrong-range", DECISIVE, "the metric assumes another range than its pictures have"),
        Evidence("metric-miscomputed", DECISIVE, "the formula of the metric fails a trial on numbers"),
        Evidence("bytes-subtracted", DECISIVE, "pictures are subtracted as bytes, which wrap around"),
        Evidence("metric-against-input", DECISIVE, "the metric compares predictions with their inputs"),
        Evidence("metric-contradicts-its-loss", DECISIVE, "the metric says less than its own loss allows"),
        Evidence("below-trivial-baseline", MODERATE, "the best score is no better than doing nothing"),
        Evidence("validation-resizes", -MODERATE, "the validation path itself already explains the scores"),
        Evidence(
            "below-trivial-baseline", -MODERATE, "the score beats the trivial baseline", outcome=Outcome.CLEAR
        ),
        Evidence(
            "overfit-gap",
            MODERATE,
            "held-out data never were better off than before training",
            when=says("never_gained"),
        ),
        Evidence(
            "below-trivial-baseline",
            WEAK,
            "held-out answers are further off than any constant one",
            when=says("far_below"),
        ),
    ),
    confirm_by="give the metric the target itself, then the trivial baseline",
    shows=("peak-then-decline", "validation-left-behind"),
)
