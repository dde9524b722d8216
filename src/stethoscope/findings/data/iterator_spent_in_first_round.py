"""Data come from an iterator that the first round uses up.

## What it checks
Generators, `iter`, `zip` and `map` that are made before a loop and gone through as a whole in each of its
rounds, in the loop itself or in a function that it hands them to.

## Why it matters
Nothing begins an iterator anew. From the second epoch on its loop has no rounds: held-out scores divide by
nothing or stay what they were, and training goes on without data. Nothing is raised.

## When it is harmless
Loaders, lists and objects with an `__iter__` of their own begin again. A stream that never ends, one of which
each round takes a part (`break`, `next`), and one that is made in the round are not reported.

## References
- Python documentation, glossary: iterator
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.data.spent_iterators import spent_iterators
from stethoscope.program.index import index
from stethoscope.signals.sources import Sources

RULE = Rule(code="DAT830", since="0.8", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each iterator that is gone through again and again."""
    for one in spent_iterators(index(sources.program)):
        yield Finding(
            (one.used.where, one.made.where),
            f"`{one.name}` is used up in the first round: the others find nothing in it",
            evidence={"made": one.made.text, "trains": one.trains},
        )
