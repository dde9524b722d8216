"""The average of the weights flows back into the network that is trained.

## How it works
An average is put into the network, to be measured or as a step of training, and stays there. Training goes on
from weights that the optimizer's state does not belong to, and the average follows itself.

## How to tell it from its look-alikes
The loss has a tooth wherever the average went in, with the period of the evaluation or of the switch. Data
in a fixed order give the period of an epoch, a cyclic rate that of the rate.

## What cures it
Keep the weights, put the average in, measure, and put the weights back; or measure a copy. A switch on
purpose needs a period that is long against the memory of the average.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, RARE, STRONG, WEAK, Cause, Evidence, Outcome

CAUSE = Cause(
    title="The average of the weights replaces the weights in training",
    prior=RARE,
    evidence=(
        Evidence("average-left-in-network", DECISIVE, "training goes on from the average"),
        Evidence("loss-oscillation", WEAK, "the loss repeats itself"),
        Evidence(
            "average-left-in-network",
            -STRONG,
            "no average was seen to stay in the network",
            outcome=Outcome.CLEAR,
        ),
    ),
    confirm_by="train on from a checkpoint without the swap: the teeth in the loss are gone",
    shows=(
        "loss-spike",
        "peak-then-decline",
    ),
)
