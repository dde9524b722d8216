"""A resumed run counts its steps or epochs from the start, and its rate follows the count.

## What it checks
Programs that restore weights from a checkpoint and compute the learning rate from the count of the
training loop, or tell it to a schedule: whether the loop begins at its start again while the checkpoint holds
the count and nothing reads it.

## Why it matters
The warm-up and the whole decay come again over weights that had been through them. The loss jumps back to
where a high rate holds it, and the run ends later than it was planned to.

## When it is harmless
A fine-tuning is meant to begin anew: a checkpoint of this training that nothing but a resume loads is not. A
program that reads the count in any way, or whose rate does not follow it, is left alone.

## References
- torch.optim.lr_scheduler.LRScheduler, last_epoch
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.program.loop.roles import Role
from stethoscope.program.resume.counts_begun_anew import counts_begun_anew
from stethoscope.signals.resumes import Resumes

RULE = Rule(code="RES860", since="0.4", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(resumes: Resumes) -> Iterator[Finding]:
    """Report each count that stays in the checkpoint."""
    if not resumes.resumptions:
        raise InsufficientData("no resume of a training was found in the source")
    for resumption in resumes.resumptions:
        # Without the state of the optimizer it is rather the start of another training.
        if not resumption.restores(Role.OPTIMIZER):
            continue
        for one in counts_begun_anew(resumes.index, resumption):
            yield Finding(
                (one.loop.where, one.rate.where, one.saved.where),
                f"the checkpoint keeps {one.key!r} and nothing reads it: after a resume the count begins "
                f"anew, and `{one.rate.text}` with it",
                evidence={"key": one.key, "rate": one.rate.text},
            )
