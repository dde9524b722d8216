"""The discriminator's loss falls all through the game.

## What it checks
In adversarial training: whether the discriminator's loss is lower in the last fifth of the game than in the
first by a twenty-fifth or more, beyond its noise.

## Why it matters
The two sides are meant to stay even. A discriminator that gets better and better at telling samples apart
learns faster than the generator does: its rate, its steps or its weight in the loss favour it.

## When it is harmless
Often: most games end with a discriminator that is somewhat ahead, and the samples improve all the same. So
this is only a note. A discriminator that is certain to the end is another rule's.

## References
- Arjovsky and Bottou, Towards Principled Methods for Training Generative Adversarial Networks, 2017
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.robust_stats import noise_sd
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.signals.adversaries import Adversaries

RULE = Rule(code="LOS332", since="0.6", severity=Severity.NOTE)

FEWEST = 10
PART = 5  # the first and the last fifth of the game are compared
GAINED = 0.96  # of its first level, or less, is what the loss has come down to
NOISES = 1.5


def examine(sides: Adversaries) -> Iterator[Finding]:
    """Note a discriminator that gets ahead."""
    judge = sides.judge.select(sides.judge.values != 0.0).finite()
    if len(judge) < FEWEST:
        raise InsufficientData(f"only {len(judge)} values of the discriminator's loss were logged")
    part = max(2, len(judge) // PART)
    first, last = float(np.median(judge.values[:part])), float(np.median(judge.values[-part:]))
    noise = noise_sd(judge.values) * math.sqrt(2.0 / part)
    if first <= 0.0 or last > GAINED * first or first - last < NOISES * noise:
        return
    yield Finding(
        judge.where(),
        f"{judge.name} falls from {first:.3g} to {last:.3g} in the course of the game",
        {"first": first, "last": last},
        onset=int(judge.steps[0]),
    )
