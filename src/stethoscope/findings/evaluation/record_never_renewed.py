"""The best score so far is compared with and never written again.

## What it checks
Conditions in a loop that hold a score against the best so far and save the weights where it is better:
whether anything in the rounds of the loop writes the new score in the place of the old one. Only records that
begin with what any score beats are looked at: zero, minus one, infinity.

## Why it matters
Every score beats the number that the record began with, so each save replaces the best weights by the latest
ones: what is called the best is the last.

## When it is harmless
A threshold that is meant begins with a number of its own, and is not looked at. Records that are kept in
tables or handed to functions may be written there, and nothing is said.

## References
- Prechelt, Early Stopping - But When?, 1998
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.evaluation.unrenewed_records import unrenewed_records
from stethoscope.program.index import index
from stethoscope.signals.sources import Sources

RULE = Rule(code="EVA510", since="0.9", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each record that stays what it began with."""
    for one in unrenewed_records(index(sources.program)):
        yield Finding(
            (one.compared.where, one.kept.where),
            f"nothing writes `{one.record}` while the loop goes on: each score that beats its first value "
            "is kept as the best",
            evidence={"record": one.record, "compared": one.compared.text},
        )
