"""A score is counted on one process's share of the held-out data, and taken for that of all.

## What it checks
Loops over loaders of held-out data that a `DistributedSampler` deals out: whether what they count is brought
together, in the loop's function, in what it calls or in what calls it (`all_reduce`, `gather`, a metric that
synchronises).

## Why it matters
With eight processes the logged score is that of an eighth of the data, another eighth on every process. It
is noisier than it looks, and each process chooses its best checkpoint or stops by a number of its own.

## When it is harmless
Metrics of torchmetrics and of frameworks bring their counts together by themselves. Answers that every
process writes to a file of its own are joined later. Nothing is said of either, nor of data that every
process sees whole.

## References
- torch.distributed.all_reduce
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.ranks.unreduced_scores import unreduced_scores
from stethoscope.signals.sources import Sources

RULE = Rule(code="RNK228", since="0.4", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(sources: Sources) -> Iterator[Finding]:
    """Report each count that stays with its process."""
    for one in unreduced_scores(index(sources.program)):
        yield Finding(
            (one.counted.where, one.loop.where, one.sampler.where),
            "this is counted on the share of one process, and nothing adds up the shares of the others",
            evidence={"counted": one.counted.text, "sampler": one.sampler.text},
        )
