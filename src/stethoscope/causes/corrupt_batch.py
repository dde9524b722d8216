"""Single batches hold values that no model should see.

## How it works
A NaN, an infinity, an empty or an absurdly scaled sample. One such batch gives one bad step; without
protection one step can be enough.

## How to tell it from its look-alikes
Replay the batch on older weights: a bad batch is bad there too, a bad state is not. A learning rate that is
too high takes many steps to carry the loss away; a bad batch takes one.

## What cures it
Find and drop the samples; skip steps whose gradients are not finite, and count the skips.
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, DECISIVE, MODERATE, STRONG, WEAK, Cause, Evidence, says
from stethoscope.findings import Finding


def _sporadic(finding: Finding) -> bool:
    return finding.evidence.get("pattern") == "sporadic"


def _all_at_once(finding: Finding) -> bool:
    """Numbers until one step, and none behind it: a log without any tells no batch from another."""
    alone = finding.evidence.get("only_component") or finding.evidence.get("first_component")
    was_finite = finding.evidence.get("from_the_start") is not True
    return finding.evidence.get("pattern") == "permanent" and was_finite and not alone


def _in_one_step(finding: Finding) -> bool:
    return finding.evidence.get("one_step") is True and finding.evidence.get("at_restart") is not True


def _over_many_steps(finding: Finding) -> bool:
    return finding.evidence.get("one_step") is not True


CAUSE = Cause(
    title="A corrupt or extreme batch",
    prior=COMMON,
    evidence=(
        Evidence(
            "loss-stays-far-beyond-its-start",
            STRONG,
            "the loss is thrown far off again and again, and comes down in between",
            when=says("erratic"),
        ),
        Evidence("gradients-grow-until-they-overflow", -STRONG, "gradients had grown for many steps before"),
        Evidence("failed-reads-become-samples", STRONG, "what cannot be read is trained on as zeros"),
        Evidence("unfilled-rows-are-drawn", DECISIVE, "batches hold rows that nothing was put into"),
        Evidence("divergence", STRONG, "one step carried the loss away", when=_in_one_step),
        Evidence("non-finite-values", MODERATE, "values are not finite now and then", when=_sporadic),
        Evidence(
            "non-finite-values", -WEAK, "a scale too high does the same", when=says("skipped_by_scaler")
        ),
        Evidence("non-finite-values", MODERATE, "everything is NaN from one step on", when=_all_at_once),
        Evidence(
            "non-finite-values",
            WEAK,
            "the loss was lost before the first line of the log, too soon for steps to carry it away",
            when=says("from_the_start"),
        ),
        Evidence("steps-without-a-loss", STRONG, "some batches have no loss, and those beside them do"),
        Evidence("loss-spike", WEAK, "single steps stand out"),
        Evidence("loss-spike", STRONG, "one step carried the loss away", when=_in_one_step),
        Evidence(
            "loss-spike",
            STRONG,
            "one value is out of all proportion, alone",
            when=says("one_batch"),
        ),
        Evidence("divergence", -STRONG, "the loss ran away over many steps", when=_over_many_steps),
        Evidence("non-finite-values", -STRONG, "the loss had grown before it was lost", when=says("grew")),
    ),
    confirm_by="replay the batch at the onset on an older checkpoint",
)
