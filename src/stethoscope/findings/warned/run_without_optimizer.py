"""The trainer says that nothing is optimised.

## What it checks
Lightning's own warning that `configure_optimizers` returned nothing and the fit runs with no optimizer.

## Why it matters
Batches pass, losses are logged, and no weight ever changes.

## When it is harmless
A run that is only meant to collect statistics or to warm up caches.

## References
- lightning.pytorch.LightningModule.configure_optimizers
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity
from stethoscope.run import EventKind, Where
from stethoscope.signals.announcements import Announcements

RULE = Rule(code="WRN103", since="0.4", severity=Severity.CRITICAL)

_SAID = "this fit will run with no optimizer"


def examine(said: Announcements) -> Iterator[Finding]:
    """Report the first time it is said."""
    for event in said.of(EventKind.FRAMEWORK_WARNING):
        if _SAID in event.message:
            yield Finding(
                Where(event.file, event.line),
                "the trainer runs with no optimizer: configure_optimizers returns nothing",
                {"said": event.message},
                proof="the trainer itself says so",
            )
            return
