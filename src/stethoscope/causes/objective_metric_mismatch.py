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
from stethoscope.findings import Finding

MOST_TRADED_DB = 4.0  # published super-resolution gives up two to three decibels for looks


def _trades_some(finding: Finding) -> bool:
    """Whether terms for looks are logged and what is given up for them is no more than they usually cost."""
    drop, metric = finding.evidence.get("drop"), str(finding.evidence.get("metric", ""))
    too_much = "psnr" in metric and isinstance(drop, float) and drop > MOST_TRADED_DB
    return finding.evidence.get("adversarial_terms") is True and not too_much


CAUSE = Cause(
    title="The objective is not the metric",
    prior=EVEN,
    evidence=(
        Evidence(
            "peak-then-decline",
            DECISIVE,
            "the loss has adversarial or perceptual terms, which trade PSNR for looks",
            when=_trades_some,
        ),
    ),
    confirm_by="compare a perceptual metric at the peak and at the end",
    benign=True,
    explains=("peak-then-decline",),
)
