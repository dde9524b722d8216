"""An adversarial or perceptual objective trades PSNR for looks.

## How it works
PSNR and SSIM fall a little when a GAN or perceptual term takes over: the objective changed, not the health.

## How to tell it from its look-alikes
The pixel loss at constant weights and the perceptual metric keep improving.

## What cures it
Nothing to cure; judge by a perceptual metric.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, EVEN, Cause, Evidence

CAUSE = Cause(
    title="The objective is not the metric",
    prior=EVEN,
    evidence=(
        Evidence(
            "peak-then-decline",
            DECISIVE,
            "the loss has adversarial or perceptual terms, which trade PSNR for looks",
            when=lambda finding: finding.evidence.get("adversarial_terms") is True,
        ),
    ),
    confirm_by="compare a perceptual metric at the peak and at the end",
    benign=True,
    explains=("peak-then-decline",),
)
