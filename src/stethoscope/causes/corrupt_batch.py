"""Single batches hold values that no model should see.

## How it works
A NaN, an infinity, an empty or an absurdly scaled sample. One such batch gives one bad step; without
protection one step can be enough.

## How to tell it from its look-alikes
Replay the batch on older weights: a bad batch is bad there too, a bad state is not.

## What cures it
Find and drop the samples; skip steps whose gradients are not finite, and count the skips.
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, MODERATE, WEAK, Cause, Evidence, Outcome

CAUSE = Cause(
    title="A corrupt or extreme batch",
    prior=COMMON,
    evidence=(
        Evidence(
            "non-finite-values",
            MODERATE,
            "values are not finite now and then, not for good",
            when=lambda finding: finding.evidence.get("pattern") == "sporadic",
        ),
        Evidence("loss-spike", WEAK, "single steps stand out and are forgotten"),
        Evidence(
            "non-finite-values",
            MODERATE,
            "everything is NaN from one step on, without warning before it",
            when=lambda finding: (
                finding.evidence.get("pattern") == "permanent" and not finding.evidence.get("only_component")
            ),
        ),
        Evidence("non-finite-values", -MODERATE, "every logged value is finite", outcome=Outcome.CLEAR),
        Evidence("divergence", -MODERATE, "the loss ran away first, so it was no single batch"),
    ),
    confirm_by="replay the batch at the onset on an older checkpoint",
)
