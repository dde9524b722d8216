"""The source raises the learning rate in the middle of the run, above everything before it.

## What it checks
A `StepLR` or `MultiStepLR` whose gamma is above one, so that every milestone raises the rate. The base rates
of a scheduler that are multiplied once training is under way. A `LambdaLR` whose function, or a rate that the
loop computes for its groups, tried on the rounds of the loop with the settings that are there, leaves its
highest share so far behind by a factor of two from one round to the next, above the rate that was asked for
and after the first tenth of the run. A number that is written over a rate in the middle of the run and is
more than twice as high.

## Why it matters
A network that has settled at a rate is thrown out of its minimum by one several times as high. What it
learnt is lost at that step, and often the run.

## When it is harmless
Warm-up, one-cycle and restarts go up, but not beyond the rate that was asked for, and step by step. A first
rate that is raised once at the start of the run is a warm-up too. A rate that grows with every round
(`ExponentialLR` above one) is how one looks for the highest that works. Where the function cannot be computed
from the source and the settings nothing is said.

## References
- torch.optim.lr_scheduler.MultiStepLR
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.loop.raised_rates import raised_rates
from stethoscope.run import Where
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="LOP172", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report each rise of the rate that the source decides on."""
    told: set[Where] = set()
    for loop in loops:
        for raised in raised_rates(loop):
            if raised.site.where in told:
                continue
            told.add(raised.site.where)
            at = f" in round {raised.round}" if raised.round is not None else ""
            yield Finding(
                where=raised.site.where,
                message=f"the rate is raised {raised.times:.3g} times{at}, above all that came before: "
                f"{raised.shown}",
                evidence={"times": raised.times, "round": raised.round or 0},
            )
