"""Two names stand for one tensor where two were meant.

## How it works
The best weights are kept as `state_dict()`, which is live; a list holds one layer many times; an average
mixes into the tensors of its own source; a dataset changes the samples that it keeps. Nothing fails, and what
is kept, stacked, averaged or drawn is not what was meant.

## How to tell it from its look-alikes
Compare `data_ptr()` of the two: here they are equal. Weights that a resume does not restore differ from
those that were saved; here they are the last ones, whatever was best. An average that is never updated
stays where it began; this one is always the network itself.

## What cures it
`copy.deepcopy(model.state_dict())`, a layer made for each place, `p.detach().clone()` in the average, and a
copy of every sample that is changed.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, MODERATE, OCCASIONAL, Cause, Evidence, Outcome

CAUSE = Cause(
    title="Tensors are shared that should be copies",
    prior=OCCASIONAL,
    evidence=(
        Evidence("tensors-shared-not-copied", DECISIVE, "the source gives one tensor a second name"),
        Evidence("samples-changed-in-store", DECISIVE, "a dataset changes the samples that it keeps"),
        Evidence(
            "tensors-shared-not-copied",
            -MODERATE,
            "no tensor was seen to go under two names",
            outcome=Outcome.CLEAR,
        ),
    ),
    confirm_by="compare data_ptr() of both: the same address is the same tensor",
    leads_to=("checkpoint-chosen-wrongly",),
    shows=(
        "loss-plateau",
        "loss-never-falls",
        "below-trivial-baseline",
        "validation-left-behind",
        "peak-then-decline",
    ),
)
