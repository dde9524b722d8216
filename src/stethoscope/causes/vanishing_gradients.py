"""Gradients vanish before they reach the weights.

## How it works
Depth, saturated activations, a detached graph or a degenerate loss leave nothing to learn from. A growing
loss scale is then no comfort: it grows because the gradients are zero.

## How to tell it from its look-alikes
The loss scale of a healthy run grows as well, but there the gradient norm and the loss are not zero.

## What cures it
Normalisation, residual paths, another activation; check that the loss depends on the weights.
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


def _one_answer(finding: Finding) -> bool:
    """Whether the weights change and the answer does not, and no first step threw them away."""
    seen = finding.evidence
    return seen.get("learns") is False and seen.get("weights_move") is True and not seen.get("thrown")


CAUSE = Cause(
    title="Gradients vanish",
    prior=OCCASIONAL,
    evidence=(
        Evidence("held-out-loss-creeps", -MODERATE, "held-out data gain by every step"),
        Evidence("loss-creeps-back-up", -STRONG, "it had been learned before it was lost"),
        Evidence("term-stays-at-a-coin", MODERATE, "one answer is given to everything"),
        Evidence("answers-stay-at-guessing", MODERATE, "nothing arrives that could be learned from"),
        Evidence(
            "gradient-fades-on-its-way", DECISIVE, "small factors one behind the other, and no way round"
        ),
        Evidence("attention-without-shortcut", DECISIVE, "nothing leads past the attention"),
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
        Evidence("learning-hardly-begins", MODERATE, "little arrives at the weights"),
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
        Evidence(
            "loss-scale-high",
            STRONG,
            "the scale grows because the gradients are zero",
            when=lambda finding: finding.evidence.get("gradients_vanish") is True,
        ),
        Evidence("loss-plateau", MODERATE, "the loss does not move"),
        Evidence("loss-plateau", -MODERATE, "the loss improves", outcome=Outcome.CLEAR),
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
    confirm_by="print the gradient norm of each layer for one batch",
)
