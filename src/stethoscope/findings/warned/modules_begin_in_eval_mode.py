"""The trainer says that parts of the network begin in evaluation mode.

## What it checks
Lightning's own warning that modules are in evaluation mode at the start of training, and how many.

## Why it matters
What a library loads comes in evaluation mode, and this trainer leaves it as it is: dropout never drops and
batch norm never learns, in the whole run.

## When it is harmless
A frozen part, a teacher or a perceptual loss should be in evaluation mode. So it is a note.

## References
- lightning.pytorch.Trainer.fit, on the modes of modules
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity
from stethoscope.run import EventKind, Where
from stethoscope.signals.announcements import Announcements

RULE = Rule(code="WRN106", since="0.4", severity=Severity.NOTE)

_SAID = re.compile(r"Found (\d+) module\(s\) in eval mode at the start of training")


def examine(said: Announcements) -> Iterator[Finding]:
    """Note the first time it is said."""
    for event in said.of(EventKind.FRAMEWORK_WARNING):
        if (told := _SAID.search(event.message)) is not None:
            yield Finding(
                Where(event.file, event.line),
                f"{told[1]} modules begin the training in evaluation mode, and the trainer leaves them there",
                {"modules": int(told[1])},
            )
            return
