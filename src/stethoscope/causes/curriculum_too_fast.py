"""The curriculum gets harder faster than the network learns.

## How it works
The task is made harder before the easy form is learned, or drops the easy form altogether. The network
forgets what it had and does not get what comes.

## How to tell it from its look-alikes
A curriculum that is only a curriculum raises the training loss as well; the two are told apart by an
evaluation at fixed difficulty and by nothing else. Overfitting shows at fixed difficulty too, but in a
training loss that falls. A rate that is too high runs away at any difficulty.

## What cures it
A slower, linear ramp, one that waits until the easy form is learned, some easy samples to the end.
"""

from __future__ import annotations

from stethoscope.causes.cause import MODERATE, OCCASIONAL, STRONG, WEAK, Cause, Evidence, Outcome

CAUSE = Cause(
    title="The curriculum gets harder faster than the network learns",
    prior=OCCASIONAL,
    evidence=(
        Evidence("worse-as-it-gets-harder", STRONG, "validation falls while the task gets harder"),
        Evidence("divergence", MODERATE, "the training loss rises more than the difficulty explains"),
        Evidence("loss-spike", WEAK, "the loss leaps"),
        Evidence("worse-as-it-gets-harder", -STRONG, "validation does not suffer", outcome=Outcome.CLEAR),
        Evidence("validation-follows-curriculum", -STRONG, "validation itself gets harder"),
        Evidence("overfit-gap", -MODERATE, "the training loss falls meanwhile"),
    ),
    confirm_by="three short runs, evaluated alike: without a curriculum, with this one, with a slower one",
)
