"""A thread writes the weights while training changes them.

## What it checks
Calls that hand the state of a network to a thread or an executor to be saved: whether it is copied first.

## Why it matters
`state_dict()` hands out the live tensors. By the time the thread reads them the next steps have changed some:
the file holds the first layers of one step and the last ones of another, beside a step number that fits
neither. It loads without complaint.

## When it is harmless
A state that is cloned or brought to the CPU first, a thread that is waited for at once, another process,
which gets a copy.

## References
- torch.nn.Module.state_dict
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.resume.live_states import live_states
from stethoscope.signals.sources import Sources

RULE = Rule(code="CKP740", since="0.7", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each state that is written while it changes."""
    for site in live_states(index(sources.program)):
        yield Finding(
            site.where,
            "a thread writes the live weights while training goes on: the file mixes several steps",
            evidence={"call": site.text},
        )
