"""The checkpoint kept as the best is chosen by the wrong score.

## How it works
The lowest training loss, or the loss of one lucky batch, decides which weights are kept, although held-out
data are measured in the same loop. Or the comparison is turned round, and the worst weights are kept.

## How to tell it from its look-alikes
The best checkpoint scores worse on held-out data than others that were not kept. A noisy validation chooses
badly too, but by its own numbers.

## What cures it
Compare the validation score, and evaluate the kept checkpoints again.
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, DECISIVE, STRONG, Cause, Evidence

CAUSE = Cause(
    title="The best checkpoint is chosen by the wrong score or the wrong end of it",
    prior=COMMON,
    evidence=(
        Evidence("best-by-test-score", DECISIVE, "the data that are to judge it in the end choose it"),
        Evidence(
            "best-by-training-loss", DECISIVE, "the comparison that keeps the best reads the training loss"
        ),
        Evidence("best-never-moves", DECISIVE, "whatever beats the beginning is kept as the best"),
        Evidence("worst-kept-as-best", DECISIVE, "the wrong end of the score is kept, or no score ever is"),
        Evidence("record-never-renewed", DECISIVE, "each save replaces the best weights by the latest"),
        Evidence("record-left-behind", DECISIVE, "a resume begins the record anew"),
        Evidence("monitored-never-logged", STRONG, "what is watched is never measured under that name"),
    ),
    confirm_by="evaluate the best and the last checkpoint on held-out data",
)
