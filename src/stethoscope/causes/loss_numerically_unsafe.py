"""One loss term is computed in a way that leaves the finite numbers.

## How it works
log of zero, division by a vanishing norm, exp of a large number, sqrt at zero (whose gradient is infinite).

## How to tell it from its look-alikes
Only this term is NaN; the others and the input are finite at that step.

## What cures it
Clamp or use the stable form (log_softmax, logsigmoid, eps inside the root); compute the term in fp32.
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, MODERATE, STRONG, Cause, Evidence, Outcome

CAUSE = Cause(
    title="One loss term is numerically unsafe",
    prior=COMMON,
    evidence=(
        Evidence(
            "non-finite-values",
            STRONG,
            "one loss term is not finite, alone or before the others",
            when=lambda finding: bool(
                finding.evidence.get("only_component") or finding.evidence.get("first_component")
            ),
        ),
        Evidence("non-finite-values", -MODERATE, "every logged value is finite", outcome=Outcome.CLEAR),
    ),
    confirm_by="evaluate the term alone on the batch of that step, in fp64",
)
