"""A run can be asked to resume, and starts from scratch.

## What it checks
Flags and fields that ask for a run to go on (`--resume`, `resume_from`, `ckpt`): whether their value
reaches anything but print-outs, checks that the file exists and functions that nothing calls. Also
checkpoints that are read for a resume and of which nothing is put back.

## Why it matters
The run starts with new weights and says that it resumes. Its curve looks like one that forgot everything,
and the time spent before is lost.

## When it is harmless
Where the settings object is handed on as a whole to code that is not here, the value may be used there, and
nothing is said. A flag that chooses a branch that loads by itself is used. A script of the Trainer that could
be asked to resume and was not has lost nothing: that is a note.

## References
- setting-never-used is the same for all other settings.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.call_edits import with_keyword
from stethoscope.program.edits.statements import is_name_chain
from stethoscope.program.resume.trainer_resumes import UntoldStart
from stethoscope.program.walk.values import Site
from stethoscope.run import Fix, Level
from stethoscope.signals.resume_options import ResumeOptions

RULE = Rule(code="RES101", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)

MENTIONS = 3
UNASKED = 0.4  # a restart in the log has to speak for it as well


def examine(options: ResumeOptions) -> Iterator[Finding]:
    """Report each option for resuming that nothing acts on, and each checkpoint that is dropped."""
    for idle in options.idle:
        how = "it is only printed or checked" if idle.mentions else "nothing reads it"
        how = "nothing calls the function that reads it" if idle.is_out_of_reach else how
        yield Finding(
            (idle.option.where, *idle.mentions[:MENTIONS]),
            f"{idle.option.name} asks for a resume and no checkpoint is loaded by it: {how}",
            evidence={"option": idle.option.name, "mentions": len(idle.mentions)},
            proof="every path of the value through the source ends in a print-out, a check or nowhere",
        )
    for start in options.untold:
        yield _untold(start)
    seen: set[object] = set()
    for call in options.dropped:
        if call.site.node not in seen:
            seen.add(call.site.node)
            yield Finding(
                call.site.where,
                "a checkpoint is read for the resume and nothing of it is put back",
                evidence={"read": call.site.text},
            )


def _untold(start: UntoldStart) -> Finding:
    """A note where nobody asks for a resume: the run that is here did start as it was meant to."""
    asked = "is asked for" if start.is_asked else "can be asked for"
    return Finding(
        start.site.where,
        f"resume_from_checkpoint {asked}, and train() is not told of it: the run starts anew",
        evidence={"option": "resume_from_checkpoint", "started_by": start.site.text},
        strength=1.0 if start.is_asked else UNASKED,
        proof="the Trainer does not read this argument by itself, and nothing in the source does"
        if start.is_asked
        else "",
        severity=None if start.is_asked else Severity.NOTE,
        fix=_told(start.site),
    )


def _told(start: Site) -> Fix | None:
    """The trainer told what its own arguments hold: nothing, unless a resume is asked for."""
    node = start.node
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    trainer = node.func.value
    if not is_name_chain(trainer):
        return None
    told = f"{ast.unparse(trainer)}.args.resume_from_checkpoint"
    splice = with_keyword(start.source, node, "resume_from_checkpoint", told)
    return Fix("tell the trainer of the checkpoint", Level.SAFE, (splice,)) if splice else None
