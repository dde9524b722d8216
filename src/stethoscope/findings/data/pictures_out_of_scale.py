"""Pictures leave a data set in numbers that their scaling does not fit.

## What it checks
The `__getitem__` of data sets that read pictures is followed on invented ones with numbers from 0 to 255.
Reported is an input that reaches beyond 300: it was standardised by a mean and a deviation of pictures
between 0 and 1, without the division by 255. So is one that stays below 0.04: it was divided twice.

## Why it matters
The first layers see numbers a few hundred times larger or smaller than they were made for. Pretrained
weights are of no use, batch norms hide a part of it in training, and half precision overflows sooner.

## When it is harmless
Pictures that stay between 0 and 255, or lose a mean of that range, may be meant so: nothing is said.

## References
- torchvision.transforms.ToTensor, which divides bytes by 255
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.samples.sample_trials import sample_trials
from stethoscope.signals.sources import Sources

RULE = Rule(code="DAT523", since="0.8", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each data set whose inputs are far too large or too small."""
    for trial in sample_trials(index(sources.program)):
        if trial.reach is not None:
            low, high = trial.reach
            yield Finding(
                trial.function.where(),
                f"pictures of bytes leave {trial.cls.name} in numbers from {low:.3g} to {high:.3g}",
                evidence={"lowest": round(low, 4), "highest": round(high, 4)},
            )
