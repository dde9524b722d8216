"""The gradients of the embedding leap.

## How it works
Rows of rare words get a gradient seldom and then a large one; Adam's memory of their size has faded. The
leap moves the embedding, every layer behind it sees other inputs, and the loss leaps within a few steps.

## How to tell it from its look-alikes
A corrupt batch makes all modules leap together, and replaying it shows the same. Adam's stale second moment
does this to any module; here it is the embedding alone.

## What cures it
Shrink the gradient of the embedding (by 0.1 at first), put a norm behind it, leave it out of weight decay,
lower beta2.
"""

from __future__ import annotations

from stethoscope.causes.cause import MODERATE, OCCASIONAL, STRONG, Cause, Evidence, Outcome
from stethoscope.findings import Finding


def _again(finding: Finding) -> bool:
    times = finding.evidence.get("spikes")
    return isinstance(times, int) and times > 1


CAUSE = Cause(
    title="The gradients of the embedding leap",
    prior=OCCASIONAL,
    evidence=(
        Evidence("embedding-gradient-leaps", STRONG, "its logged gradients leap alone"),
        Evidence("loss-spike", MODERATE, "the loss leaps again and again", when=_again),
        Evidence("embedding-gradient-leaps", -STRONG, "it does not leap alone", outcome=Outcome.CLEAR),
    ),
    confirm_by="go on from before a leap with a tenth of the embedding's gradient: the leaps end",
)
