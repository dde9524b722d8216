"""The average of the weights is NaN for good, while the network itself has recovered.

## What it checks
Series that measure an average of the weights (`ema` in their name): whether they are not finite to the end of
the log, while the same quantity of the raw weights, or else the training loss, is finite again.

## Why it matters
An average that took in one NaN never loses it: decay times NaN is NaN. What is validated and kept is the
average, so that a run whose training survived gives a checkpoint of nothing.

## When it is harmless
Where the raw weights are not finite either, the average is not to blame. A score that is undefined now and
then comes back.

## References
- torch.lerp, on NaN
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series
from stethoscope.signals.every_series import EverySeries
from stethoscope.signals.loss import words

RULE = Rule(code="NUM141", since="0.2", severity=Severity.CRITICAL)

AVERAGES = frozenset({"ema", "swa", "averaged", "shadow"})
LEAST_BAD = 3  # evaluations in a row, the last one included


def examine(every: EverySeries) -> Iterator[Finding]:
    """Fire on averages that stay NaN beside raw weights that do not."""
    averages = {name: one for name, one in every.series.items() if words(one.logged_as) & AVERAGES}
    if not averages:
        raise InsufficientData("no score of an average of the weights was logged")
    for name, series in averages.items():
        begins = _bad_to_the_end(series)
        raw = _raw(name, every, averages) if begins is not None else None
        if begins is None or raw is None:
            continue
        first = int(series.steps[begins])
        yield Finding(
            (series.where(first, int(series.steps[-1])), raw.where(first, int(raw.steps[-1]))),
            f"{series.logged_as} is not finite from step {first} on, and {raw.logged_as} is",
            evidence={"series": name, "raw": raw.name},
            onset=first,
            proof="an average that holds a NaN keeps it, whatever the weights do",
        )


def _bad_to_the_end(series: Series) -> int | None:
    """The place from which on no value is finite, where there are a few such and some before were finite."""
    good = np.flatnonzero(np.isfinite(series.values))
    if len(good) == 0 or len(series) - int(good[-1]) - 1 < LEAST_BAD:
        return None
    return int(good[-1]) + 1


def _raw(name: str, every: EverySeries, averages: dict[str, Series]) -> Series | None:
    """What the raw weights score, or the training loss, where it is finite at the end."""
    wanted = words(averages[name].logged_as) - AVERAGES
    others = (one for other, one in every.series.items() if other not in averages)
    twins = [one for one in others if words(one.logged_as) == wanted]
    for one in (*twins, every.series.get("loss")):
        if one is not None and len(one) >= LEAST_BAD and np.isfinite(one.values[-LEAST_BAD:]).all():
            return one
    return None
