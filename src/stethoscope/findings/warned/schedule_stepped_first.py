"""PyTorch saw the schedule move before the first update.

## What it checks
PyTorch's own warning that `lr_scheduler.step()` was called before `optimizer.step()`.

## Why it matters
The first value of the schedule is skipped: a warm-up begins one step late, and where the schedule moves by
epochs, the whole first epoch runs with the second rate.

## When it is harmless
Under a GradScaler it says nothing: the scaler skips its first steps while it looks for its scale, and PyTorch
takes that for a step that was never made. It is a note, and the source decides.

## References
- torch.optim.lr_scheduler, "How to adjust learning rate"
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity
from stethoscope.run import EventKind, Where
from stethoscope.signals.announcements import Announcements

RULE = Rule(code="WRN105", since="0.4", severity=Severity.NOTE)

_SAID = "lr_scheduler.step()"


def examine(said: Announcements) -> Iterator[Finding]:
    """Note the first time it is said."""
    for event in said.of(EventKind.FRAMEWORK_WARNING):
        if _SAID in event.message:
            yield Finding(
                Where(event.file, event.line),
                "PyTorch saw the schedule move before an update was made",
                {"said": event.message},
            )
            return
