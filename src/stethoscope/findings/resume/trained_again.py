"""A restart trained steps again, and their losses came out otherwise.

## What it checks
The training loss at steps that were logged before a restart and once more after it: whether the noise of
single batches is shared (the same data in the same order), or only the level. Where the same numbers came
out, nothing was lost, and nothing is said.

## Why it matters
It is a free experiment. The same noise around another level says that the data were restored, and something
else was not. Other noise says that the order of the data began anew: samples are seen twice or not at all in
that epoch.

## When it is harmless
Mostly: many trainers draw a new order after a restart, and on large data that is no loss. It is said so that
nobody has to guess.

## References
- torch.utils.data.DataLoader, `generator`; torchdata's StatefulDataLoader
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from stethoscope.detectors.replay import LEAST_POINTS, Replay, replay
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.signals.trained_twice import TrainedTwice

RULE = Rule(code="RES160", since="0.2", severity=Severity.NOTE)


def examine(branches: TrainedTwice) -> Iterator[Finding]:
    """Note what each restart kept."""
    kept = branches.kept
    compared = False
    for left in branches.abandoned:
        found = replay((left.steps, left.values), (kept.steps, kept.values))
        if found is None:
            continue
        compared = True
        if found.is_exact:
            continue
        first, last = int(left.steps[0]), int(left.steps[-1])
        yield Finding(
            kept.where(first, last),
            f"steps {first:,} to {last:,} were trained twice: {_told(found)}",
            {
                "series": kept.name,
                "points": found.points,
                "equal": found.equal,
                "correlation": found.correlation,
                "p": found.p,
                "ratio": math.exp(found.shift),
                "keeps_the_order": found.keeps_the_order,
            },
            onset=first,
        )
    if not compared:
        raise InsufficientData(f"fewer than {LEAST_POINTS} losses are known twice")


def _told(found: Replay) -> str:
    changed = math.expm1(found.shift)
    if found.keeps_the_order:
        return f"by the same batches in the same order, with losses {changed:+.1%} as high"
    return (
        f"the noise of their losses is not shared, so the order of the data is another; level {changed:+.1%}"
    )
