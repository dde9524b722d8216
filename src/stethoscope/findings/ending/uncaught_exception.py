"""The run ended in an exception of its own program.

## What it checks
The last traceback of the output, no step behind it, where its exception is none of those that other rules
of this family know. The place in the program is that of the innermost frame outside installed packages.

## Why it matters
The exception is the end of the run, and its last frames say where. It need not be the first thing that went
wrong: where it speaks of NaN, infinity or a loss scale, the values went bad before.

## When it is harmless
An exception that was caught and logged has steps behind it. One that is ignored at the end of Python, in a
`__del__`, stops nothing. SystemExit and an interrupt at the keyboard are decisions. An exception after the
end of the training is only noted.

## References
- Python: `traceback`, `faulthandler.enable()` for crashes without one
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings._cut_short_by import cut_short_by
from stethoscope.findings.finding import Finding, Rule, Severity
from stethoscope.signals.abrupt_end import AbruptEnd, Manner

RULE = Rule(code="END108", since="0.2", severity=Severity.CRITICAL)


def examine(end: AbruptEnd) -> Iterator[Finding]:
    """Fire when an exception, or a crash of the interpreter, ended the run."""
    return cut_short_by(
        end,
        *(Manner.EXCEPTION, Manner.NUMERIC, Manner.CRASHED),
        what="the program failed",
    )
