"""The loss has no way back to the weights.

## How it works
The network runs where gradients are not recorded, or its output is cut off before the loss. What lies
behind the cut gets no gradient and stays as it is.

## How to tell it from its look-alikes
Gradients are None rather than zero: a vanishing gradient is small and there.

## What cures it
Take the network out of `no_grad`; cut off only targets.
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


def _is_cut(finding: Finding) -> bool:
    return finding.evidence.get("why") == "cut"


CAUSE = Cause(
    title="The loss has no way back to the weights",
    prior=OCCASIONAL,
    evidence=(
        Evidence(
            "gradients-cleared-before-step",
            DECISIVE,
            "the gradients of one loss are thrown away",
            when=says("one_loss"),
        ),
        Evidence(
            "good-actions-made-rarer",
            DECISIVE,
            "a likelihood cancels itself, and no action is learned",
            when=says("cancels"),
        ),
        Evidence("draw-stops-gradients", DECISIVE, "no gradient goes through the draw between two networks"),
        Evidence(
            "method-named-not-called",
            DECISIVE,
            "the backward pass is named and not called",
            when=says("backward"),
        ),
        Evidence(
            "argument-changes-nothing",
            DECISIVE,
            "what goes in does not come out in any form",
            when=says("level", answer=False),
        ),
        Evidence("layer-changes-nothing", DECISIVE, "what a layer gives is thrown away"),
        Evidence(
            "result-thrown-away",
            DECISIVE,
            "a step of the network is computed and lost",
            when=says("network"),
        ),
        Evidence(
            "no-gradient-arrives", STRONG, "the gradient is exactly zero from the first step to the last"
        ),
        Evidence("checkpointed-without-gradients", STRONG, "a checkpointed part gets no gradients"),
        Evidence("backward-without-gradients", DECISIVE, "the network runs where no graph is recorded"),
        Evidence("loss-term-is-negligible", DECISIVE, "no gradient goes through a term", when=_is_cut),
        Evidence("part-cut-off-from-loss", DECISIVE, "no gradient of any loss gets to a part of the network"),
        Evidence(
            "term-teaches-another-network", DECISIVE, "a term never gets back to the network that it is for"
        ),
        Evidence("loss-never-falls", WEAK, "the loss never falls"),
        Evidence("loss-at-variance-of-noise", MODERATE, "the output has nothing to do with its target"),
        Evidence(
            "backward-without-gradients",
            -MODERATE,
            "every loss has a graph to go back through",
            outcome=Outcome.CLEAR,
        ),
        Evidence("loss-settles-high", WEAK, "what is behind the cut learns what it can", when=says("no_gap")),
        Evidence("loss-settles-high", WEAK, "and much of it is left", when=says("much")),
    ),
    confirm_by="after one backward pass, list the parameters whose .grad is None",
    shows=("loss-plateau", "below-trivial-baseline", "validation-left-behind"),
)
