"""Adam's second moment is out of date, and updates leap.

## How it works
With a beta2 of 0.999 Adam remembers a thousand steps. When gradients suddenly grow, it divides them by what
they were: updates of every weight are several times too long, and the loss leaps one to eight steps later.

## How to tell it from its look-alikes
A corrupt batch leaps on any weights; replayed on other weights this one does not. A rate that is too high
does not need a quiet time before it. Here the size of the updates rises before the loss does.

## What cures it
A beta2 of 0.95 to 0.98, updates clipped to a size of one (StableAdamW), gradients clipped by tensor.
"""

from __future__ import annotations

from stethoscope.causes.cause import MODERATE, OCCASIONAL, STRONG, Cause, Evidence, Outcome
from stethoscope.findings import Finding


def _again(finding: Finding) -> bool:
    times = finding.evidence.get("spikes")
    return isinstance(times, int) and times > 1


CAUSE = Cause(
    title="Adam's second moment is out of date",
    prior=OCCASIONAL,
    evidence=(
        Evidence(
            "update-size-leaps", STRONG, "the logged updates leap past what Adam makes in steady training"
        ),
        Evidence("loss-spike", MODERATE, "the loss leaps again and again", when=_again),
        Evidence("update-size-leaps", -STRONG, "the logged updates keep their size", outcome=Outcome.CLEAR),
    ),
    confirm_by="go on from before a leap, optimizer state included, with beta2 at 0.95: the leaps end",
)
