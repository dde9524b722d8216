"""Ranks clip their gradients by different norms.

## How it works
A norm over one rank's shard, or a clip that one rank makes alone, gives each rank another factor. Copies of
the weights that should be the same drift apart, and sharded ones are clipped far too little.

## How to tell it from its look-alikes
Gradients that are not averaged part the ranks at once; this drifts for days. Ranks that disagree about
skipping hang.

## What cures it
`model.clip_grad_norm_` for FullyShardedDataParallel, or `fully_shard`, whose tensors torch's clip
understands; the same calls on every rank.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, RARE, Cause, Evidence, Outcome

CAUSE = Cause(
    title="Ranks clip their gradients by different norms",
    prior=RARE,
    evidence=(
        Evidence("clip-sees-one-part", DECISIVE, "the source clips a part of the gradients by itself"),
        Evidence("clip-sees-one-part", -DECISIVE, "clips see all of them", outcome=Outcome.CLEAR),
    ),
    confirm_by="compare a hash of the weights between the ranks after a hundred steps",
)
