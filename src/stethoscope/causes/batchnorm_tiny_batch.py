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

CAUSE = Cause(
    title="Batch norm takes its statistics from too few samples",
    prior=OCCASIONAL,
    evidence=(
        Evidence("right-only-in-training", MODERATE, "evaluation norms otherwise than training"),
        Evidence(
            "validation-below-training", MODERATE, "averaged statistics serve better than those of a batch"
        ),
        Evidence("few-samples-a-step", MODERATE, "a handful of samples stand behind each step"),
        Evidence("loss-falls-evenly", MODERATE, "noisy steps make little progress each", when=says("noisy")),
        Evidence(
            "loss-waits-for-a-lower-rate",
            STRONG,
            "a batch has a handful of samples",
            when=says("few_samples"),
        ),
        Evidence(
            "metric-never-moves", -STRONG, "the evaluated weights do not change at all", when=says("learns")
        ),
        Evidence("loss-stands-above-its-start", WEAK, "the steps are noisier than the network bears"),
        Evidence(
            "loss-waits-for-a-lower-rate",
            WEAK,
            "the loss falls only as the rate is taken away",
        ),
        Evidence("validation-in-another-range", MODERATE, "validation is far away and erratic"),
        Evidence("batch-norm-of-few-samples", DECISIVE, "a device has too few samples for batch norm"),
        Evidence("validation-never-follows", MODERATE, "validation does not follow training"),
        Evidence("validation-left-behind", WEAK, "validation does not follow training"),
        Evidence("overfit-gap", WEAK, "validation stays behind"),
        Evidence("no-eval-mode", -STRONG, "validation does not use the averaged statistics at all"),
        Evidence("batch-norm-of-few-samples", -DECISIVE, "no batch norm sees so few", outcome=Outcome.CLEAR),
    ),
    confirm_by="average the statistics over a hundred batches, the weights as they are, and validate again",
)
