"""The network's outputs drift away as a whole.

## What it checks
The logged size of the output logits, or of the logarithm of their sum: whether it has grown many times over
and has not come to rest.

## Why it matters
A softmax does not notice when all logits move together, so nothing in the loss holds them. In half
precision differences between large logits are rounded away, and late in long runs the loss leaps.

## When it is harmless
Logits grow while a classifier becomes sure of itself, and then rest. The logits of preference training
drift apart on purpose and are not looked at.

## References
- Chowdhery et al., PaLM, 2022: z-loss; Wortsman et al. 2023
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.detectors.lasting_growth import lasting_growth
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.signals.inner_sizes import InnerSizes, Kind

RULE = Rule(code="NUM134", since="0.3", severity=Severity.WARNING)

TIMES = 4.0
LARGE = 64.0  # from here on bfloat16 has steps of a half between two logits


def examine(sizes: InnerSizes) -> Iterator[Finding]:
    """Fire on logits that have grown large and go on growing."""
    series = sizes.of(Kind.OUTPUT_LOGIT)
    if not series:
        raise InsufficientData(
            "no output logits were logged", 'log({"logz": logits.logsumexp(-1).mean().item()})'
        )
    for one in series:
        growth = lasting_growth(one, TIMES)
        if growth is not None and growth.last >= LARGE:
            yield Finding(
                one.where(growth.onset, int(one.steps[-1])),
                f"{one.logged_as} has drifted from {growth.first:.3g} to {growth.last:.3g} "
                "in size and goes on",
                evidence={"first": growth.first, "last": growth.last},
                onset=growth.onset,
            )
