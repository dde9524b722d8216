"""A resume leaves the average of the weights in the checkpoint.

## What it checks
Checkpoints that hold an average of the weights beside weights and optimizer, and the code that goes on from
one: whether anything asks for the entry of the average. The average must have been made before the weights
are loaded.

## Why it matters
The average goes on from the random weights that the network was made with. Whatever is evaluated or kept by
it is worth nothing until the start has been forgotten, a thousand steps and more at a decay of 0.999.

## When it is harmless
An average that is made of the loaded weights begins near where it was. A checkpoint that is only evaluated
needs no optimizer; nothing is said of it. Where a checkpoint goes anywhere as a whole, nobody can tell.

## References
- `torch.optim.swa_utils.AveragedModel`: its state belongs into the checkpoint
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.resume.unread_entries import unread_averages
from stethoscope.signals.sources import Sources

RULE = Rule(code="RES550", since="0.9", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each average that is saved and never asked for."""
    for one in unread_averages(index(sources.program)):
        yield Finding(
            (one.loaded.where, one.saved.where),
            f"the checkpoint holds the average of the weights as {one.name!r}, and the resume leaves it "
            "there: it begins anew from an untrained network",
            evidence={"entry": one.name},
            proof="no text in the source but the key of the saved table is called so",
        )
