"""The ranks do not share the data out among them.

## How it works
A sampler that is told the wrong rank or number of replicas, or none at all, gives every process the same
samples. Averaged gradients are then those of one process, and an epoch shows each sample once per rank.

## How to tell it from its look-alikes
Unlike where gradients are not exchanged, the weights of all ranks stay equal. Unlike data that repeat in a
single process, the run is as it should be with one process.

## What cures it
A `DistributedSampler` that asks the process group for rank and size, with `set_epoch` every epoch, and
`drop_last` so that all ranks make as many steps.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, MODERATE, OCCASIONAL, STRONG, Cause, Evidence, Outcome

CAUSE = Cause(
    title="Ranks draw the same data",
    prior=OCCASIONAL,
    evidence=(
        Evidence("same-data-on-every-rank", DECISIVE, "nothing tells the ranks' data apart"),
        Evidence("gradients-not-averaged", -MODERATE, "the replicas do not even learn together"),
        Evidence(
            "same-data-on-every-rank",
            -STRONG,
            "every training loader gives each rank its own share",
            outcome=Outcome.CLEAR,
        ),
    ),
    confirm_by="print the indices of the first batch on every rank: they are the same",
    leads_to=("collective-timeout",),
    shows=(
        "peak-then-decline",
        "overfit-gap",
    ),
)
