"""An epsilon that guards a division is zero in half precision.

## How it works
float16 rounds what is below 3e-8 to zero: Adam's 1e-8 on float16 weights, the 1e-8 of a hand-written norm,
the 1e-12 before a logarithm. Where the guarded value is zero, the division gives inf or NaN.

## How to tell it from its look-alikes
Gradients are finite and the weights are not: the optimizer divided by zero. Where the loss is not finite
although all activations are, look for a logarithm or a quotient in the loss.

## What cures it
The guarded operation in float32. A larger epsilon, 1e-5 and above, where it must stay in float16.
"""

from __future__ import annotations

from stethoscope.causes.cause import OCCASIONAL, STRONG, Cause, Evidence
from stethoscope.findings import Finding, Severity


def _of_adam(finding: Finding) -> bool:
    return finding.severity is Severity.CRITICAL


CAUSE = Cause(
    title="An epsilon vanishes in half precision",
    prior=OCCASIONAL,
    evidence=(
        Evidence("epsilon-vanishes-in-half", STRONG, "an epsilon in the source is zero in float16"),
        Evidence("half-weights-trained", STRONG, "Adam's epsilon is zero for float16 weights", when=_of_adam),
    ),
    confirm_by="evaluate the expression once in float32 on the same values: it is finite there",
    shows=("non-finite-values", "loss-spike", "divergence"),
)
