"""The validation loss is a hundred times the training loss, and does not follow it.

## What it checks
Over the second half of at least eight evaluations: the middle validation loss is a hundred times that of
training or more, and its values differ among themselves by a factor of five or more, while the training
loss has fallen. Or: it is ten times the training loss from the first evaluation on and stays within a fifth
of that value, and no other metric improves either.

## Why it matters
The network that is evaluated is not the one that was trained, or it is given something else: running
statistics of tiny batches, inputs in another range, weights that were not restored. A model that merely
learnt its data by heart is worse by a factor of two or ten, and steadily so.

## When it is harmless
A loss that is summed over the set instead of averaged is larger by the same factor every time: it falls as
training does, and is not reported. A loss with another scale or other terms may be larger, but follows the
training.

## References
- Running statistics of batch normalisation are used in evaluation only
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Values
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.validation import Validation

RULE = Rule(code="VAL151", since="0.2", severity=Severity.WARNING)

LEAST_POINTS = 8
LEAST_EVALUATIONS = 4
TIMES = 100.0  # the training loss
JUMPS = 5.0  # between the low and the high tenth of the evaluations
FALLEN = 0.8  # of its first level, to which the training loss must have come down
APART = 10.0  # times the training loss, of one that stays where it is
STAYS = 0.2  # of its middle value: what such a loss may stray


def examine(validation: Validation, loss: TrainLoss) -> Iterator[Finding]:
    """Fire where the validation loss lives in a range of its own and does not follow the training."""
    metric, trained = validation.metrics.get("val/loss"), loss.series.finite().values
    if metric is None or len(metric.series) < LEAST_EVALUATIONS or len(trained) < LEAST_POINTS:
        raise InsufficientData(f"fewer than {LEAST_EVALUATIONS} losses of validation were logged")
    held_out = metric.series.values
    if not loss.measures_progress or held_out.min() <= 0.0 or trained.min() <= 0.0 or not _falls(trained):
        return
    ratio = float(np.median(_second_half(held_out)) / np.median(_second_half(trained)))
    stays = _stays_apart(held_out, trained) and _nothing_improves(validation)
    if not stays and not (ratio >= TIMES and _jumps(held_out)):
        return
    low, high = np.percentile(_second_half(held_out), [10, 90])
    how = f"stays around {np.median(held_out):.3g}" if stays else f"jumps between {low:.3g} and {high:.3g}"
    yield Finding(
        (metric.series.where(), loss.series.where()),
        f"val/loss is {ratio:,.0f} times the training loss and {how}, while training goes well",
        {"ratio": ratio, "low": float(low), "high": float(high), "stays": stays},
    )


def _falls(trained: Values) -> bool:
    quarter = max(1, len(trained) // 4)
    return bool(np.median(trained[-quarter:]) < FALLEN * np.median(trained[:quarter]))


def _jumps(held_out: Values) -> bool:
    low, high = np.percentile(_second_half(held_out), [10, 90])
    return len(held_out) >= LEAST_POINTS and bool(high >= JUMPS * low)


def _stays_apart(held_out: Values, trained: Values) -> bool:
    """Whether the validation loss was far above every training loss at first, and stays there."""
    middle = float(np.median(held_out))
    return float(held_out.min()) > APART * float(np.median(trained[:3])) and bool(
        np.all(np.abs(held_out - middle) <= STAYS * middle)
    )


def _nothing_improves(validation: Validation) -> bool:
    """Whether some other metric was logged, and none is better at the end than at first.

    A loss with a large constant in it, as a likelihood may have, hardly moves while its metrics improve.
    """
    others = [metric for name, metric in validation.judged.items() if name != "val/loss"]
    return bool(others) and not any(one.improves_since(int(one.series.steps[0])) for one in others)


def _second_half(values: Values) -> Values:
    return values[len(values) // 2 :]
