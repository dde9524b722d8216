"""The task gets harder, so the loss rises while the model improves.

## How it works
A curriculum, a noise schedule or a longer context raises the loss of any model, trained or not.

## How to tell it from its look-alikes
At fixed difficulty the validation loss keeps falling.

## What cures it
Nothing to cure; judge by an evaluation at fixed, final difficulty.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, EVEN, Cause, Evidence

CAUSE = Cause(
    title="A curriculum raises the loss",
    prior=EVEN,
    evidence=(
        Evidence(
            "divergence",
            DECISIVE,
            "the rise follows the logged difficulty",
            when=lambda finding: "difficulty" in str(finding.evidence.get("explained_by", "")),
        ),
    ),
    confirm_by="evaluate two checkpoints at the same, final difficulty",
    benign=True,
    explains=("divergence",),
)
