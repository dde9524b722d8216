"""Each process trains a network of its own.

## How it works
The exchange of gradients is prepared in the forward pass of the wrapper. A loop that runs the bare network,
or never leaves `no_sync()`, takes every step with the gradients of one rank's data. The replicas part from
the first step on, and only that of the rank which saves is kept.

## How to tell it from its look-alikes
Nothing hangs and nothing fails, unlike where ranks disagree about a call. Gradient norms look normal for the
batch of one process. The sum of the weights differs between ranks after one step; where only the data are
alike on all ranks, it stays the same.

## What cures it
Call the wrapper in training, and keep the bare network for saving and evaluation. Leave `no_sync()` for the
last micro batch of each update.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, MODERATE, OCCASIONAL, Cause, Evidence, Outcome

CAUSE = Cause(
    title="Gradients are not exchanged between processes",
    prior=OCCASIONAL,
    evidence=(
        Evidence("network-left-unprepared", DECISIVE, "the network is never wrapped for several processes"),
        Evidence(
            "parameter-replaced-after-wrapping", DECISIVE, "a parameter was replaced after the hooks were set"
        ),
        Evidence("gradients-not-averaged", DECISIVE, "training goes past the wrapper that exchanges them"),
        Evidence(
            "gradients-not-averaged",
            -MODERATE,
            "every trained run goes through the wrapper",
            outcome=Outcome.CLEAR,
        ),
    ),
    confirm_by="print the sum of all weights on every rank after ten steps: they differ",
    shows=(
        "divergence",
        "loss-plateau",
        "validation-left-behind",
        "overfit-gap",
        "peak-then-decline",
        "loss-oscillation",
        "loss-spike",
    ),
)
