"""A guard against bad steps skips all of them.

## How it works
A limit on the gradient norm lies below the usual norm, or the running statistics that decide took in one NaN.
From then on every update is left out, the weights stay as they are and the loss is flat.

## How to tell it from its look-alikes
The count of skipped steps grows with every step. A loss scaler that skips all steps drives its scale to zero
meanwhile; parameters that no optimizer has, or a rate that is too low, skip nothing.

## What cures it
A limit that follows the usual norm, an upper bound on skips in a row, and statistics that leave NaN out.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, OCCASIONAL, STRONG, WEAK, Cause, Evidence, Outcome
from stethoscope.signals.skipped_steps import SCALER

CAUSE = Cause(
    title="A guard skips every step",
    prior=OCCASIONAL,
    evidence=(
        Evidence("limit-below-usual-norm", DECISIVE, "nearly every norm is above the limit for updates"),
        Evidence(
            "nearly-every-step-skipped",
            DECISIVE,
            "hardly an update is made at the end of the run",
            when=lambda finding: finding.evidence.get("by") != SCALER,
        ),
        Evidence("loss-plateau", WEAK, "the loss is flat"),
        Evidence("loss-scale-collapse", -STRONG, "the loss scale falls: the scaler skips, not a guard"),
        Evidence("loss-scale-at-zero", -DECISIVE, "a scale of zero skips every step"),
        Evidence(
            "nearly-every-step-skipped", -STRONG, "most steps update the weights", outcome=Outcome.CLEAR
        ),
    ),
    confirm_by="log the count of skipped steps, or raise the limit: the loss falls again",
    shows=(
        "loss-never-falls",
        "below-trivial-baseline",
    ),
)
