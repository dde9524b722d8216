"""A resume leaves the best score so far in the checkpoint, and begins the record anew.

## What it checks
Checkpoints that hold the best score beside weights and optimizer, and the code that goes on from one: whether
anything asks for the entry of the score. The source must compare scores with what was saved there.

## Why it matters
Whatever the first evaluation behind the resume gives beats a record that begins at nothing. The best
checkpoint is overwritten by weights that may be far worse, and early stopping counts from there.

## When it is harmless
A resume that takes the record from another file, such as the best checkpoint itself, asks for it under its
name, and nothing is said. Nor where a checkpoint goes anywhere as a whole, or only weights are taken from it:
a training of another kind begins another record.

## References
- PyTorch tutorial: Saving and loading a general checkpoint
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.resume.unread_entries import unread_records
from stethoscope.signals.sources import Sources

RULE = Rule(code="RES946", since="0.9", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each record that is saved and never asked for."""
    for one in unread_records(index(sources.program)):
        yield Finding(
            (one.loaded.where, one.saved.where),
            f"the checkpoint holds the best score as {one.name!r}, and the resume leaves it there: the first "
            "evaluation behind it becomes the best",
            evidence={"entry": one.name},
            proof="no text in the source but the key of the saved table is called so",
        )
