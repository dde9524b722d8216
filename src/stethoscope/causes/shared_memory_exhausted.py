"""The shared memory through which loaders hand over batches was full.

## How it works
Batches travel from the workers to the training process through /dev/shm. When it is full, the next write
ends in a bus error.

## How to tell it from its look-alikes
It depends on the number of workers and on the size of a batch, not on the model, and the same job runs
outside of its container. A worker that was killed by signal 9 ran out of ordinary memory instead.

## What cures it
More shared memory for the container (--shm-size, --ipc=host), fewer workers, or smaller batches in flight.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, OCCASIONAL, Cause, Evidence

CAUSE = Cause(
    title="Shared memory was full",
    prior=OCCASIONAL,
    evidence=(
        Evidence("shared-memory-exhausted", DECISIVE, "shared memory was full, and the run ended with it"),
    ),
    confirm_by="watch df -h /dev/shm while the first batches are loaded",
)
