"""The input and the target of a pair have their colours in different orders.

## What it checks
Data sets that read two pictures for each sample, such as a noisy and a clean one. Their `__getitem__` is
followed on invented pictures of the same scene. Reported is where both come out in the same range, and
red stands in one where blue stands in the other.

## Why it matters
The network has to exchange red and blue beside its task. Scores against the target stay low where colours
are strong, and with a shortcut from input to output the start is far worse than doing nothing.

## When it is harmless
Both in either order. Pictures that are standardised each by their own numbers are not compared.

## References
- cv2.imread, which gives blue, green, red
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.samples.sample_trials import sample_trials
from stethoscope.signals.sources import Sources

RULE = Rule(code="DAT522", since="0.8", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each data set whose pairs differ in the order of their channels."""
    for trial in sample_trials(index(sources.program)):
        if trial.turned:
            yield Finding(
                trial.function.where(),
                f"the input and the target of {trial.cls.name} have red and blue in each other's place",
                evidence={"tried": trial.draws},
                proof="two pictures of the same colours come out with their channels in different orders",
            )
