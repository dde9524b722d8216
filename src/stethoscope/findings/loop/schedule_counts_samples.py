"""A schedule is as long as the samples of a dataset, and is moved with every batch.

## What it checks
Schedulers that are stepped once a batch, by the loop or by Lightning: whether one of their lengths is made
of `len(dataset)`, undivided, where a `DataLoader` takes batches out of that dataset.

## Why it matters
There are as many steps as there are batches. A schedule that counts samples is as many times too long as a
batch has samples: a warm-up hardly ends, a cosine never comes down, and the run ends at the rate it should
have begun with.

## When it is harmless
Batches of one sample; a count that is divided by the size of a batch. A run that is meant to be cut off early
can be cut off at a step.

## References
- torch.optim.lr_scheduler.OneCycleLR, `total_steps`
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.loop.counted_samples import counted_samples
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="LOP360", since="0.7", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report each length that counts samples, once."""
    told: set[int] = set()
    for loop in loops:
        for one in counted_samples(loop):
            if id(one.count.node) in told:
                continue
            told.add(id(one.count.node))
            yield Finding(
                (one.count.where, one.loader.where),
                f"{one.schedule.kind} counts samples ({one.length.name}={one.length.text}) and is moved with "
                "every batch",
                evidence={"made": one.schedule.site.text, "counted": one.count.text},
            )
