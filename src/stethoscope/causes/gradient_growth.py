"""Gradients grow, and the loss scale follows them down.

## How it works
The equilibrium of the scaler sits just under 65504 divided by the largest gradient. When gradients double,
the scale settles one octave lower. The scaler is the messenger.

## How to tell it from its look-alikes
Each level of the scale is held for many steps, and the gradient norm rises by as much as the scale falls.
In a forward overflow the norm does not rise first.

## What cures it
Treat the growth: learning rate, loss weights, unbounded activations. Not the scaler.
"""

from __future__ import annotations

from stethoscope.causes.cause import MODERATE, OCCASIONAL, STRONG, Cause, Evidence, Outcome

CAUSE = Cause(
    title="Gradients grow over the run",
    prior=OCCASIONAL,
    evidence=(
        Evidence(
            "gradients-grow-until-they-overflow", STRONG, "the gradient grows from line to line to the end"
        ),
        Evidence(
            "loss-scale-collapse",
            MODERATE,
            "the scale falls, and overflows do stop at lower scales",
            when=lambda finding: finding.evidence.get("overflow_in") == "backward",
        ),
        Evidence("divergence", MODERATE, "the loss runs away at the same time"),
        Evidence("loss-scale-collapse", -MODERATE, "the scale does not fall", outcome=Outcome.CLEAR),
    ),
    confirm_by="log the gradient norm of an fp32 run: it grows there too",
)
