"""Units start alike or dead, and the network cannot use them.

## How it works
Units with equal weights get equal gradients and stay equal; two layers of zeros in a row give each other no
gradient; a ReLU that is never above zero has none. What is left of the network can learn a constant answer.

## How to tell it from its look-alikes
A learning rate that is too low moves the loss slowly; here it comes to rest at once, at the level of a
constant answer, and no rate helps. A broken graph leaves gradients empty, not zero. Vanishing gradients
fade with depth.

## What cures it
Random weights of a size that fits the layer (He or Glorot), zeros only in the last layer of a branch,
biases of zero; a leaky ReLU where units die later.
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
from stethoscope.findings import Finding


def _flat(finding: Finding) -> bool:
    return finding.evidence.get("above") is not True


def _one_answer(finding: Finding) -> bool:
    """Whether the weights change and the answer does not, and no first step threw them away."""
    seen = finding.evidence
    return seen.get("learns") is False and seen.get("weights_move") is True and not seen.get("thrown")


CAUSE = Cause(
    title="Units start alike or dead",
    prior=OCCASIONAL,
    evidence=(
        Evidence("held-out-loss-creeps", -STRONG, "held-out data gain by every step"),
        Evidence("loss-creeps-back-up", -STRONG, "it had been learned before it was lost"),
        Evidence("term-stays-at-a-coin", STRONG, "one answer is given to everything"),
        Evidence("answers-stay-at-guessing", WEAK, "the network answers the same to everything"),
        Evidence("loss-falls-little", WEAK, "the whole run takes little off the loss"),
        Evidence("loss-falls-little", WEAK, "the first steps take all of it", when=says("at_once")),
        Evidence("loss-falls-little", -MODERATE, "it goes on falling to the end", when=says("gradual")),
        Evidence(
            "below-trivial-baseline",
            STRONG,
            "the network never does better than a constant answer",
            when=says("learns", False),
        ),
        Evidence(
            "validation-settles-at-once", MODERATE + WEAK, "the network gives one answer from the start"
        ),
        Evidence(
            "metric-never-moves",
            MODERATE,
            "no answer ever changes, and nothing is learned",
            when=says("learns", False),
        ),
        Evidence(
            "metric-never-moves",
            MODERATE,
            "though a metric beside it shows that weights change",
            when=_one_answer,
        ),
        Evidence("units-start-alike", DECISIVE, "the first weights leave the units no way to differ"),
        Evidence("units-closed-from-the-start", DECISIVE, "an activation lets next to nothing through"),
        Evidence("loss-never-falls", WEAK, "the loss stays where it began", when=_flat),
        Evidence("loss-plateau", WEAK, "the loss comes to rest early"),
        Evidence("units-start-alike", -STRONG, "the first weights are random", outcome=Outcome.CLEAR),
        Evidence("divergence", -MODERATE, "dead units do not run away"),
        Evidence("steps-and-what-they-gain", -MODERATE, "gradients of a good size arrive", when=says("much")),
        Evidence(
            "steps-and-what-they-gain",
            WEAK,
            "hardly any gradient arrives",
            when=lambda f: f.evidence.get("little") is True and f.evidence.get("tiny_rate") is not True,
        ),
        Evidence(
            "metric-never-moves",
            -STRONG,
            "no weight moves at all, where at least those of the last layer should",
            when=says("exact"),
        ),
        Evidence("loss-settles-high", MODERATE, "next to nothing is learned", when=says("hardly")),
        Evidence("answers-are-guesses", STRONG, "one answer is given to everything"),
    ),
    confirm_by="look at the gradients of the first batch: rows that are equal, or all zero",
)
