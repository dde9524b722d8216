"""The whole run takes little off the loss.

## What it checks
A training loss from random weights (in a game, its largest term that is none of the game): whether its level
at the end is above three fifths of its level at first. It says whether the little it falls is lost at once,
or gradually to the end.

## Why it matters
A network that learns leaves its first loss far behind. Where it does not, the steps are too small or too
large, something takes most of each away, or the task gets harder as fast as it is learned.

## When it is harmless
A loss with a high floor: noise that cannot be predicted, text, a contrast of a few samples, terms that stay.
A run that was stopped early, a curriculum. So this is only a note, which names where to look first.

## References
- Google's deep learning tuning playbook: the learning rate is the first thing to tune
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.levels import levels
from stethoscope.detectors.robust_stats import noise_sd
from stethoscope.findings._usual_rate import rate_evidence
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Values
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.starting_point import StartingPoint

RULE = Rule(code="LOS333", since="0.6", severity=Severity.NOTE)

LEAST_POINTS = 8
LEAPS = 1.15  # times the very first loss
FEW = 4  # values
LITTLE = 0.6  # of the first level
RISES = 1.3  # times the first level: such a loss rises
AT_ONCE = (0.5, 0.75)  # of the fall, or more, is behind a tenth and a quarter of the log
GRADUAL = 0.35  # of the fall, or less, is behind a tenth of the log
CALM = 0.06  # of the fall: the noise of a loss in which steps of any size go down


def examine(loss: TrainLoss, start: StartingPoint, rates: LearningRate | None) -> Iterator[Finding]:
    """Note a loss that ends not far below its first level."""
    if loss.progress is None or not start.from_scratch:
        return
    series = loss.progress.finite()
    if len(series) < LEAST_POINTS:
        raise InsufficientData(f"only {len(series)} losses were logged")
    level = levels(series.values)
    first, last = float(level[0]), float(level[-1])
    if first > 0.0 and LITTLE * first < last < RISES * first and float(level.min()) > LITTLE * LITTLE * first:
        yield Finding(
            series.where(),
            f"{series.name} begins at {first:.4g} and ends at {last:.4g}",
            {
                "first": first,
                "last": last,
                "leaps_at_first": _leaps_at_first(series.values),
                **_how_it_falls(series.values, level),
                **rate_evidence(rates),
            },
        )


def _how_it_falls(values: Values, level: Values) -> dict[str, object]:
    """Whether the first steps take all that the run takes, or every part of it its share."""
    fall, last = float(level[0] - level[-1]), len(level) - 1
    if fall <= 0.0:
        return {}
    tenth, quarter = (float(level[0] - level[part * last // 100]) / fall for part in (10, 25))
    return {
        "at_once": tenth >= AT_ONCE[0] and quarter >= AT_ONCE[1],
        "gradual": 0.0 < tenth <= GRADUAL and noise_sd(values) <= CALM * fall,
    }


def _leaps_at_first(values: Values) -> bool:
    """Whether early losses stand above the very first, as after steps that are too large."""
    early = values[1 : max(FEW, len(values) // 4)]
    return int(np.count_nonzero(early > LEAPS * float(values[0]))) >= 2
