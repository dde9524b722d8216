"""A worker process of the data loader died, and the run with it.

## How it works
The loader's workers are processes of their own. One that is killed, or crashes in native code, takes the
run with it: the training process raises at its next batch.

## How to tell it from its look-alikes
Killed means a signal from outside, nearly always for memory of the host; a segmentation fault is native
code, such as a decoder of images; a bus error is shared memory. An exception in a dataset is none of these:
it is passed on with its traceback.

## What cures it
Fewer workers, data that is not copied into each of them, and num_workers=0 once, to see the error itself.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, OCCASIONAL, Cause, Evidence

CAUSE = Cause(
    title="A data-loading process was killed",
    prior=OCCASIONAL,
    evidence=(
        Evidence("data-worker-died", DECISIVE, "a worker of the loader died, and the run ended with it"),
    ),
    confirm_by="run with num_workers=0, and look for the worker's process in the kernel's log",
)
