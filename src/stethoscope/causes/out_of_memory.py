"""Memory ran out, on the accelerator or on the host.

## How it works
An allocation fails, or the kernel kills the process that holds most. On the accelerator the peak comes in
the backward pass of the largest batch; on the host it is what the loaders and caches hold.

## How to tell it from its look-alikes
At the first steps: batch, model or context are too large. At one step far into the run, again at the same
one: a long sample. Slowly, with memory that rises in the log: tensors are kept from step to step. A worker
or process that was killed without a word may be this on the host; only the kernel's or the scheduler's
record proves it.

## What cures it
A smaller batch with accumulation, checkpointed activations, capped lengths; on the host fewer workers,
arrays instead of lists of Python objects, or more memory for the job.
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, DECISIVE, MODERATE, Cause, Evidence

CAUSE = Cause(
    title="The run ran out of memory",
    prior=COMMON,
    evidence=(
        Evidence(
            "device-memory-exhausted",
            DECISIVE,
            "an allocation on the device failed, and the run ended with it",
        ),
        Evidence("host-memory-exhausted", DECISIVE, "memory of the host ran out, and the run ended with it"),
        Evidence(
            "killed-without-a-word",
            MODERATE,
            "the process was killed, as the kernel does when memory is short",
        ),
        Evidence("data-worker-died", MODERATE, "a worker was killed, and workers are what fills memory"),
    ),
    confirm_by="log the peak memory of every step, of the device and of the process, up to the end",
)
