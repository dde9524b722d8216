"""Updates go past the gradient scaler.

## How it works
The loss is scaled for half precision, and the optimizer steps by itself: with gradients that are tens of
thousands of times too large, or once more after the scaler stepped already. Steps with overflowed gradients,
which the scaler would leave out, are made.

## How to tell it from its look-alikes
A rate that is too high is too high in full precision as well. Here the run is calm without mixed precision.

## What cures it
`scaler.step(optimizer)` and `scaler.update()` in place of `optimizer.step()`.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, OCCASIONAL, WEAK, Cause, Evidence, Outcome

CAUSE = Cause(
    title="Updates go past the gradient scaler",
    prior=OCCASIONAL,
    evidence=(
        Evidence("backward-past-engine", DECISIVE, "the backward pass goes past the engine that scales"),
        Evidence("step-bypasses-scaler", DECISIVE, "the optimizer steps with scaled gradients"),
        Evidence(
            "weights-updated-twice", DECISIVE, "each update is made by the scaler and once more by hand"
        ),
        Evidence("step-bypasses-scaler", -WEAK, "no step uses scaled gradients", outcome=Outcome.CLEAR),
        Evidence("weights-updated-twice", -WEAK, "no update is made twice", outcome=Outcome.CLEAR),
    ),
    confirm_by="compare the norm of one update with mixed precision on and off",
    leads_to=("forward-overflow",),
    shows=("divergence", "loss-spike", "non-finite-values", "loss-never-falls", "loss-scale-collapse"),
)
