"""The schedule or the average of the weights begins anew at each resume.

## How it works
A schedule made afresh goes through warm-up and peak again, one that is replayed over a restored rate decays
it twice, and an average whose count is lost is replaced by the raw weights.

## How to tell it from its look-alikes
The learning rate jumps at the restart. Where it is continuous and the loss still bumps, the optimizer's
state is what was lost.

## What cures it
Save and load the state of the schedule and of the average, its count included.
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, DECISIVE, STRONG, Cause, Evidence, says

CAUSE = Cause(
    title="The schedule or the average is not restored at a resume",
    prior=COMMON,
    evidence=(
        Evidence("rate-warms-up-again", STRONG, "the rate warms up once more in the middle of the run"),
        Evidence(
            "state-dropped-by-hook",
            DECISIVE,
            "a hook throws the schedule's state away",
            when=says("optimizer", answer=False),
        ),
        Evidence("count-begins-anew", DECISIVE, "the count that the rate follows stays in the checkpoint"),
        Evidence("schedule-fast-forward", DECISIVE, "the schedule is replayed or begun anew"),
        Evidence("ema-counter-reset", STRONG, "the average or its count begins anew"),
    ),
    confirm_by="compare the learning rate and the decay before and after a resume",
    shows=("learning-rate-jump", "loss-spike", "divergence"),
)
