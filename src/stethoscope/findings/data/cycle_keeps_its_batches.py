"""A training loader is gone round by `itertools.cycle`, which keeps its batches.

## What it checks
`itertools.cycle` over a loader that shuffles, from which training takes batch by batch.

## Why it matters
`cycle` stores every batch of the first round and repeats those: the same neighbours in the same order, with
the crops, flips and noise of the first round for ever. Augmentation stops after one epoch, and all of the
data set is held in memory.

## When it is harmless
A run that ends within the first round, and samples that are the same each time: then only the order stays,
which is why this is a note. A generator that begins the loader anew (`while True: yield from loader`) is not
this, whatever it is called.

## References
- itertools.cycle
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.data.kept_cycles import kept_cycles
from stethoscope.program.index import index
from stethoscope.signals.sources import Sources

RULE = Rule(code="DAT744", since="0.7", severity=Severity.NOTE, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each loader whose first round is repeated."""
    for site in kept_cycles(index(sources.program)):
        yield Finding(
            site.where,
            f"`{site.text}` repeats the batches of the first round: no shuffle and no augmentation after it",
            evidence={"cycle": site.text},
        )
