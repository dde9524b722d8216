"""Batch norm takes its statistics from too few samples.

## How it works
Each batch is normed by its own mean and deviation. Of two samples these are noise, so the network is
trained with one norm and evaluated with another, the average over many batches.

## How to tell it from its look-alikes
A batch that is too small for its learning rate makes the training loss noisy as well; here it looks fine
and only validation is erratic. A missing eval() norms validation by its own batches. Overfitting opens a
gap that grows slowly and is not erratic.

## What cures it
Group norm, statistics shared between devices, or frozen ones; more samples at a time. Gathering gradients
does not help.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, MODERATE, OCCASIONAL, STRONG, WEAK, Cause, Evidence, Outcome

CAUSE = Cause(
    title="Batch norm takes its statistics from too few samples",
    prior=OCCASIONAL,
    evidence=(
        Evidence("validation-in-another-range", MODERATE, "validation is far away and erratic"),
        Evidence("batch-norm-of-few-samples", DECISIVE, "a device has too few samples for batch norm"),
        Evidence("validation-never-follows", MODERATE, "validation does not follow training"),
        Evidence("validation-left-behind", MODERATE, "validation does not follow training"),
        Evidence("overfit-gap", WEAK, "validation stays behind"),
        Evidence("no-eval-mode", -STRONG, "validation does not use the averaged statistics at all"),
        Evidence("batch-norm-of-few-samples", -DECISIVE, "no batch norm sees so few", outcome=Outcome.CLEAR),
    ),
    confirm_by="average the statistics over a hundred batches, the weights as they are, and validate again",
)
