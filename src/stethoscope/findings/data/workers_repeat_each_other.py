"""The workers of a loader draw the same random numbers, or go through the same stream.

## What it checks
Training loaders with several workers and nothing that tells them apart: whether the data set made a generator
of its own before they were begun and draws from it for its items, and whether it is a stream that each worker
goes through as a whole.

## Why it matters
Every worker begins with a copy of the generator as it was, and so does every epoch: augmentations come in the
same sequence again and again. A stream that nobody divides is seen once for each worker.

## When it is harmless
The numbers of torch, numpy and Python themselves are seeded for every worker by torch. A data set that asks
`get_worker_info`, a `worker_init_fn`, or a stream that draws at random tells the workers apart.

## References
- torch.utils.data, randomness in multi-process data loading
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.data.repeated_chance import repeated_stream, shared_streams
from stethoscope.signals.training_data import TrainingLoaders

RULE = Rule(code="DAT140", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(loaders: TrainingLoaders) -> Iterator[Finding]:
    """Report generators that workers share, and streams that each of them goes through."""
    for loader in loaders:
        for stream in shared_streams(loader):
            yield Finding(
                (stream.source.where(stream.made), stream.source.where(stream.drawn), loader.site.where),
                f"every worker begins with the same copy of `{stream.name}`, and so does every epoch",
                evidence={"generator": stream.name},
            )
        repeated = repeated_stream(loader)
        if repeated is not None:
            yield Finding(
                (loader.site.where, repeated.source.where(repeated.node)),
                f"each worker goes through all of {repeated.name}: every sample comes once per worker",
                evidence={"stream": repeated.name},
            )
