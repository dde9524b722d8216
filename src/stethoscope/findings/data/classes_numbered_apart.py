"""Classes get their numbers once from training data and once more from held-out data.

## What it checks
Encoders of labels (`LabelEncoder`, `factorize`) that are fitted to training rows and fitted again to held-out
rows in one body of code, and data sets that number the classes of their own rows in the order in which those
come, where one is made for training and another for evaluation.

## Why it matters
Class 3 of the one set is another class in the other, as soon as a class is missing or comes earlier. The
network is right and its score says that it is not: held-out accuracy stays near guessing while training goes
well.

## When it is harmless
A numbering that is made once and handed to both sets; numbers by sorted names, where every class is in both
sets, agree by luck.

## References
- sklearn.preprocessing.LabelEncoder
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.data.numbered_classes import numbered_apart
from stethoscope.program.index import index
from stethoscope.signals.sources import Sources

RULE = Rule(code="DAT740", since="0.7", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each second numbering."""
    for pair in numbered_apart(index(sources.program)):
        yield Finding(
            (pair.judged.where, pair.trained.where),
            f"`{pair.what}` numbers the classes of its own rows: the numbers of both sets need not agree",
            evidence={"numbering": pair.what},
        )
