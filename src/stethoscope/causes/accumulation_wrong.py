"""Gradients are accumulated with the wrong size, or not at all.

## How it works
Losses that are means add up to a multiple of the mean when nothing divides them. And a setting that never
reaches the loop, or gradients that are cleared with every batch, leave a batch smaller than the one asked
for.

## How to tell it from its look-alikes
Loss and gradient norm grow with the number of micro-batches, or do not react to it at all.

## What cures it
Divide each loss by the number of batches in its window; clear once per window; hand the setting to the
engine.
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, DECISIVE, MODERATE, STRONG, WEAK, Cause, Evidence, Outcome

CAUSE = Cause(
    title="Gradient accumulation is wrong",
    prior=COMMON,
    evidence=(
        Evidence("divergence", WEAK, "the loss runs away, as under steps that are summed"),
        Evidence(
            "loss-stands-above-its-start", MODERATE, "updates leave the network worse than at its start"
        ),
        Evidence("loss-waits-for-a-lower-rate", MODERATE, "the loss falls only as the rate is taken away"),
        Evidence("loss-divided-twice", DECISIVE, "the loss is divided by hand and by its engine"),
        Evidence("mean-divided-by-items", DECISIVE, "a mean is divided by the targets of the update"),
        Evidence("accumulation-not-divided", DECISIVE, "the losses of a window are summed"),
        Evidence("batches-forgotten", DECISIVE, "all batches of a window but the last are thrown away"),
        Evidence("accumulation-absent", DECISIVE, "what was asked for does not take place"),
        Evidence("batch-smaller-than-asked", DECISIVE, "every batch is an update of its own"),
        Evidence("batch-does-not-add-up", DECISIVE, "the sizes of the batch contradict each other"),
        Evidence("accumulation-not-divided", -STRONG, "no window is summed", outcome=Outcome.CLEAR),
    ),
    confirm_by="compare the gradients of one batch of B with those of k batches of B / k",
    shows=(
        "divergence",
        "loss-spike",
        "loss-oscillation",
        "loss-never-falls",
        "non-finite-values",
        "rate-rises-from-zero",
    ),
)
