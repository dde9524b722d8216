"""What is kept as the best is whatever beats the number that the record began with.

## What it checks
Comparisons of a score with a best so far that save weights or take a copy of them, where nothing in the
program ever puts a score in the place of that best: it is given a number once, or read from a checkpoint.

## Why it matters
From the first round that beats the beginning on, every one of them does. The file called best is the last
checkpoint, whatever its score, and a best score that is printed or saved is the one it began with.

## When it is harmless
A bar that is meant to stand, such as the score of another model, is seldom called the best so far. A record
that is an argument, an element or set by name somewhere is not judged.

## References
- The best checkpoint is one whose score no later one has beaten
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.evaluation.standing_records import standing_records
from stethoscope.program.index import index
from stethoscope.signals.sources import Sources

RULE = Rule(code="EVA550", since="0.9", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each record that stays where it began."""
    for one in standing_records(index(sources.program)):
        yield Finding(
            (one.site.where, one.begun.where),
            f"nothing puts a better score in the place of {one.record}: all that beat its beginning are kept",
            evidence={"comparison": one.site.text, "begins": one.begun.text},
            proof="the record is given no other value anywhere in the source",
        )
