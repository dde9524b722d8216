"""The noise in the input is not the noise that the network and the loss are told of.

## How it works
A curriculum or a ramp scales the noise on its way into the corruption and nowhere else. The network learns to
trust a level that means something else at every stage of training.

## How to tell it from its look-alikes
A curriculum that scales the level for everyone raises the loss while the network improves; here a fixed level
is scored differently before and after the ramp.

## What cures it
Scale the level once, before the corruption, the network and the loss get it.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, RARE, Cause, Evidence, says

CAUSE = Cause(
    title="Corruption and conditioning use different noise levels",
    prior=RARE,
    evidence=(
        Evidence(
            "network-told-another-noise-level", DECISIVE, "the level is scaled for the corruption alone"
        ),
        Evidence(
            "sampler-misses-its-data",
            DECISIVE,
            "sampling starts at a level that is not all noise",
            when=says("starts_late"),
        ),
        Evidence("noise-far-from-data", DECISIVE, "most levels of the training teach next to nothing"),
    ),
    confirm_by="evaluate at fixed levels with the factor at 1: the loss depends on where the ramp stood",
    shows=("divergence", "loss-plateau", "below-trivial-baseline", "validation-left-behind"),
)
