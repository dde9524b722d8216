"""What cannot be read becomes a sample of zeros, and nobody is told.

## What it checks
Functions that make samples: whether an `except` fills what could not be read with zeros or an empty picture
and goes on with its label, without a word in the log, a mark in the sample or a count.

## Why it matters
A wrong folder, a full disk or a broken archive then gives black pictures with real labels: the network learns
the frequencies of the classes from them, and nothing fails. How many there are is seen nowhere.

## When it is harmless
A handler that prints, warns or counts, takes another sample, or gives `None` for the collate function to
leave out. A sample that says which of its parts are there (a mask, a weight).

## References
- torch.utils.data.default_collate
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.data.filled_failures import filled_failures
from stethoscope.program.index import index
from stethoscope.signals.sources import Sources

RULE = Rule(code="DAT742", since="0.7", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each sample that stands for one that could not be read."""
    for site in filled_failures(index(sources.program)):
        yield Finding(
            site.where,
            f"`{site.text}` stands for what could not be read, keeps its label and is told nobody",
            evidence={"sample": site.text},
        )
