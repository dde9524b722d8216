"""A logged number is not the average it is taken for.

## How it works
A sum or a meter is never set back between epochs, or is divided by samples where it counts batches. The curve
grows, lags or sits at the wrong level while the model does something else.

## How to tell it from its look-alikes
Compute the loss of one batch anew from a checkpoint: where it is not what was logged, the log is wrong and
the training is not. A loss that really rises does so in that batch too. A running mean moves less and less
the longer the run is, and jumps where the run was restarted.

## What cures it
Set sums and meters back at the start of each epoch, weigh each batch by its samples, and divide by their
number.
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, DECISIVE, STRONG, Cause, Evidence, Outcome, says

CAUSE = Cause(
    title="An average is aggregated wrongly",
    prior=COMMON,
    evidence=(
        Evidence("average-not-of-one-epoch", DECISIVE, "a sum is read as an average that it is not"),
        Evidence("count-left-unreduced", DECISIVE, "the sum is of all processes and the count of one"),
        Evidence(
            "iterator-spent-in-first-round",
            DECISIVE,
            "only the first evaluation has data",
            when=says("trains", False),
        ),
        Evidence("means-of-roots", DECISIVE, "roots or exponentials of batches are averaged"),
        Evidence("only-last-batch-counts", DECISIVE, "the score is that of the last batch"),
        Evidence(
            "score-of-one-share", DECISIVE, "each process counts its own share, and nobody adds them up"
        ),
        Evidence(
            "average-not-of-one-epoch",
            -STRONG,
            "every sum that is read as an average was found to be one",
            outcome=Outcome.CLEAR,
        ),
    ),
    confirm_by="compute the average anew from a checkpoint and compare it with the log",
    leads_to=("learning-rate-too-high", "overfitting"),
    shows=(
        "divergence",
        "loss-never-falls",
        "loss-plateau",
        "peak-then-decline",
        "overfit-gap",
        "metric-contradicts-its-loss",
        "below-trivial-baseline",
    ),
)
