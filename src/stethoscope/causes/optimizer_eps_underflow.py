"""An epsilon that guards a division is zero in half precision, or larger than what it guards.

## How it works
float16 rounds what is below 3e-8 to zero: Adam's 1e-8 on float16 weights, the 1e-8 of a hand-written norm,
the 1e-12 before a logarithm. Where the guarded value is zero, the division gives inf or NaN. An epsilon of
0.1 or 1 does the opposite: Adam then divides by it and not by the size of gradients, and hardly moves.

## How to tell it from its look-alikes
Gradients are finite and the weights are not: the optimizer divided by zero. Where the loss is not finite
although all activations are, look for a logarithm or a quotient in the loss. A large epsilon looks like a low
learning rate, at a rate that is usual for the optimizer.

## What cures it
The guarded operation in float32. A larger epsilon, 1e-5 and above, where it must stay in float16. For an
optimizer in float32, its default.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, MODERATE, OCCASIONAL, STRONG, WEAK, Cause, Evidence, says
from stethoscope.findings import Finding, Severity


def _of_adam(finding: Finding) -> bool:
    return finding.severity is Severity.CRITICAL


CAUSE = Cause(
    title="An epsilon vanishes in half precision, or outweighs what it guards",
    prior=OCCASIONAL,
    evidence=(
        Evidence("held-out-loss-creeps", MODERATE, "every step helps, and is far too small"),
        Evidence("held-out-loss-creeps", WEAK, "though the rate is a usual one", when=says("usual_rate")),
        Evidence("learning-hardly-begins", MODERATE, "the steps were too small for the run"),
        Evidence("epsilon-outweighs-gradients", DECISIVE, "Adam divides by its epsilon, not by gradients"),
        Evidence("epsilon-vanishes-in-half", DECISIVE, "an epsilon in the source is zero in float16"),
        Evidence("half-weights-trained", STRONG, "Adam's epsilon is zero for float16 weights", when=_of_adam),
    ),
    confirm_by="evaluate the expression once in float32 on the same values: it is finite there",
    shows=("non-finite-values", "loss-spike", "divergence", "loss-plateau", "loss-never-falls"),
)
