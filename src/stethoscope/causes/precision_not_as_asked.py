"""The network does not run in the precision that its settings ask for.

## How it works
Two settings ask for different precisions, or one is never read: float16 with its scaler is at work where
bfloat16 or float32 was meant.

## How to tell it from its look-alikes
A loss scale that moves is float16. One that only grows under bfloat16 is a scaler that was left on.

## What cures it
One setting for the precision, and a print-out of the dtype of the first activation.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, MODERATE, OCCASIONAL, Cause, Evidence, says

CAUSE = Cause(
    title="The precision is not the one that was asked for",
    prior=OCCASIONAL,
    evidence=(
        Evidence("precision-not-as-asked", DECISIVE, "the loss scale moves"),
        Evidence(
            "network-left-unprepared",
            MODERATE,
            "the engine casts only what it prepared",
            when=says("mixed"),
        ),
        Evidence("two-half-precisions", DECISIVE, "float16 and bfloat16 are both switched on"),
    ),
    confirm_by="print the dtype of an activation inside the autocast region",
)
