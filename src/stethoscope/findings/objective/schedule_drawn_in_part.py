"""Time steps are drawn from a part of the noise schedule only.

## What it checks
The bound of the `randint` that draws the time steps of a diffusion model, against the length of the schedule:
`num_train_timesteps` of a scheduler, or the table that a cumulative product is made of.

## Why it matters
Sampling begins at the last step of the schedule. A network that never saw it is asked for what it has not
learnt, and what it answers there decides the whole picture. The loss tells nothing of it: it is the mean
over the steps that are drawn.

## When it is harmless
Training on a window of steps by intention, as an expert for the last of them does, names both ends of it.
One step more or less is a matter of where the counting begins. Where a number is not written anywhere, or
there are schedules of several lengths, nothing is said.

## References
- Ho et al., Denoising Diffusion Probabilistic Models, 2020, algorithm 1
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.objective.drawn_steps import short_draws
from stethoscope.signals.sources import Sources

RULE = Rule(code="OBJ219", since="0.4", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each draw that leaves the end of the schedule out."""
    for one in short_draws(index(sources.program)):
        source, made = one.made
        yield Finding(
            (one.source.where(one.drawn), source.where(made)),
            f"time steps are drawn below {one.bound:g}, and the schedule has {one.length:g}",
            evidence={"bound": one.bound, "length": one.length},
        )
