"""Validation gets worse while the training task is made harder.

## What it checks
Where a difficulty is logged that rises over the run: whether a validation metric was better before the task
got hard than it is once the difficulty has come to its end, by more than its noise.

## Why it matters
A curriculum raises the training loss and that means nothing. But an evaluation at fixed difficulty has to
improve. Where it falls as the task gets harder, the network is forgetting the easy part faster than it
learns the hard one.

## When it is harmless
An evaluation that follows the curriculum gets harder as well, and is no yardstick; there is a rule for
that. A dip that is made up for by the end is the curriculum at work. Overfitting may set in at the same
time.

## References
- Bengio et al., Curriculum Learning, 2009
- Wu et al., When Do Curricula Work?, 2021
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.robust_stats import noise_sd
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series
from stethoscope.signals.curriculum import Curriculum
from stethoscope.signals.validation import Metric, Validation

RULE = Rule(code="VAL130", since="0.3", severity=Severity.WARNING)

LEAST_POINTS = 10
RISES = 0.2  # of its largest value: a difficulty that moves less is none
HARD = 0.9  # of the way: from here on the task is as hard as it gets
AROUND = 3
NOISES = 4.0
WORSE = 0.03  # of the gain or of the level, whichever is larger


def examine(curriculum: Curriculum, validation: Validation) -> Iterator[Finding]:
    """Fire where the best evaluations lie on the way up and the last ones are clearly worse."""
    difficulty = curriculum.difficulty
    if difficulty is None:
        raise InsufficientData("the difficulty was not logged", 'log({"difficulty": difficulty})')
    span = _rise(difficulty)
    if span is None:
        return
    for name, metric in validation.judged.items():
        if len(metric.series) >= LEAST_POINTS:
            yield from _judged(name, metric, difficulty, span)


def _rise(difficulty: Series) -> tuple[int, int] | None:
    """From which step the difficulty rises, and from which it is nearly at its height."""
    low, high = float(difficulty.values[0]), float(difficulty.values.max())
    if high - low < RISES * abs(high) or float(difficulty.values[-1]) < low + HARD * (high - low):
        return None
    part = (difficulty.values - low) / (high - low)
    return int(difficulty.steps[int(np.argmax(part > 0.05))]), int(
        difficulty.steps[int(np.argmax(part >= HARD))]
    )


def _judged(name: str, metric: Metric, difficulty: Series, span: tuple[int, int]) -> Iterator[Finding]:
    values, steps = metric.sign * metric.series.values, metric.series.steps
    on_the_way = (steps <= span[1]) & (steps >= steps[0])
    if np.count_nonzero(on_the_way) < AROUND or np.count_nonzero(~on_the_way) < AROUND:
        return
    smooth = np.array([float(np.median(values[max(0, i - 1) : i + 2])) for i in range(len(values))])
    best = int(np.argmax(np.where(on_the_way, smooth, -np.inf)))
    last = float(np.median(values[-AROUND:]))
    lost = float(smooth[best]) - last
    least = max(
        NOISES * noise_sd(values), WORSE * max(abs(float(smooth[best] - smooth[0])), abs(float(smooth[best])))
    )
    after = smooth[steps > span[1]]
    if lost > least and float(after.max()) < float(smooth[best]) - 0.5 * lost:
        at = int(steps[best])
        yield Finding(
            (metric.series.where(at, int(steps[-1])), difficulty.where(*span)),
            f"{name} was {metric.sign * float(smooth[best]):.4g} at step {at:,}, as the task got harder, and "
            f"is {metric.sign * last:.4g} at the end, with {difficulty.name} at its height since step "
            f"{span[1]:,}",
            evidence={"metric": name, "best": float(smooth[best]), "lost": lost},
            onset=at,
        )
