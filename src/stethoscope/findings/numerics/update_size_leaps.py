"""Adam's updates leap to several times their usual size.

## What it checks
The logged size of Adam's updates in its own units, the root of the mean of the squared gradient over the
second moment: whether it leaps past 2.3 after the start.

## Why it matters
In steady training it is about one. When gradients become larger than the second moment remembers, it is
not, and every weight of the layer moves too far at once. The loss leaps one to eight steps later.

## When it is harmless
At the start the second moment is young and the size wanders: the first tenth of the run is not counted.
Single values a little above are noise.

## References
- Wortsman et al., Stable and low-precision training for large-scale vision-language models, 2023
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.signals.inner_sizes import InnerSizes, Kind

RULE = Rule(code="NUM136", since="0.3", severity=Severity.WARNING)

TOO_FAR = 2.3
USUAL = 1.5  # what the middle of the series must be below, for its unit to be this one
START = 0.1
SEVERAL = 2


def examine(sizes: InnerSizes) -> Iterator[Finding]:
    """Fire where updates leap again and again."""
    series = sizes.of(Kind.UPDATE_SIZE)
    if not series:
        raise InsufficientData(
            "the size of Adam's updates was not logged", 'log({"adam_rms": (g**2 / v).mean().sqrt().item()})'
        )
    for one in series:
        later = one.select(slice(int(START * len(one)), None))
        leaps = np.nonzero(later.values >= TOO_FAR)[0]
        if (
            len(leaps) >= SEVERAL
            and float(np.median(later.values)) <= USUAL
            and len(leaps) < 0.2 * len(later)
        ):
            first = int(later.steps[leaps[0]])
            yield Finding(
                later.where(first, int(later.steps[leaps[-1]])),
                f"{one.logged_as} leaps to {float(later.values.max()):.2g} and is "
                f"{np.median(later.values):.2g} otherwise, {len(leaps)} times since step {first:,}",
                evidence={"leaps": len(leaps), "highest": float(later.values.max())},
                onset=first,
            )
