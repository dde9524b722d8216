"""The data holds an index that the model does not have.

## How it works
A class label, a token or a position lies outside of the table it is looked up in. On a GPU this is an
assertion that ends the process.

## How to tell it from its look-alikes
The same batch fails again, on the CPU with a clear message. A device that fails at random steps and with
other batches is a fault of hardware or of a kernel.

## What cures it
Check the smallest and largest label and token of the data against the model; map unknown labels to the
ignored index.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, OCCASIONAL, Cause, Evidence

CAUSE = Cause(
    title="A label or an index is out of range",
    prior=OCCASIONAL,
    evidence=(
        Evidence("index-out-of-range", DECISIVE, "the lookup itself says that an index is out of its bounds"),
    ),
    confirm_by="look up the smallest and the largest index of the batch at that step",
)
