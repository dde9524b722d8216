"""The optimizer begins anew, at each resume or with each round of the loop.

## How it works
Only the weights go on. Adam's moments are zero, and its first steps have full size in every direction: once
after a resume, again and again where the loop makes its optimizer anew.

## How to tell it from its look-alikes
The loss bumps right at the restart and recovers within about a thousand steps. A lost schedule also shows
in the learning rate; lost weights throw the loss back to its start.

## What cures it
Save and load the state of optimizer, schedule and scaler with the weights; else warm up shortly after a
resume. Make the optimizer once, before the loop.
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, DECISIVE, Cause, Evidence, says

CAUSE = Cause(
    title="The state of the optimizer is lost",
    prior=COMMON,
    evidence=(
        Evidence(
            "state-dropped-by-hook",
            DECISIVE,
            "a hook throws the optimizer's state away",
            when=says("optimizer"),
        ),
        Evidence("optimizer-made-every-round", DECISIVE, "every epoch begins with moments of zero"),
        Evidence("resume-weights-only", DECISIVE, "the resume restores the weights and not the optimizer"),
        Evidence(
            "optimizer-state-never-saved", DECISIVE, "its checkpoints never hold what the resume asks for"
        ),
    ),
    confirm_by="resume twice from one checkpoint, with and without the optimizer's state",
    shows=("loss-spike", "divergence"),
)
