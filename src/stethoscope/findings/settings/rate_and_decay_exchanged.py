"""An optimizer gets the weight decay as its learning rate, and the learning rate as its weight decay.

## What it checks
Calls with both `lr` and `weight_decay`: whether what is handed over for each is called like the other,
`AdamW(params, lr=cfg.weight_decay, weight_decay=cfg.lr)`.

## Why it matters
A decay of 0.05 is a hundred times a usual rate of Adam: the first steps ruin the weights. The other way
round the network hardly learns. Both settings are read, so nothing looks ignored.

## When it is harmless
One of them alone may come from a name that speaks of the other (`weight_decay=lr * 0.1`); nothing is said
unless both do.

## References
- torch.optim.AdamW
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.settings.exchanged_numbers import exchanged_rates
from stethoscope.signals.sources import Sources

RULE = Rule(code="SET842", since="0.4", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each pair that stands the wrong way round."""
    for one in exchanged_rates(index(sources.program)):
        yield Finding(
            one.spot.where,
            "the weight decay is handed over as the learning rate, and the learning rate as the weight decay",
            strength=1.0,
        )
