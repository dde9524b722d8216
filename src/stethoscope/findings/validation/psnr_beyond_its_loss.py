"""A signal-to-noise ratio says more than the losses of the same run allow.

## What it checks
The peak signal-to-noise ratio on held-out data at the end of the run, where it is above what eight bits can
tell apart, beside the losses that are logged. A ratio of 60 dB means errors of a thousandth of the range; the
losses of training must be as small as that.

## Why it matters
Somewhere in the metric the peak and the pictures are on two scales: a peak of 255 for pictures between 0
and 1 adds 48 dB to every score. The curve still rises and falls with the truth, so that checkpoints are
compared rightly, and everything else about the number is wrong.

## When it is harmless
Signals that are fitted one by one, in single precision, can be right to a thousandth; then the loss says so
as well, and nothing is reported.

## References
- 20 log10(255 / 0.289), what rounding to eight bits alone costs, is 58.9 dB.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, Rule, Severity
from stethoscope.signals.loss import TrainLoss, words
from stethoscope.signals.validation import Validation

RULE = Rule(code="VAL340", since="0.5", severity=Severity.WARNING)

EIGHT_BITS_DB = 60.0  # rounding to eight bits leaves less
LAST = 3  # values that stand for the end
TIMES = 5.0  # what the loss may be above the error that the ratio tells: the two are of other samples


def examine(validation: Validation, loss: TrainLoss) -> Iterator[Finding]:
    """Fire on the first ratio that no loss of the run comes near to."""
    losses = [series.finite().values[-LAST:] for series in (loss.series, *loss.terms.values())]
    smallest = min((float(np.abs(values).min()) for values in losses if len(values)), default=0.0)
    for name, metric in validation.metrics.items():
        values = metric.series.finite().values[-LAST:]
        if "psnr" not in words(name) or not len(values) or float(np.median(values)) < EIGHT_BITS_DB:
            continue
        told = float(10.0 ** (-np.median(values) / 20.0))  # root of the mean square, of the range
        if smallest > TIMES * told:
            yield Finding(
                (metric.series.where(), loss.series.where()),
                f"{name} ends at {float(np.median(values)):.4g} dB, errors of {told:.1g} of the range, "
                f"and no loss of the run is below {smallest:.2g}",
                {"metric": name, "decibels": float(np.median(values)), "smallest loss": smallest},
            )
            return
