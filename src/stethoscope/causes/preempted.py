"""A scheduler, a cloud or a person ended the job before the training was done.

## How it works
The time of the job was over, its node was given to another one or failed, or it was cancelled. The
processes are sent SIGTERM, and later SIGKILL.

## How to tell it from its look-alikes
The output says so, or ends in a signal without an error before it. An error that comes first is the reason,
and the signal a cleaning up. A process that was killed at once, without a first signal, may have been short
of memory.

## What cures it
Ask for more time, or save on the first signal and resume. Before resuming, check that weights, optimizer,
schedule and data position are all restored.
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, DECISIVE, MODERATE, Cause, Evidence

CAUSE = Cause(
    title="The job was ended from outside",
    prior=COMMON,
    evidence=(
        Evidence("stopped-by-scheduler", DECISIVE, "the job was told to stop"),
        Evidence("killed-without-a-word", MODERATE, "the process was killed, as a scheduler does in the end"),
    ),
    confirm_by="ask the scheduler for the state of the job (sacct, bjobs, kubectl describe)",
)
