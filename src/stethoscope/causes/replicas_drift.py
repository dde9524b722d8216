"""The replicas of a network are not the same network.

## How it works
Each rank draws its own weights, or changes them by a decision of its own, while only gradients are averaged.
The replicas never meet, and the one that is saved is not the one that was trained by all.

## How to tell it from its look-alikes
Where gradients are not exchanged each replica fits its own share; here the gradients are equal on all ranks
and the weights are not. Compare the sum of the weights on every rank before the first step.

## What cures it
Broadcast the weights of the first rank before training, or make the network under one seed; compare a hash of
the weights now and then.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, RARE, STRONG, WEAK, Cause, Evidence, Outcome

CAUSE = Cause(
    title="Replicas have different weights",
    prior=RARE,
    evidence=(
        Evidence("replicas-begin-apart", DECISIVE, "every rank draws weights of its own"),
        Evidence("decision-not-reduced", WEAK, "each rank decides by its own part of the data"),
        Evidence(
            "replicas-begin-apart", -STRONG, "the replicas begin with the same weights", outcome=Outcome.CLEAR
        ),
    ),
    confirm_by="print the sum of all weights on every rank before the first step: they differ",
    shows=("loss-plateau", "loss-never-falls", "divergence", "peak-then-decline"),
)
