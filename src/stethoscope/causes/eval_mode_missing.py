"""The network is evaluated in training mode.

## How it works
Dropout removes random units and batch norm normalises by the batch at hand, and learns from it. The score
is noisy, too low, and depends on how the validation is batched.

## How to tell it from its look-alikes
Evaluate the same weights twice: without evaluation mode the two scores differ. A small validation set is
noisy over time and exact in repetition.

## What cures it
`model.eval()` before the evaluation and `model.train()` after it.
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, DECISIVE, MODERATE, STRONG, WEAK, Cause, Evidence, Outcome, says

CAUSE = Cause(
    title="The network is evaluated in training mode",
    prior=COMMON,
    evidence=(
        Evidence(
            "method-named-not-called",
            DECISIVE,
            "the switch to evaluation is named and not called",
            when=says("eval"),
        ),
        Evidence("right-only-in-training", WEAK, "evaluation is another network than training"),
        Evidence("validation-left-behind", -MODERATE, "what is evaluated does not move at all"),
        Evidence(
            "metric-never-moves", -STRONG, "the evaluated weights do not change at all", when=says("learns")
        ),
        Evidence("validation-strays-at-the-end", WEAK, "evaluations jump while the weights hardly move"),
        Evidence("dropout-never-off", DECISIVE, "evaluation mode does not reach its dropout"),
        Evidence("teacher-in-training-mode", DECISIVE, "a finished network gives targets in training mode"),
        Evidence("no-eval-mode", DECISIVE, "the network is run on held-out data in training mode"),
        Evidence(
            "no-eval-mode", -STRONG, "each evaluation that was found switches its mode", outcome=Outcome.CLEAR
        ),
        Evidence("validation-never-follows", WEAK, "validation does not follow training"),
    ),
    confirm_by="evaluate one checkpoint twice: the scores must be equal",
    shows=(
        "validation-left-behind",
        "overfit-gap",
        "below-trivial-baseline",
        "metric-contradicts-its-loss",
        "peak-then-decline",
    ),
)
