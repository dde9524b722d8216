"""A file could not be written: the disk or the quota is full.

## How it works
Checkpoints, caches and logs grow until a write fails, usually that of a checkpoint.

## How to tell it from its look-alikes
It comes at a step at which a checkpoint is written, whatever the loss does. A quota may be full while the
disk is not; a limit on the number of files looks the same.

## What cures it
Keep the last few checkpoints only, write to a temporary file and rename it, and check the newest one before
resuming from it.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, OCCASIONAL, Cause, Evidence

CAUSE = Cause(
    title="The disk is full",
    prior=OCCASIONAL,
    evidence=(
        Evidence("disk-is-full", DECISIVE, "a write failed for lack of space, and the run ended with it"),
    ),
    confirm_by="df -h, df -i and the quota of the folder that was being written",
)
