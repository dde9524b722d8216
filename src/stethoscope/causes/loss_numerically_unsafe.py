"""One loss term is computed in a way that leaves the finite numbers.

## How it works
log of zero, division by a vanishing norm, exp of a large number, sqrt at zero (whose gradient is infinite).

## How to tell it from its look-alikes
Only this term is NaN; the others and the input are finite at that step.

## What cures it
Clamp or use the stable form (log_softmax, logsigmoid, eps inside the root); compute the term in fp32.
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, DECISIVE, MODERATE, STRONG, WEAK, Cause, Evidence, Outcome, says
from stethoscope.findings import Finding


def _no_term_tells(finding: Finding) -> bool:
    told = finding.evidence.get("only_component") or finding.evidence.get("first_component")
    return finding.evidence.get("pattern") == "permanent" and not told


CAUSE = Cause(
    title="One loss term is numerically unsafe",
    prior=COMMON,
    evidence=(
        Evidence("loss-undefined-somewhere", DECISIVE, "a step of the loss is not finite for usual data"),
        Evidence(
            "non-finite-values",
            STRONG,
            "one loss term is not finite, alone or before the others",
            when=lambda finding: bool(
                finding.evidence.get("only_component") or finding.evidence.get("first_component")
            ),
        ),
        Evidence(
            "loss-undefined-somewhere",
            -MODERATE,
            "no step of the loss in the source leaves the finite numbers",
            outcome=Outcome.CLEAR,
        ),
        Evidence("steps-without-a-loss", MODERATE, "the loss is undefined for some batches"),
        Evidence(
            "non-finite-values", WEAK, "the loss is not finite, and no term says which", when=_no_term_tells
        ),
        Evidence(
            "non-finite-values",
            WEAK,
            "the loss was lost before the first line of the log, too soon for steps to carry it away",
            when=says("from_the_start"),
        ),
        Evidence("non-finite-values", -MODERATE, "every logged value is finite", outcome=Outcome.CLEAR),
        Evidence("non-finite-values", -WEAK, "the loss had grown before it was lost", when=says("grew")),
    ),
    confirm_by="evaluate the term alone on the batch of that step, in fp64",
)
