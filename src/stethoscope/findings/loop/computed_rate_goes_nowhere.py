"""A rate is computed with every round, and no optimizer ever gets it.

## What it checks
Training loops that compute a learning rate from the number of the round: whether anything but messages, log
files and records reads it. The rule fires where nothing in the program writes the rate of a parameter group
and no scheduler is moved, so that the optimizer keeps the rate that it was made with. Also a rate that is
written into the optimizer beside its groups: `optimizer.lr = lr`, or `optimizer.defaults["lr"] = lr`.

## Why it matters
The log shows a warm-up and a decay, and the run has neither. Settings of the schedule change nothing but the
curve that is drawn, and the rate looks innocent whatever the loss does.

## When it is harmless
A rate that is multiplied into an update by hand, handed to a function, or set on a group anywhere is in use.
A rate that is asked of the optimizer or of a scheduler for the log is the one in effect.

## References
- torch.optim.Optimizer, `param_groups`
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.loop.unset_rates import unread_rates, unset_rates
from stethoscope.run import Where
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="LOP985", since="0.9", severity=Severity.WARNING, subject=Subject.SOURCE)

TOLD = "is computed with every round and only told: no optimizer gets it"
NO_WRITER = "nothing in the program writes the rate of a parameter group or moves a scheduler"
UNREAD = "is written with every round, and the step reads the rate of its groups"
GROUPS = "the optimizers of torch read param_groups in each step, and nothing else"


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report each rate that the loop computes for its log only, or writes where no step reads it."""
    told: set[Where] = set()
    for loop in loops:
        for rates, said, proof in (
            (unset_rates(loop), TOLD, NO_WRITER),
            (unread_rates(loop), UNREAD, GROUPS),
        ):
            for found in rates:
                if found.site.where in told:
                    continue
                told.add(found.site.where)
                yield Finding(
                    (found.site.where, found.optimizer.where),
                    f"`{found.name}` {said}",
                    evidence={"rate": found.site.text, "optimizer": found.optimizer.text},
                    proof=proof,
                )
