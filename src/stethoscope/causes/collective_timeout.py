"""A collective operation never completed.

## How it works
Every process must make the same calls in the same order. One that died, hangs in its loader, or skips a
call leaves the others waiting until the watchdog ends them.

## How to tell it from its look-alikes
Look at the process that printed nothing, not at those that timed out. A rank that fell out of memory,
raised or lost its node says so in its own output. A hang at the end of an epoch points to shards of unequal
length, one at a validation or checkpoint to work that only rank zero does.

## What cures it
Find the first rank that went another way (py-spy on the silent one, or the flight recorder of NCCL). Decide
on all ranks together; give long work on one rank its own timeout.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, OCCASIONAL, Cause, Evidence

CAUSE = Cause(
    title="The processes waited for each other in vain",
    prior=OCCASIONAL,
    evidence=(
        Evidence(
            "collective-timed-out", DECISIVE, "a collective timed out, and no process gave another reason"
        ),
    ),
    confirm_by="collect the output of every rank, and the stack of the one that does not answer",
)
