"""Whether a series did what a document says it did."""

from __future__ import annotations

import re

import numpy as np

from stethoscope.review.claim import Change, Claim, Fact, Judgement, Kind, Observation, Ruling
from stethoscope.review.values import number_of
from stethoscope.run import Run, Series
from stethoscope.run.names import HIGHER, better, canonical

RELATIVE = 0.02  # people round, and read values off a curve
NEAR = 1.5  # cadences around a step within which a value counts as logged there


def claim_of(one: Observation, run: Run | None, document: str) -> Claim:
    """The observation held to the run's series."""
    series = series_named(one.name, run) if run else None
    change = Change(Kind.SERIES, series.name if series else one.name, one.name, " to ".join(one.values))
    return Claim(document, one.text, (one.where,), change, _judged(one, series, run))


def series_named(name: str, run: Run) -> Series | None:
    """The series that a name in prose means: as logged, in its canonical form, or measured in validation."""
    wanted = name.strip().lower()
    for series in run.series.values():
        if wanted in {series.name.lower(), series.logged_as.lower()}:
            return series
    spoken = canonical(re.sub(r"\s+", "_", wanted))
    for candidate in (spoken, f"val/{spoken}", f"val/{wanted}", f"train/{spoken}"):
        if candidate in run.series:
            return run.series[candidate]
    return None


def _judged(one: Observation, series: Series | None, run: Run | None) -> Judgement:
    if run is None:
        return Judgement(Ruling.UNTESTED, "no run was given: --run says what the series did")
    if series is None:
        return Judgement(Ruling.UNTESTED, f"the run has no series called {one.name}")
    clean = series.finite()
    values = [number_of(text) for text in one.values]
    if len(clean) == 0 or any(value is None for value in values):
        return Judgement(Ruling.UNTESTED, f"{series.name} holds no number to compare with")
    numbers = [value for value in values if value is not None]
    if one.manner == "course":
        return _course(one, clean, numbers)
    if one.manner == "best":
        return _best(one, clean, numbers[0])
    step = one.steps[0] if one.steps else None
    if one.manner == "final" or step is None:
        return _compared(one.values[0], numbers[0], clean, len(clean) - 1)
    at = _nearest(clean, step)
    if at is not None and int(clean.steps[at]) == step:
        return _compared(one.values[0], numbers[0], clean, at, is_logged=True)
    if at is None:
        first, last = int(clean.steps[0]), int(clean.steps[-1])
        why = f"{series.name} was logged from {clean.axis} {first:,} to {last:,}, and not around {step:,}"
        return Judgement(Ruling.UNTESTED, why, (Fact(why, (clean.where(),)),))
    return _compared(one.values[0], numbers[0], clean, at)


def _compared(written: str, value: float, series: Series, at: int, is_logged: bool = False) -> Judgement:
    found, step = float(series.values[at]), int(series.steps[at])
    around = series.values[max(0, at - 1) : at + 2]  # a noisy series is read off between its points
    if is_logged:
        around = (around + found) / 2  # and nearer to the point that is named than to the next
    fits = agrees(written, value, found) or float(around.min()) <= value <= float(around.max())
    why = f"{series.name} is {found:.6g} at {series.axis} {step:,}"
    why = why if fits else f"{why}, not {written}"
    return Judgement(Ruling.SUPPORTED if fits else Ruling.REFUTED, why, (Fact(why, (series.where(step),)),))


def _best(one: Observation, series: Series, value: float) -> Judgement:
    is_high = better(series.name) == HIGHER
    at = int(np.argmax(series.values) if is_high else np.argmin(series.values))
    found, step = float(series.values[at]), int(series.steps[at])
    claimed = one.steps[0] if one.steps else None
    fits = agrees(one.values[0], value, found) and (
        claimed is None or _is_as_good(one, value, series, claimed, step)
    )
    why = f"{series.name} is best at {series.axis} {step:,}, with {found:.6g}"
    return Judgement(Ruling.SUPPORTED if fits else Ruling.REFUTED, why, (Fact(why, (series.where(step),)),))


def _is_as_good(one: Observation, value: float, series: Series, claimed: int, best: int) -> bool:
    """Whether the best stands at the step that is named, or a value that is as good does."""
    at = _nearest(series, claimed)
    near = abs(claimed - best) <= _reach(series, claimed)
    return near or (at is not None and agrees(one.values[0], value, float(series.values[at])))


def _course(one: Observation, series: Series, values: list[float]) -> Judgement:
    """From one value to another: at the steps named, else from the first to the last."""
    begin, end = (*one.steps, None, None)[:2]
    places = [
        0 if begin is None else _nearest(series, begin),
        len(series) - 1 if end is None else _nearest(series, end),
    ]
    if None in places:
        first, last = int(series.steps[0]), int(series.steps[-1])
        why = (
            f"{series.name} was logged from {series.axis} {first:,} to {last:,}, which is less than the "
            f"document tells of"
        )
        return Judgement(Ruling.UNTESTED, why, (Fact(why, (series.where(),)),))
    first_at, last_at = (place for place in places if place is not None)
    found = [float(series.values[at]) for at in (first_at, last_at)]
    steps = [int(series.steps[at]) for at in (first_at, last_at)]
    fits = all(agrees(text, value, seen) for text, value, seen in zip(one.values, values, found, strict=True))
    why = (
        f"{series.name} goes from {found[0]:.6g} at {series.axis} {steps[0]:,} to {found[1]:.6g} at "
        f"{steps[1]:,}"
    )
    return Judgement(Ruling.SUPPORTED if fits else Ruling.REFUTED, why, (Fact(why, (series.where(*steps),)),))


def _nearest(series: Series, step: int) -> int | None:
    at = int(np.argmin(np.abs(series.steps - step)))
    return at if abs(int(series.steps[at]) - step) <= _reach(series, step) else None


def _reach(series: Series, step: int) -> float:
    return max(NEAR * series.cadence(), 0.02 * abs(step))


def agrees(written: str, value: float, found: float) -> bool:
    """Whether a value is the one found, as far as the digits that were written go."""
    return abs(value - found) <= max(RELATIVE * abs(found), half_digit(written))


def half_digit(written: str) -> float:
    """Half of the last digit that was written: 0.005 for 26.25, 500 for 12k."""
    digits = re.match(r"[~≈+-]*[\d,_]*(?:\.(\d+))?(?:[eE]([+-]?\d+))?\s*([kKmM]?)", written.strip())
    if digits is None:
        return 0.0
    scale = {"k": 1e3, "m": 1e6}.get((digits[3] or "").lower(), 1.0)
    exponent = max(-300, min(300, int(digits[2] or 0)))
    return float(0.5 * 10.0 ** (exponent - len(digits[1] or "")) * scale)
