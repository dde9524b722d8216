"""Weight decay is so strong that the weights cannot hold what they learn, or acts on what it should not.

## How it works
Every update takes a share of each weight away. Where that share is large, a weight is only what the last
batches push it to, and the network stays near guessing. Adam divides a decay that it is told together with
the gradient, so that a decay for AdamW outweighs the data; and a condition that is turned round lets norms
and biases shrink, and the matrices grow.

## How to tell it from its look-alikes
A rate that is too low moves nothing; here the weights shrink, and without decay the same rate learns. Labels
without information keep the loss at chance, too, and then no setting helps.

## What cures it
A decay at which weights are remembered for hundreds of updates: rate times decay below 1 / 1000.
"""

from __future__ import annotations

from stethoscope.causes.cause import (
    DECISIVE,
    MODERATE,
    OCCASIONAL,
    STRONG,
    WEAK,
    Cause,
    Evidence,
    Outcome,
    says,
)

CAUSE = Cause(
    title="Weight decay is too strong",
    prior=OCCASIONAL,
    evidence=(
        Evidence("held-out-loss-creeps", -STRONG, "held-out data gain to the end"),
        Evidence("loss-creeps-back-up", MODERATE, "weights are drawn away from what they had learned"),
        Evidence(
            "loss-creeps-back-up",
            STRONG,
            "evenly, while the rate falls that steps depend on",
            when=says("rate_falls"),
        ),
        Evidence(
            "decay-outpaces-learning",
            DECISIVE,
            "weights are forgotten within a few updates",
            when=says("by_rate", False),
        ),
        Evidence(
            "decay-outpaces-learning",
            -DECISIVE,
            "the decay is a usual one; the rate is not",
            when=says("by_rate"),
        ),
        Evidence(
            "optimizer-of-another-kind",
            DECISIVE,
            "Adam divides the decay with the gradient",
            when=says("decay"),
        ),
        Evidence("rate-and-decay-exchanged", STRONG, "the learning rate is the weight decay"),
        Evidence("decay-on-the-wrong-group", DECISIVE, "norms and biases decay, and matrices do not"),
        Evidence("loss-plateau", WEAK, "the loss stays where it began"),
        Evidence(
            "decay-outpaces-learning", -MODERATE, "weights are remembered for long", outcome=Outcome.CLEAR
        ),
        Evidence(
            "what-was-learned-is-lost",
            MODERATE,
            "weights are drawn away from what they had learned",
            when=says("slowly"),
        ),
        Evidence("what-was-learned-is-lost", MODERATE, "as soon as it was learned", when=says("early")),
        Evidence("loss-settles-high", WEAK, "the weights cannot grow to where the loss is low"),
        Evidence("loss-settles-high", WEAK, "and much of it is left", when=says("much")),
        Evidence("metric-never-moves", -STRONG, "no weight moves at all", when=says("exact")),
        Evidence("validation-settles-at-once", MODERATE, "the weights are drawn to nothing at the start"),
        Evidence(
            "below-trivial-baseline",
            MODERATE + WEAK,
            "weights that are drawn to nothing give one answer",
            when=says("learns", False),
        ),
        Evidence("answers-are-guesses", MODERATE, "one answer is given to everything"),
        Evidence("loss-falls-little", WEAK, "little is learned at a usual rate", when=says("usual_rate")),
    ),
    confirm_by="log the norm of the weights, or train some hundred steps without weight decay",
    shows=("loss-never-falls", "below-trivial-baseline", "divergence"),
)
