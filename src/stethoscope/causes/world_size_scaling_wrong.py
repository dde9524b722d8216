"""The learning rate does not follow the batch of all processes together.

## How it works
The rate is multiplied with the number of processes where the batch is not, or in two places. What is stable
on one device runs away on eight. The other way round, gradients that are averaged over the processes twice
make every step smaller the more there are.

## How to tell it from its look-alikes
A rate that is too high by itself is too high on one device as well. Compare the logged rate with the setting:
here they differ by the number of processes, or its square.

## What cures it
Scale once, by what the batch of all processes really grew by; with Adam rather by its square root, and with a
warm-up.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, MODERATE, OCCASIONAL, WEAK, Cause, Evidence, Outcome

CAUSE = Cause(
    title="The learning rate is scaled wrongly with the number of processes",
    prior=OCCASIONAL,
    evidence=(
        Evidence(
            "loss-stands-above-its-start", MODERATE, "the loss is above its start for long, and comes back"
        ),
        Evidence("loss-waits-for-a-lower-rate", WEAK, "the loss falls only as the rate is taken away"),
        Evidence("gradients-averaged-twice", DECISIVE, "gradients are divided by the processes once more"),
        Evidence("rate-outgrows-batch", DECISIVE, "the rate grows by more than the batch of all processes"),
        Evidence("divergence", WEAK, "the loss runs away, as under a rate that is too high"),
        Evidence("learning-rate-not-reached", WEAK, "the logged rate is not the one that was asked for"),
        Evidence(
            "rate-outgrows-batch",
            -MODERATE,
            "the rate follows the batch of all processes",
            outcome=Outcome.CLEAR,
        ),
        Evidence("divergence", -MODERATE, "the loss does not run away", outcome=Outcome.CLEAR),
    ),
    confirm_by="train on one process with the same batch: it is stable at the rate of the settings",
    leads_to=("learning-rate-too-high",),
    shows=(
        "loss-spike",
        "non-finite-values",
        "loss-never-falls",
        "loss-plateau",
        "peak-then-decline",
    ),
)
