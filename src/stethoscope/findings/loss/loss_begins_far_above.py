"""The first losses are far above all later ones.

## What it checks
A training loss from random weights (in a game, its largest term that is none of the game): whether the first
logged value is thirty times the level after a quarter of the log, or more.

## Why it matters
An untrained network should answer with something near the mean. One whose first answers are off by orders of
magnitude spends its first steps on shrinking its weights, and the moments of the optimiser remember them.

## When it is harmless
Targets in large units begin far above where they end, and an easy task is learned fast. So this is only a
note. For answers among known classes, first-loss-above-chance judges the first loss itself.

## References
- Karpathy, "A Recipe for Training Neural Networks", 2019: verify the loss at init
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.detectors.levels import levels
from stethoscope.findings._usual_rate import rate_evidence
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.starting_point import StartingPoint

RULE = Rule(code="LOS334", since="0.6", severity=Severity.NOTE)

LEAST_POINTS = 12
FAR = 30.0  # times the level after a quarter of the log


def examine(loss: TrainLoss, start: StartingPoint, rates: LearningRate | None) -> Iterator[Finding]:
    """Note a loss that comes down from far above."""
    if loss.progress is None or not start.from_scratch:
        return
    series = loss.progress.finite()
    if len(series) < LEAST_POINTS:
        raise InsufficientData(f"only {len(series)} losses were logged")
    first, later = float(series.values[0]), float(levels(series.values)[len(series) // 4])
    if later > 0.0 and first >= FAR * later:
        yield Finding(
            series.where(int(series.steps[0]), int(series.steps[len(series) // 4])),
            f"{series.name} begins at {first:.4g} and is {later:.4g} after a quarter of the log",
            {"first": first, "later": later, **rate_evidence(rates)},
            onset=int(series.steps[0]),
        )
