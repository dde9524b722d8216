"""A resumed run goes through the same data again.

## How it works
The checkpoint does not give the place in the data back: sampler, stream or random numbers begin at their
seed. Samples from the front are seen more often, those from behind the interruption later or never.

## How to tell it from its look-alikes
The training loss drops at the restart and the validation does not follow. A lost optimizer state or schedule
makes the loss jump up or changes the rate; an order that repeats every epoch does so without any restart.

## What cures it
Save and restore the state of the sampler or loader, or derive the order from the seed and the step at which
the run resumes.
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, DECISIVE, STRONG, Cause, Evidence, Outcome

CAUSE = Cause(
    title="A resume replays its data",
    prior=COMMON,
    evidence=(
        Evidence("place-in-data-lost", DECISIVE, "the place in the data is kept and not taken up again"),
        Evidence(
            "place-in-data-lost",
            -STRONG,
            "what is kept of the data is given back",
            outcome=Outcome.CLEAR,
        ),
    ),
    confirm_by="print the indices of the first batches before and after a resume: they are the same",
    shows=(
        "peak-then-decline",
        "overfit-gap",
        "loss-oscillation",
    ),
)
