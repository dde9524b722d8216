"""The share of a schedule is multiplied into a rate that has it already, so it acts again and again.

## What it checks
In every training loop: a rate that each round multiplies by a share of the course (`group["lr"] *=
factor(step)`), where nothing in the round gives it its full value first; the same beside a scheduler that
computes its own share with the same function, or whose `get_last_lr()` is what is multiplied in. Also
`MultiplicativeLR` with a function that divides the round by a length: it wants the factor from one round to
the next, and gets the share of the first rate, which is what `LambdaLR` wants.

## Why it matters
The shares multiply. A warm-up that should reach the rate within a hundred steps leaves nothing of it, a
cosine is spent within a few dozen: training stands still, and the settings look right.

## When it is harmless
A factor that is the same in every round (`*= 0.999`), or that a condition lets in now and then, as at a
milestone. A rate that the round first sets from the one that was asked for. The ratio of two shares,
`factor(step) / factor(step - 1)`. Factors of layers, which do not depend on the round.

## References
- torch.optim.lr_scheduler.MultiplicativeLR
- torch.optim.lr_scheduler.LambdaLR
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.loop.compounded_rates import compounded_rates
from stethoscope.run import Where
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="LOP171", since="0.2", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report each place where a share is multiplied into a rate that has one."""
    told: set[Where] = set()
    for loop in loops:
        for found in compounded_rates(loop):
            if found.site.where in told:
                continue
            told.add(found.site.where)
            beside = (
                f"on top of the share that {found.schedule.text} gives it"
                if found.schedule is not None
                else "on top of all the shares before"
            )
            yield Finding(
                where=(found.site.where, *([found.schedule.where] if found.schedule is not None else [])),
                message=f"each round multiplies the rate by {found.factor}, {beside}",
                evidence={"factor": found.factor},
                proof="nothing in the round sets the rate to its full value before the share is taken",
            )
