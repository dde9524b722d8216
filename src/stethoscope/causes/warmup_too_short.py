"""The learning rate starts at its peak where a warm-up is needed.

## How it works
At the start curvature is high and Adam's second moment is made of a few gradients. A full rate then moves
the weights far, most of all in transformers that norm their sums. The run goes on from a worse place, or
never leaves the level of a guess.

## How to tell it from its look-alikes
A rate that is too high fails whenever it is reached; here the same rate is stable behind a warm-up, and the
trouble is in the first hundredths of the run alone. Weights that start too large show in the very first
loss, before any update.

## What cures it
A warm-up of 1 to 5 % of the run, or of 2 / (1 - beta2) steps; norms in front of the branches.
"""

from __future__ import annotations

from stethoscope.causes.cause import COMMON, DECISIVE, MODERATE, STRONG, WEAK, Cause, Evidence, Outcome, says
from stethoscope.findings import Finding


def _thrown_away(finding: Finding) -> bool:
    """Whether the first steps, at the full rate or leaping, left a network with one answer to everything."""
    seen = finding.evidence
    return seen.get("learns") is False and seen.get("weights_move") is True and seen.get("thrown") is True


CAUSE = Cause(
    title="The learning rate starts at its peak",
    prior=COMMON,
    evidence=(
        Evidence("held-out-loss-creeps", -STRONG, "held-out data gain by every step, evenly"),
        Evidence("answers-stay-at-guessing", WEAK, "nothing was learned behind the first steps"),
        Evidence(
            "metric-never-moves",
            STRONG,
            "one answer to everything, after first steps that were too large",
            when=_thrown_away,
        ),
        Evidence("metric-never-moves", -STRONG, "no weight moves at all", when=says("exact")),
        Evidence("validation-settles-at-once", MODERATE, "the weights were thrown away at the start"),
        Evidence(
            "loss-stands-above-its-start", MODERATE, "the loss is above its start for long, and comes back"
        ),
        Evidence("post-norm-without-warm-up", DECISIVE, "the network needs a warm-up and has none"),
        Evidence("unstable-start", STRONG, "the loss leaps at the start and comes back late"),
        Evidence("loss-never-falls", WEAK, "the loss never recovers"),
        Evidence("loss-plateau", WEAK, "the loss comes to rest early"),
        Evidence("post-norm-without-warm-up", -WEAK, "the start is not too fast", outcome=Outcome.CLEAR),
        Evidence("unstable-start", -MODERATE, "the start is calm", outcome=Outcome.CLEAR),
        Evidence("first-loss-above-chance", -MODERATE, "the very first loss is high already"),
        Evidence("weights-start-large", -MODERATE, "the weights start too large"),
        Evidence("answers-are-guesses", MODERATE, "one answer is given to everything"),
    ),
    confirm_by="run the first 500 steps again with a warm-up: the same rate is stable",
)
