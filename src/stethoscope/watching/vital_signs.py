"""The few curves a person looks at while a run trains: where each stands, and which way it goes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from stethoscope.detectors.trend import LEAST_POINTS, trend
from stethoscope.run import Run, Series, Values
from stethoscope.run.names import better

MOST_VALIDATIONS = 2
MOST_OTHERS = 3  # of a run that logs none of the usual names
RECENT = 4  # the trend is that of the last quarter
SURE = 0.01  # chance of so steep a trend without any
DRAWN = 240  # points of a curve that are kept to draw it; no terminal has more columns to spare

SET = frozenset({"lr", "loss_scale"})  # what was set has no noise to be told from: any change is a trend
USUAL = ("lr", "grad_norm", "loss_scale", "skipped")


@dataclass(frozen=True, slots=True, eq=False)
class VitalSign:
    """A signal: its last value, its trend in a word, and its curve in few enough points to draw often.

    `good` says whether the trend is for the better; None where that is not known or it has none.
    """

    name: str
    last: float
    last_step: int
    points: int
    trend: str
    good: bool | None
    curve: Series


def vital_signs(run: Run) -> tuple[VitalSign, ...]:
    """The signals worth a line, in the order in which people look at them."""
    return tuple(_sign(series) for series in _chosen(run) if len(series))


def _chosen(run: Run) -> Iterator[Series]:
    losses = [series for name, series in run.series.items() if name == "loss" or name.startswith("loss/")]
    validations = [s for name, s in run.series.items() if name.startswith("val/") and better(name)]
    chosen = [
        *sorted(losses, key=lambda series: (series.name != "loss", -len(series)))[:1],
        *sorted(validations, key=lambda series: (-len(series), series.name))[:MOST_VALIDATIONS],
        *(run.series[name] for name in USUAL if name in run.series),
    ]
    yield from chosen
    if not losses and not validations:
        others = [series for series in run.series.values() if series not in chosen]
        yield from sorted(others, key=lambda series: (-len(series), series.name))[:MOST_OTHERS]


def _sign(series: Series) -> VitalSign:
    word, good = _trend(series)
    last = float(series.values[-1])
    return VitalSign(series.name, last, int(series.steps[-1]), len(series), word, good, _thinned(series))


def _trend(series: Series) -> tuple[str, bool | None]:
    if not np.isfinite(series.values[-1]):
        return "not finite", False
    recent = series.select(slice(-max(LEAST_POINTS, len(series) // RECENT), None)).finite()
    if len(recent) and np.all(recent.values == recent.values[0]):
        return "constant", None
    if series.name in SET and len(recent) > 1:
        return ("rising" if recent.values[-1] > recent.values[0] else "falling"), None
    with np.errstate(all="ignore"):
        found = trend(recent.steps, recent.values)
    if found is None:
        return "", None
    rising, falling = found.p_rising < SURE, found.p_falling < SURE
    direction = better(series.name)
    if rising:
        return "rising", None if direction is None else direction == "higher"
    if falling:
        return "falling", None if direction is None else direction == "lower"
    return "steady", None


def _thinned(series: Series) -> Series:
    """The medians of as many stretches as can be drawn."""
    if len(series) <= DRAWN:
        return series
    parts = np.array_split(series.values, DRAWN)
    steps = np.array([part[-1] for part in np.array_split(series.steps, DRAWN)], dtype=np.int64)
    return replace(series, steps=steps, values=np.array([_median(part) for part in parts]))


def _median(part: Values) -> float:
    finite = part[np.isfinite(part)]
    return float(np.median(finite / 2) * 2) if len(finite) else np.nan  # halved: two may sum to infinity
