"""Answers that are missing count in the loss as if they were known, or they alone do.

## What it checks
Loss functions that look for numbers that are missing (`isnan`, `nan_to_num`), computed on targets some of
which are: whether the loss moves with predictions that have no answer, and whether it moves with those that
have one.

## Why it matters
What was put in the place of a missing answer, mostly a zero, is learned as if somebody had measured it. With
many tasks and few measurements that is most of what is learned: every score leans towards "no". A mask that
is turned round learns from nothing else.

## When it is harmless
Where what is missing means zero (no purchase, no rain), it is filled before the loss, and nothing here looks
for it.

## References
- Wu et al., MoleculeNet: A Benchmark for Molecular Machine Learning, 2018
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.signals.tried_losses import TriedLosses

RULE = Rule(code="OBJ542", since="0.7", severity=Severity.WARNING, subject=Subject.SOURCE)

WHY = {
    "missing": "moves with predictions for which the answer is missing",
    "known": "does not move with predictions for which an answer is known",
}


def examine(losses: TriedLosses) -> Iterator[Finding]:
    """Report each loss that learns from what is missing."""
    for loss in losses.found:
        if loss.kind in WHY:
            text = " ".join(loss.site.text.split())[:80]
            yield Finding(
                (loss.site.where, loss.sink.where),
                f"`{text}` {WHY[loss.kind]}",
                evidence={"kind": loss.kind, "loss": text},
                proof="the loss was computed with single predictions changed, and some targets missing",
            )
