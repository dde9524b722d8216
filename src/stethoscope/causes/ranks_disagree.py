"""Ranks take different decisions.

## How it works
Each rank looks at its own loss or metric and decides alone to skip, stop or save. Calls in which all ranks
meet are then reached by some of them: the others wait, or meet in the wrong round.

## How to tell it from its look-alikes
The run hangs until the time limit of the collectives, with no error of its own, or replicas drift apart.

## What cures it
Reduce the decision over all ranks first, and act on what came back.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, OCCASIONAL, WEAK, Cause, Evidence, Outcome

CAUSE = Cause(
    title="Ranks take different decisions",
    prior=OCCASIONAL,
    evidence=(
        Evidence("bad-batch-skipped-on-one-rank", DECISIVE, "a rank skips its backward pass by its own loss"),
        Evidence("rank-dependent-skip", DECISIVE, "some ranks never make a call that all must make"),
        Evidence("decision-not-reduced", DECISIVE, "each rank decides by its own part of the data"),
        Evidence(
            "bad-batch-skipped-on-one-rank",
            -WEAK,
            "no rank skips a batch by itself",
            outcome=Outcome.CLEAR,
        ),
    ),
    confirm_by="give one of two processes a NaN and see whether the other goes on",
    leads_to=("collective-timeout",),
    shows=("divergence", "loss-spike"),
)
