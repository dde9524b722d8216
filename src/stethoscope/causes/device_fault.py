"""The accelerator, its memory or one of its kernels failed.

## How it works
Memory that cannot be corrected, a device that falls off the bus, or a kernel that reads where it must not.

## How to tell it from its look-alikes
The fault of a device stays with the node: the same job runs elsewhere, and other jobs fail there. A fault
of a kernel goes with the job, and with the shapes it is given.

## What cures it
Exclude the node and start from the last checkpoint; for an illegal access, run with CUDA_LAUNCH_BLOCKING=1
and another version of the kernel.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, RARE, Cause, Evidence

CAUSE = Cause(
    title="The accelerator failed",
    prior=RARE,
    evidence=(Evidence("device-failed", DECISIVE, "the driver reports a fault of the device"),),
    confirm_by="run the same checkpoint and batch on another node",
)
