"""A high or growing loss scale means small gradients, nothing else.

## How it works
The scaler doubles after every growth interval without overflow. Scale S says that the largest half-precision
gradient is about 65504 / S. Growth is the opposite of explosion.

## How to tell it from its look-alikes
It is harmful only where the gradient itself vanished: then the gradient norm is zero too.

## What cures it
Nothing to cure.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, EVEN, Cause, Evidence

CAUSE = Cause(
    title="A high loss scale",
    prior=EVEN,
    evidence=(
        Evidence(
            "loss-scale-high",
            DECISIVE,
            "the scale grows because nothing overflows",
            when=lambda finding: finding.evidence.get("gradients_vanish") is not True,
        ),
        Evidence("loss-scale-collapse", -DECISIVE, "the scale collapses"),
    ),
    confirm_by="train with the scale fixed at 2^16: the curves are the same",
    benign=True,
    explains=("loss-scale-high",),
)
