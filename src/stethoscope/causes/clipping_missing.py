"""Rare large gradients are not clipped.

## How it works
One outlier batch moves the weights far; the loss spikes within a few steps and takes long to come back.

## How to tell it from its look-alikes
The gradient of one batch stands out, and replaying that batch shows the same norm.

## What cures it
Clip at about twice the median gradient norm.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, MODERATE, OCCASIONAL, Cause, Evidence, Outcome, says

CAUSE = Cause(
    title="Rare large gradients are not clipped",
    prior=OCCASIONAL,
    evidence=(
        Evidence(
            "loss-spike",
            MODERATE,
            "the loss spikes and recovers slowly",
            when=lambda finding: finding.evidence.get("grade") in {"S2", "S3"},
        ),
        Evidence("hook-never-called", DECISIVE, "the hook that clips is never called", when=says("clip")),
        Evidence("clip-after-step", DECISIVE, "the clip comes after the step and does nothing"),
        Evidence(
            "clip-before-backward", DECISIVE, "the clip comes before the backward pass and limits nothing"
        ),
        Evidence("loss-spike", -MODERATE, "no spike has an aftermath", outcome=Outcome.CLEAR),
    ),
    confirm_by="replay the window around the spike with clipping",
    shows=("divergence", "non-finite-values"),
)
