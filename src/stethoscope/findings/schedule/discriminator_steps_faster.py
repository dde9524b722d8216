"""The discriminator has several times the generator's learning rate.

## What it checks
Two logged learning rates of an adversarial training, one of them the discriminator's: whether in the middle
of the log this is five times the other or more.

## Why it matters
The discriminator mostly has the easier task. With far larger steps it is always ahead, and what it tells the
generator is of little use.

## When it is harmless
Two to four times the rate are common where the discriminator is held back by a penalty or a spectral norm,
and the two may use different optimisers, whose rates mean different things. So this is only a note.

## References
- Heusel et al., "GANs Trained by a Two Time-Scale Update Rule", 2017
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.loss import words

RULE = Rule(code="SCH331", since="0.6", severity=Severity.NOTE)

JUDGE = frozenset({"d", "disc", "discriminator", "critic"})
FASTER = 5.0  # times the other rate


def examine(rates: LearningRate) -> Iterator[Finding]:
    """Note a discriminator whose rate is far above the generator's."""
    of_judge = [one for name, one in rates.groups.items() if words(name) & JUDGE]
    others = [one for name, one in rates.groups.items() if not words(name) & JUDGE]
    if len(of_judge) != 1 or not others:
        raise InsufficientData("no learning rate of a discriminator was logged beside another")
    judge, player = of_judge[0].finite(), others[0].finite()
    fast, slow = float(np.median(judge.values)), float(np.median(player.values))
    if slow > 0.0 and fast >= FASTER * slow:
        yield Finding(
            (judge.where(), player.where()),
            f"{judge.name} is {fast:.3g} in the middle, {fast / slow:.0f} times {player.name} ({slow:.3g})",
            {"times": fast / slow},
        )
