"""A resume asks its checkpoint for the state of the optimizer under a key that is never saved.

## What it checks
Resumes that load the state of an optimizer out of a checkpoint: whether anything in the program saves a
state under that key, in a table, by an assignment or as a keyword. Other keys of the same checkpoint must
be ones that the program saves.

## Why it matters
`if "optim" in checkpoint:` is false for every checkpoint that this program writes. The resume looks
complete, and the optimizer starts from nothing each time: the first steps after it are as large as the
first ever.

## When it is harmless
Checkpoints of another program that can be taken over as well, where those of this one are read under their
own keys. Keys that are computed (`{name: part.state_dict() for ...}`) are not known, and nothing is said.

## References
- resume-weights-only tells of resumes that do not ask for the state at all.
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.program.resume.unsaved_states import UnsavedState, unsaved_states
from stethoscope.signals.resumes import Resumes

RULE = Rule(code="RES186", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(resumes: Resumes) -> Iterator[Finding]:
    """Report each optimizer whose state is asked for under a key that no checkpoint has."""
    if not resumes.resumptions:
        raise InsufficientData("no resume of a training was found in the source")
    seen: set[object] = set()
    for resumption in resumes.resumptions:
        for lost in unsaved_states(resumes.index, resumption):
            if lost.load.site.node not in seen:
                seen.add(lost.load.site.node)
                yield _finding(lost)


def _finding(lost: UnsavedState) -> Finding:
    instead = f"it is saved as {lost.saved_as!r}" if lost.saved_as else "it is not saved at all"
    return Finding(
        (lost.load.site.where, lost.saved.where),
        f"the state of the optimizer is taken out of {lost.key!r}, which no checkpoint of this program has: "
        f"{instead}",
        evidence={"key": lost.key, "saved as": lost.saved_as},
        proof="no table that is put together with a state_dict() in this program has the key",
    )
