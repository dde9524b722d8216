"""The average of the weights took in a NaN and keeps it.

## How it works
One step left NaN in the weights or was skipped after the average had seen it. The weights were rewound or
never updated; the average mixes the NaN with all that follows and stays NaN.

## How to tell it from its look-alikes
The raw weights of the same checkpoint score well. Where training itself is NaN, the average only follows it.

## What cures it
Update the average only behind steps that were made, from weights that are finite; begin it anew from the raw
weights.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, OCCASIONAL, STRONG, Cause, Evidence, Outcome

CAUSE = Cause(
    title="The average of the weights is NaN for good",
    prior=OCCASIONAL,
    evidence=(
        Evidence("average-not-finite", DECISIVE, "the average stays NaN while the weights are finite"),
        Evidence("average-not-finite", -STRONG, "the average is finite", outcome=Outcome.CLEAR),
    ),
    confirm_by="evaluate the raw weights of the same checkpoint",
)
