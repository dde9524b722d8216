"""The learning rate jumps up where nobody meant it to.

## How it works
A resume rebuilt the schedule from its start, a cyclic schedule was sized wrongly, two schedules fight, or a
factor that should lower the rate is above one.

## How to tell it from its look-alikes
The jump of the rate and the jump of the loss stand at the same step. A planned restart is a schedule, and
says so in the settings.

## What cures it
Save and load the scheduler's state, or rebuild it with `last_epoch`.
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, DECISIVE, MODERATE, STRONG, WEAK, Cause, Evidence, Outcome

CAUSE = Cause(
    title="The learning rate jumps up",
    prior=COMMON,
    evidence=(
        Evidence("learning-rate-jump", STRONG, "the logged rate jumps up after its warm-up"),
        Evidence("warm-up-misses-its-rate", DECISIVE, "the computed course jumps where its warm-up ends"),
        Evidence("rate-raised-midway", DECISIVE, "the source raises it in the middle of the run"),
        Evidence(
            "learning-rate-jump",
            MODERATE,
            "the jump stands at a restart",
            when=lambda finding: finding.evidence.get("at_restart") is True,
        ),
        Evidence(
            "loss-spike",
            MODERATE,
            "the loss rises with it",
            when=lambda finding: "lr" in str(finding.evidence.get("aligned_with", "")),
        ),
        Evidence(
            "learning-rate-jump", -DECISIVE, "the logged rate has no upward jump", outcome=Outcome.CLEAR
        ),
        Evidence("held-out-falls-back", WEAK, "held-out scores fall back at once"),
    ),
    confirm_by="replay from the last checkpoint with the rate continued where it was",
    leads_to=("learning-rate-too-high",),
)
