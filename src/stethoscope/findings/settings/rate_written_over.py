"""The learning rate of the settings is replaced in every round by a number of the code.

## What it checks
Optimizers that are made with a learning rate from the settings or the command line, and loops that write
`group["lr"]` with every update: whether the rate that was asked for has a part in what they write.

## Why it matters
The optimizer's own rate is gone before its first step. Whatever the settings say, the run has the rate of
the code, and a search over learning rates compares runs that are all the same.

## When it is harmless
A schedule that multiplies the rate of the settings, or the one that the group began with. Another rate of
the settings (a peak, a lowest). A number that a condition lets in, as at a milestone. Where part of what is
written cannot be followed, nothing is said.

## References
- setting-overwritten is a setting that is replaced before anything reads it.
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.loop.replaced_rates import replaced_rates
from stethoscope.run import Where
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="SET186", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report each rate that the loop writes without the one that was asked for."""
    told: set[Where] = set()
    for loop in loops:
        for found in replaced_rates(loop):
            if found.site.where in told:
                continue
            told.add(found.site.where)
            yield Finding(
                (found.site.where, found.optimizer.where),
                f"every round sets the rate to {found.site.text}, in which {found.setting} ({found.asked:g}) "
                "has no part",
                evidence={"setting": found.setting, "asked": found.asked},
                proof="nothing that the written rate is computed from is a rate of the settings",
            )
