"""The training loss swings with a period.

## What it checks
The periodogram of the detrended loss against that of noise with the same memory. A swing is reported when
it stands out, at least four periods are seen, and half its height exceeds a quarter of the loss's level.
The period is compared with that of the learning rate and with the length of an epoch. Where the length of an
epoch is known and no period stands out by itself, the loss is folded by epochs: whether every one of them
repeats one shape.

## Why it matters
A large regular swing means that the loss depends on where in the data, or in a cycle of some controller,
the run is: unshuffled data, a rate at the edge of stability, weights that chase each other.

## When it is harmless
A cyclic learning rate makes the loss swing with it. A period shorter than an epoch is the order of the
samples (batches grouped by length, for one). Small steps at the start of every epoch are the
memory of the data seen before, and so is a staircase that goes down by a step in every epoch. The losses of
adversaries swing by nature.

## References
- Vaughan, "A simple test for periodic signals in red noise", 2005
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.periodicity import LEAST_POINTS, Swing, swing
from stethoscope.detectors.phase_folding import fold
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series, Steps, Values
from stethoscope.signals.epochs import Epochs
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.validation import Validation

RULE = Rule(code="LOS104", since="0.1", severity=Severity.WARNING)

LARGE = 0.25  # half the height of the swing, relative to the level
DOMINANT = 0.25  # share of the detrended variance; below it the swing drowns in other movements
RATE_CYCLE = "learning-rate cycle"
WITHIN_EPOCH = "order within the epoch"
RARE = 0.002  # chance of a shape that epochs repeat without one
STAIRCASE = 2.0  # times what the level moves within an epoch; a step of a staircase is half of that high
SAME = 0.15  # relative difference at which two periods are the same


def examine(
    loss: TrainLoss, rates: LearningRate | None, epochs: Epochs | None, validation: Validation | None
) -> Iterator[Finding]:
    """Fire on a large swing that the learning rate does not explain."""
    series = loss.series.finite()
    if len(series) < LEAST_POINTS:
        raise InsufficientData(f"{len(series)} values of the loss are too few to see a period")
    if not loss.measures_progress:
        return
    late = series.select(slice(len(series) // 10, None))  # the first fall is no swing
    positive = bool(np.all(late.values > 0.0))
    values = np.log(late.values) if positive else late.values
    seen = swing(late.steps, values)
    if (seen is None or seen.share < DOMINANT) and epochs is not None:
        seen = _by_epochs(late.steps, values, epochs.steps_per_epoch)
    if seen is None or seen.share < DOMINANT:
        return
    # In the logarithm an amplitude is a factor, which holds along a curve that falls by orders of magnitude.
    level = abs(float(np.median(late.values)))
    relative = math.expm1(min(seen.amplitude, 50.0)) if positive else seen.amplitude / max(level, 1e-300)
    if relative < LARGE:
        return
    yield _finding(seen, relative, late, _match(seen.period, _known_periods(rates, epochs, validation)))


def _by_epochs(steps: Steps, values: Values, epoch: float) -> Swing | None:
    """The shape that every epoch repeats, unless it is a step of a staircase."""
    folded = fold(steps, values, epoch)
    if folded is None or folded.p > RARE or folded.amplitude < STAIRCASE * folded.drift:
        return None
    surprise = -math.log(folded.p)
    return Swing(epoch, folded.periods, folded.amplitude, folded.share, surprise, -math.log(RARE))


def _match(period: float, known: dict[str, float]) -> str:
    """What else in this run has the same period."""
    for name, other in known.items():
        if abs(period / other - 1.0) < SAME:
            return name
    epoch = known.get("epoch", 0.0)
    # Data in a fixed order can repeat a shape two or three times in each epoch.
    if any(abs(parts * period / epoch - 1.0) < SAME / parts for parts in (2, 3) if epoch):
        return "epoch"
    return WITHIN_EPOCH if period < epoch else ""


def _known_periods(
    rates: LearningRate | None, epochs: Epochs | None, validation: Validation | None
) -> dict[str, float]:
    known: dict[str, float] = {}
    if rates is not None:
        cycle = swing(rates.main.finite().steps, rates.main.finite().values)
        if cycle is not None:
            known[RATE_CYCLE] = cycle.period
    if epochs is not None:
        known["epoch"] = epochs.steps_per_epoch
    if validation is not None:
        cadences = [metric.series.cadence() for metric in validation.metrics.values()]
        known["validation interval"] = float(max(cadences, default=0))
    return {name: period for name, period in known.items() if np.isfinite(period) and period > 0.0}


def _finding(seen: Swing, relative: float, series: Series, match: str) -> Finding:
    message = f"{series.name} swings by {min(relative, 99.0):.0%} of its level every {seen.period:,.0f} steps"
    message += f", in time with the {match}" if match else ""
    return Finding(
        series.where(),
        message,
        {
            "series": series.name,
            "period": round(seen.period, 1),
            "periods": round(seen.periods, 1),
            "amplitude": min(relative, 1e9),
            "share_of_variance": round(seen.share, 3),
            "matches": match,
        },
        strength=min(1.0, seen.ratio / (4.0 * seen.bar)),
        onset=int(series.steps[0]),
        severity=Severity.NOTE if match in (RATE_CYCLE, WITHIN_EPOCH) else Severity.WARNING,
    )
