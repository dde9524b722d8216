"""Nothing keeps the outputs of the network from becoming all the same.

## How it works
A loss that only asks for two views of a sample to have the same output is answered by a network that gives
one output for everything. Holding one side still takes that way away, and so does anything that pushes other
samples apart.

## How to tell it from its look-alikes
The loss is at its lowest within an epoch, and the spread of the outputs over a batch goes to zero. A network
that learns slowly keeps its spread.

## What cures it
`detach()` the side that is the target, or update it as a slow average; add negatives or a term on the
variance.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, RARE, Cause, Evidence, Outcome

CAUSE = Cause(
    title="Nothing keeps the outputs from becoming all the same",
    prior=RARE,
    evidence=(
        Evidence("nothing-keeps-outputs-apart", DECISIVE, "a constant network answers this objective best"),
        Evidence(
            "nothing-keeps-outputs-apart",
            -DECISIVE,
            "no objective is answered by a constant",
            outcome=Outcome.CLEAR,
        ),
    ),
    confirm_by="log the standard deviation of the outputs over a batch: it goes to zero",
)
