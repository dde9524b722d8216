"""Validation becomes harder as training goes on, so its scores do not compare with each other.

## What it checks
Every function that evaluates is followed to the losses and metrics it computes. A curriculum, ramp or
difficulty among what they are computed from is reported when it depends on the training step or epoch, and so
is a cut of held-out inputs whose length goes by what the training loop counts.

## Why it matters
A validation loss at growing difficulty rises while the model improves. The first checkpoint looks best, early
stopping stops too early, and two runs with different ramps cannot be compared.

## When it is harmless
A step that is only logged or used to name files has no part in the score. A validation that fixes the
difficulty (the final one) is the cure and is not reported. A part of fixed length that moves on through the
data is the next one to foretell, and a cut that training makes as well belongs to the network.

## References
- Bengio et al., Curriculum Learning, 2009
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.signals.validation_path import Yardstick

RULE = Rule(code="COD103", since="0.1", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(yardstick: Yardstick) -> Iterator[Finding]:
    """Report each difficulty inside validation that moves with training."""
    for following in yardstick.path.followings:
        yield Finding(
            where=tuple(dict.fromkeys((following.where, following.measured_at))),
            message=(
                f"{following.function} measures at a difficulty that depends on {following.progress}: "
                f"{following.difficulty}"
            ),
            evidence={"function": following.function, "progress": following.progress},
        )
