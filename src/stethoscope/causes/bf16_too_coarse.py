"""bfloat16 is too coarse for what is computed in it.

## How it works
bfloat16 has eight bits of precision: three digits. Positions beyond 256, angles, sums over many values and
running averages lose what they are made of. The loss is a little worse than in single precision all the
way, and calm.

## How to tell it from its look-alikes
Weights kept in half precision stop moving, which shows as a plateau late in the run. An overflow gives NaN,
this never does. Evaluate one checkpoint with and without autocast: where the results differ, evaluation is
too coarse; where they do not, training was.

## What cures it
Single precision for positions, angles, norms, the loss and sums; only products of matrices in bfloat16.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, MODERATE, OCCASIONAL, Cause, Evidence, Outcome

CAUSE = Cause(
    title="bfloat16 is too coarse for what is computed in it",
    prior=OCCASIONAL,
    evidence=(
        Evidence("counted-in-half", DECISIVE, "positions are counted in a type that cannot count so far"),
        Evidence("counted-in-half", -MODERATE, "nothing is counted in half precision", outcome=Outcome.CLEAR),
        Evidence("non-finite-values", -MODERATE, "values are lost, which rounding never does"),
    ),
    confirm_by="evaluate a checkpoint with autocast and without",
)
