"""A resume did not restore what it should have.

## How it works
A checkpoint that does not exist, keys that do not match under strict=False, or a path that silently starts
from scratch.

## How to tell it from its look-alikes
The loss jumps back to the level of an untrained model within a few steps of the restart. Lost optimizer
state costs only a short bump.

## What cures it
Load strictly, and compare the first loss after a resume with the last one before it.
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, STRONG, Cause, Evidence

CAUSE = Cause(
    title="A resume did not restore the weights",
    prior=COMMON,
    evidence=(
        Evidence("checkpoint-missing", STRONG, "the checkpoint that the settings ask for does not exist"),
        Evidence(
            "loss-spike",
            STRONG,
            "the loss jumps at a restart and stays",
            when=lambda finding: (
                "restart" in str(finding.evidence.get("aligned_with", ""))
                and finding.evidence.get("grade") in {"S2", "S3"}
            ),
        ),
    ),
    confirm_by="load the checkpoint with strict=True and evaluate it before the first step",
)
