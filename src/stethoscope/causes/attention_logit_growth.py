"""Attention scores grow until the softmax is closed.

## How it works
Products of queries and keys grow with the weights that make them. Where nothing divides or norms them, or
the learning rate is high, they pass the size at which a softmax picks one place. Gradients through it
vanish, then leap, and the loss spikes or runs away.

## How to tell it from its look-alikes
A learning rate that is too high runs away without scores that grew first; with normed queries and keys the
same rate is stable. Weights that start too large show in the first loss. Other growth shows in all
activations, not in the scores.

## What cures it
Divide by the root of the head's width, norm queries and keys, cap the scores, or lower the rate.
"""

from __future__ import annotations

from stethoscope.causes.cause import DECISIVE, OCCASIONAL, STRONG, WEAK, Cause, Evidence, Outcome
from stethoscope.findings import Finding


def _wrong_way(finding: Finding) -> bool:
    return finding.evidence.get("scale") == "up"


def _missing(finding: Finding) -> bool:
    return finding.evidence.get("scale") == "none"


CAUSE = Cause(
    title="Attention scores grow until the softmax is closed",
    prior=OCCASIONAL,
    evidence=(
        Evidence("attention-not-scaled", DECISIVE, "scores are multiplied up", when=_wrong_way),
        Evidence("attention-not-scaled", WEAK, "nothing scales the scores", when=_missing),
        Evidence("attention-scores-grow", STRONG, "the logged scores or their entropy show it"),
        Evidence("loss-spike", WEAK, "the loss leaps"),
        Evidence("divergence", WEAK, "the loss runs away"),
        Evidence("attention-scores-grow", -STRONG, "scores come to rest", outcome=Outcome.CLEAR),
        Evidence("attention-not-scaled", -WEAK, "the source scales its attention", outcome=Outcome.CLEAR),
    ),
    confirm_by="log the largest attention score; norm queries and keys and go on at the same rate",
    leads_to=("gradient-growth", "forward-overflow"),
)
