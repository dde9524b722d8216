"""The same samples, or the same random numbers, come again and again.

## How it works
Workers share a random stream or each go through all of a stream, a seed is set in every round, or a loop
takes the first batch for ever. The network sees less than the data set seems to hold and learns that by
heart.

## How to tell it from its look-alikes
Print a sum over each of the first batches, in two epochs and two workers: equal sums are equal batches. A
data set that is only small overfits as well, but no batch comes twice within an epoch. Ranks that draw
alike repeat across processes, not across workers.

## What cures it
Make the generator in the worker (`worker_init_fn`, `get_worker_info`), divide the stream among them, and seed
once, before training.
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
    title="The same data come again and again",
    prior=OCCASIONAL,
    evidence=(
        Evidence("right-only-in-training", MODERATE, "training is learned, and nothing else is"),
        Evidence(
            "right-only-in-training", MODERATE, "from the first evaluation on", when=says("from_the_start")
        ),
        Evidence("validation-left-behind", -MODERATE, "what is evaluated does not move at all"),
        Evidence(
            "metric-never-moves", -STRONG, "the evaluated weights do not change at all", when=says("learns")
        ),
        Evidence("validation-never-follows", MODERATE, "training is learned, and nothing else is"),
        Evidence(
            "validation-never-follows",
            MODERATE,
            "little was learned at once, and nothing more",
            when=says("learned_some"),
        ),
        Evidence("workers-repeat-each-other", DECISIVE, "nothing tells the workers of the loader apart"),
        Evidence("weights-of-classes-drawn", DECISIVE, "only as many samples as there are classes are drawn"),
        Evidence("augmented-once-for-all", DECISIVE, "what chance gave once is handed out in every epoch"),
        Evidence("cycle-keeps-its-batches", DECISIVE, "every round is the first one, batch by batch"),
        Evidence("chance-comes-again", DECISIVE, "every round draws what the one before it drew"),
        Evidence(
            "validation-gains-nothing",
            STRONG,
            "training is learned by heart and held-out data gain nothing",
            when=says("by_heart"),
        ),
        Evidence("overfit-gap", WEAK, "training learns by heart"),
        Evidence(
            "learned-by-heart", MODERATE, "training learns by heart", when=says("of_another_kind", False)
        ),
        Evidence(
            "held-out-parts-from-training",
            STRONG,
            "little else is learned at any time",
            when=says("by_heart"),
        ),
        Evidence("workers-repeat-each-other", -WEAK, "the workers are told apart", outcome=Outcome.CLEAR),
        Evidence("chance-comes-again", -WEAK, "no round begins its chance anew", outcome=Outcome.CLEAR),
    ),
    confirm_by="print a sum over each of the first batches of two epochs and compare",
    leads_to=("overfitting",),
    shows=(
        "peak-then-decline",
        "loss-oscillation",
    ),
)
