"""One bad gradient goes through the clip into every weight.

## How it works
The clip multiplies all gradients by one factor made from their norm. A NaN or infinity in a single tensor
makes the factor NaN or zero, the step is made, and every weight of the network is lost at once. Without a
loss scaler nothing skips it.

## How to tell it from its look-alikes
A loss that is not finite first has its own cause: a corrupt batch, an unsafe formula, an overflow forward.
Here the loss was a number and only the backward pass was not. What made the one gradient bad is still to be
found; this is why it was fatal.

## What cures it
Look at the norm that the clip gives back and leave the step out where it is not finite.
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, MODERATE, STRONG, WEAK, Cause, Evidence, Outcome

CAUSE = Cause(
    title="One bad gradient goes through the clip",
    prior=COMMON,
    evidence=(
        Evidence("bad-gradient-spreads", STRONG, "the norm breaks first, and with the next step everything"),
        Evidence("non-finite-values", WEAK, "values are lost for good"),
        Evidence("bad-gradient-spreads", -STRONG, "no gradient broke before the loss", outcome=Outcome.CLEAR),
        Evidence("divergence", -MODERATE, "the loss had run away before"),
    ),
    confirm_by="go on from the last good checkpoint and leave out steps whose norm is not finite: it holds",
)
