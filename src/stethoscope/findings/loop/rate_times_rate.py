"""A schedule multiplies the rate of learning with a rate of learning.

## What it checks
`LambdaLR` schedules, tried over all rounds of the run: whether the function gives a share of the rate, which
is near one at its highest, or a rate itself, a few hundredths at the most, while the optimizer is made with
such a rate as well.

## Why it matters
LambdaLR multiplies both. A rate of 3e-4 times a rate of 3e-4 is 9e-8: the loss hardly moves, and nothing
says why, because the schedule looks right when it is drawn.

## When it is harmless
A function may well give the rate itself where the optimizer's rate is 1. Where the optimizer's rate or the
length of the run cannot be computed, nothing is said.

## References
- `torch.optim.lr_scheduler.LambdaLR`: the initial rate times a given function
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.loop.shares_as_rates import shares_as_rates
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="LOP550", since="0.9", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report each schedule that gives rates in place of shares."""
    seen = set()
    for loop in loops:
        for one in shares_as_rates(loop):
            if one.site.where in seen:
                continue
            seen.add(one.site.where)
            yield Finding(
                one.site.where,
                f"the schedule gives {one.most:.2g} at the most, multiplied with the optimizer's rate "
                f"of {one.rate:.2g}: training goes on with {one.most * one.rate:.1g}",
                evidence={"most": one.most, "rate": one.rate},
                proof="the function was computed over all rounds of the run",
            )
