"""Training goes on in evaluation mode.

## How it works
After a validation nothing switches the network back. Dropout is off and the statistics of batch norm stand
still while the weights move on.

## How to tell it from its look-alikes
The training loss drops in one step at the first validation, and the validation stops improving from there
on. Overfitting sets in gradually.

## What cures it
`model.train()` after each evaluation, or at the start of each epoch.
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, DECISIVE, WEAK, Cause, Evidence, says

CAUSE = Cause(
    title="Training goes on in evaluation mode",
    prior=COMMON,
    evidence=(
        Evidence(
            "method-named-not-called",
            DECISIVE,
            "the switch back to training is named and not called",
            when=says("train"),
        ),
        Evidence("modules-begin-in-eval-mode", WEAK, "the trainer leaves modules in evaluation mode"),
        Evidence("left-in-eval-mode", DECISIVE, "the network is still in evaluation mode when it is trained"),
    ),
    confirm_by="print model.training at the start of each epoch",
    shows=("overfit-gap", "validation-left-behind", "divergence", "loss-spike"),
)
