"""The loss jumps from batch to batch by construction.

## How it works
Diffusion noise levels, reinforcement rewards and contrastive pairs make single-batch losses heavy-tailed.
A high value is a hard draw.

## How to tell it from its look-alikes
The noise is there from the first step and does not grow; a moving average is smooth.

## What cures it
Nothing to cure; log a loss per noise level, or a fixed validation batch.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, EVEN, Cause, Evidence

CAUSE = Cause(
    title="A heavy-tailed loss",
    prior=EVEN,
    evidence=(
        Evidence(
            "loss-spike",
            DECISIVE,
            "the values jump in the same way from the first step on",
            when=lambda finding: finding.evidence.get("heavy_tailed") is True,
        ),
    ),
    confirm_by="fix the noise level: the loss is smooth",
    benign=True,
    explains=("loss-spike",),
)
