"""Gradients are clipped while they still carry the loss scale.

## How it works
The scaler multiplies the loss, and with it every gradient, by tens of thousands. A clip by norm that comes
before `unscale_` always finds them too large and cuts them to max_norm; unscaling then divides that by the
scale. The effective limit is max_norm / scale.

## How to tell it from its look-alikes
With a rate that is too low the gradient norm does not care about the scale. Here the logged norm is in the
thousands and doubles exactly when the scale does.

## What cures it
`scaler.unscale_(optimizer)` before the clip.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, OCCASIONAL, Cause, Evidence, Outcome

CAUSE = Cause(
    title="Gradients are clipped before they are unscaled",
    prior=OCCASIONAL,
    evidence=(
        Evidence("norm-follows-the-scale", DECISIVE, "the logged norm carries the scale"),
        Evidence("clip-before-unscale", DECISIVE, "nothing unscales the gradients before the clip"),
        Evidence(
            "clip-before-unscale", -DECISIVE, "every clip sees unscaled gradients", outcome=Outcome.CLEAR
        ),
    ),
    confirm_by="compare the norm of one update with and without unscale_ before the clip",
    shows=("loss-spike", "divergence", "loss-plateau", "loss-never-falls"),
)
