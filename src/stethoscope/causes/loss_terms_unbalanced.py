"""One term of the loss outweighs the others, or has no say among them.

## How it works
Terms are added by weights that were chosen for other sizes: an unnormalised Fourier transform grows with the
crop, a mean on top of a division by the pixels vanishes. The optimizer follows the largest term alone.

## How to tell it from its look-alikes
Logged term by term, the curves differ by orders of magnitude from the first step on. A controller that moves
the weights shows in the weights themselves.

## What cures it
Normalise each term so that its size does not depend on the crop (`norm="ortho"`), then weigh them.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, MODERATE, OCCASIONAL, STRONG, WEAK, Cause, Evidence, says

CAUSE = Cause(
    title="The terms of the loss are out of balance",
    prior=OCCASIONAL,
    evidence=(
        Evidence("rare-classes-weigh-less", DECISIVE, "what is frequent weighs most"),
        Evidence(
            "nothing-measured-is-learned",
            STRONG,
            "all that falls is a term that the validation does not have",
        ),
        Evidence("loss-never-falls", -STRONG, "no term is learned at all"),
        Evidence("held-out-loss-creeps", -STRONG, "every term waits for larger steps"),
        Evidence("term-stays-at-a-coin", STRONG, "a term is not learned at all beside the others"),
        Evidence(
            "below-trivial-baseline",
            STRONG,
            "the loss vanishes, and nothing is learned",
            when=says("loss_vanishes"),
        ),
        Evidence("frequency-loss-grows-with-crop", STRONG, "the frequency term drowns the others"),
        Evidence("sum-beside-mean", DECISIVE, "one term is a sum over the batch, and another a mean"),
        Evidence("loss-term-is-negligible", STRONG, "a term has no say"),
        Evidence(
            "one-term-takes-over",
            MODERATE,
            "what is measured is a small part of the total",
            when=says("unheard"),
        ),
        Evidence("one-term-takes-over", STRONG, "and is hardly learned", when=says("unlearned")),
        Evidence("term-left-out", STRONG, "a term is logged and not in the sum"),
        Evidence("divergence-vanishes", WEAK, "its weight leaves room for little else", when=says("little")),
        Evidence("divergence-vanishes", DECISIVE, "the code is held to its prior until it says nothing"),
    ),
    confirm_by="log the gradient norm of each term by itself on one batch",
)
