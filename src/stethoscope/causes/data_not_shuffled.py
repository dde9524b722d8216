"""Data comes in the same order every epoch.

## How it works
Sorted shards or a missing shuffle make the loss follow the order of the data.

## How to tell it from its look-alikes
The period of the loss is the length of an epoch or a shard.

## What cures it
Shuffle, and change the seed every epoch (`sampler.set_epoch`).
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, DECISIVE, MODERATE, STRONG, Cause, Evidence, Outcome

CAUSE = Cause(
    title="Data is not shuffled",
    prior=COMMON,
    evidence=(
        Evidence("right-less-often-than-guessing", DECISIVE, "each batch holds what the one before did not"),
        Evidence(
            "loss-oscillation",
            STRONG,
            "the loss repeats itself with the epoch",
            when=lambda finding: "epoch" in str(finding.evidence.get("matches", "")),
        ),
        Evidence(
            "loss-repeats-itself", STRONG, "batches come again in the same order, those of a kind together"
        ),
        Evidence("training-data-not-shuffled", STRONG + MODERATE, "the loader keeps the stored order"),
        Evidence("loss-stands-above-its-start", MODERATE, "each batch undoes what the one before taught"),
        Evidence("sampler-repeats-its-order", DECISIVE, "every epoch has the same order"),
        Evidence("loss-repeats-itself", -MODERATE, "no batch comes again", outcome=Outcome.CLEAR),
    ),
    confirm_by="shuffle and watch the period disappear",
    shows=("peak-then-decline", "overfit-gap", "loss-spike"),
)
