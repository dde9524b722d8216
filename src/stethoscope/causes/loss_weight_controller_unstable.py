"""An adaptive rule drives the loss weights away.

## How it works
The controller reacts to its own effect: weights run into their bounds and one term takes over.

## How to tell it from its look-alikes
Logged weights that stay near their start cannot have done anything.

## What cures it
Bound the weights, slow the controller, or fix the weights at their values of the best checkpoint.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, MODERATE, OCCASIONAL, WEAK, Cause, Evidence, says

CAUSE = Cause(
    title="The loss-weight controller runs away",
    prior=OCCASIONAL,
    evidence=(
        Evidence(
            "below-trivial-baseline",
            DECISIVE,
            "the loss vanishes, and nothing is learned",
            when=says("loss_vanishes"),
        ),
        Evidence(
            "loss-weights-barely-move",
            -DECISIVE,
            "the logged weights stay so close to their start that they cannot matter",
        ),
        Evidence(
            "one-term-takes-over",
            MODERATE,
            "the total rises by a weight and not by its terms",
            when=says("driven"),
        ),
        Evidence(
            "weight-from-bare-gradients", DECISIVE, "a weight is a division by a gradient that may vanish"
        ),
        Evidence("learned-weight-runs-free", DECISIVE, "nothing holds the learned weight of a loss"),
        Evidence("errors-excused-for-nothing", DECISIVE, "the spread that weighs the errors costs nothing"),
        Evidence("peak-then-decline", WEAK, "the metric declines while the loss falls"),
    ),
    confirm_by="freeze the weights at the best checkpoint and branch",
)
