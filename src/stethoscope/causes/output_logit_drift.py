"""The output logits drift away as a whole.

## How it works
A softmax is blind to what all logits have in common, so their common part wanders. In half precision large
logits lose the differences that matter, and late in the run the loss leaps.

## How to tell it from its look-alikes
Attention scores that grow are inside; here they rest and the outputs wander. A learning rate that is too
high shows early.

## What cures it
A z-loss of 1e-4 to 1e-5 on the logarithm of the sum, weight decay on the output layer, logits in single
precision.
"""

from __future__ import annotations

from stethoscope.causes.cause import OCCASIONAL, STRONG, WEAK, Cause, Evidence, Outcome

CAUSE = Cause(
    title="The output logits drift away as a whole",
    prior=OCCASIONAL,
    evidence=(
        Evidence("output-logits-drift", STRONG, "the logged logits drift and do not rest"),
        Evidence("loss-spike", WEAK, "the loss leaps"),
        Evidence("divergence", WEAK, "the loss runs away"),
        Evidence("output-logits-drift", -STRONG, "the logged logits rest", outcome=Outcome.CLEAR),
        Evidence("attention-scores-grow", -WEAK, "attention scores grow already"),
    ),
    confirm_by="go on from a checkpoint with a z-loss of 1e-4: the logits come back and the leaps end",
)
