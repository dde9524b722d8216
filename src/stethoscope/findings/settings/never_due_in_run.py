"""An evaluation or a checkpoint is due first behind the end of the run.

## What it checks
Loops of a known number of rounds that evaluate or save every so many of them, `if (epoch + 1) % every == 0`:
whether the run has fewer rounds than that, and nothing else in the file does the same.

## Why it matters
A run without a single evaluation tells nothing of what was learned, keeps no best weights and stops at no
plateau. A run without a checkpoint leaves nothing behind.

## When it is harmless
Where the same is done once more, at the end for instance, nothing is said, nor of runs of fewer than ten
rounds, and nor of what is only printed.

## References
- Cadences in steps, left as they were when the length of a run was changed to epochs
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.settings.cadences import never_due
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="SET843", since="0.4", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report each evaluation or saving that the run never comes to."""
    tree = settings_tree(settings.recipe if settings is not None else None)
    for one in never_due(index(sources.program), tree):
        yield Finding(
            (one.where, one.loop),
            f"{one.called} is due every {one.every:,g} rounds, and the loop has {one.rounds:,g}",
            evidence={"every": one.every, "rounds": one.rounds},
        )
