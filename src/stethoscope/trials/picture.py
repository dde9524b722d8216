"""A trial as a picture: what each change brings, with its interval, and the curves of the arms."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from stethoscope.figures.chart import Band, Chart, Estimate, Estimates, Figure, Line, Tone
from stethoscope.trials.trial import Class, Effect, Outcome, Role, TrialResult, Verdict

TONES: dict[Class, Tone] = {
    Class.NECESSARY: "good",
    Class.SUFFICIENT: "good",
    Class.HELPFUL: "good",
    Class.HARMFUL: "bad",
}
DRAWN: dict[Role, Tone] = {Role.SICK: "bad", Role.CURED: "good", Role.PLACEBO: "muted"}  # of what is drawn


def picture(result: TrialResult) -> Figure:
    """The effects of all changes, and the courses of the sick, the cured and the placebo arm."""
    trial = result.trial
    title = f"What each change does to {trial.metric.name}"
    caption = (
        f"{len(trial.seeds)} paired seeds. Bars are 95 % intervals of the paired difference, counted so that "
        f"more is better. Grey: no effect (+-{result.margin:.3g}, {result.margin_why})."
    )
    return Figure(title, [effects(result), *_courses(result)], columns=1, caption=caption)


def effects(result: TrialResult) -> Estimates:
    """One row for each comparison of each change, and the placebo."""
    verdicts = (*result.verdicts, *([result.placebo] if result.placebo else []))
    rows = [row for verdict in verdicts for row in _rows(verdict)]
    if result.distance is not None and len(result.trial.cure) > 1:
        low, high = _ends(result.distance)
        rows.insert(0, Estimate("all fixes together", result.distance.mean, low, high))
    unit = f" ({result.trial.metric.unit})" if result.trial.metric.unit else ""
    return Estimates(
        x_label=f"better by{unit}",
        rows=rows,
        reference=0.0,
        margin=(-result.margin, result.margin) if result.margin > 0 else None,
    )


def _rows(verdict: Verdict) -> Iterator[Estimate]:
    if verdict.alone is not None:
        both = verdict.within is not None and verdict.within is verdict.alone
        yield _row(f"{verdict.change}{'' if both else ', alone'}", verdict.alone, verdict)
    if verdict.within is not None and verdict.within is not verdict.alone:
        yield _row(f"{verdict.change}, beside the others", verdict.within, verdict, text="")


def _row(name: str, effect: Effect, verdict: Verdict, text: str | None = None) -> Estimate:
    low, high = _ends(effect)
    spoken = verdict.spoken if text is None else text
    return Estimate(name, effect.mean, low, high, tone=TONES.get(verdict.classes[0], "muted"), text=spoken)


def _ends(effect: Effect) -> tuple[float, float]:
    """The ends of an interval; those of one seed are nowhere, and cannot be drawn."""
    return (effect.low, effect.high) if math.isfinite(effect.low) else (effect.mean, effect.mean)


def _courses(result: TrialResult) -> list[Chart]:
    lines, bands = [], []
    for arm in result.arms:
        role = next((role for role in arm.roles if role in DRAWN), None)
        runs = [one for one in result.outcomes if one.arm == arm.name and len(one.curve) > 1]
        if role is None or not runs:
            continue
        steps, low, middle, high = _spread(runs)
        tone = DRAWN[role]
        lines.append(Line(arm.name, steps, middle, "dashed" if role is Role.PLACEBO else "solid", tone))
        if role is not Role.PLACEBO:  # it lies on the sick one
            bands.append(Band(arm.name, steps, low, high, tone))
    if not lines:
        return []
    note = "Median over the seeds, and all of them."
    return [Chart("", "step", result.trial.metric.name, lines, bands, note=note)]


def _spread(runs: list[Outcome]) -> tuple[list[float], list[float], list[float], list[float]]:
    """The lowest, the median and the highest value of several curves, at the steps of the longest."""
    longest = max(runs, key=lambda one: len(one.curve))
    steps = np.array([step for step, _ in longest.curve], dtype=np.float64)
    table = []
    for one in runs:
        at = np.array([step for step, _ in one.curve], dtype=np.float64)
        values = np.array([value for _, value in one.curve], dtype=np.float64)
        table.append(np.interp(steps, at, values, right=math.nan))
    columns = np.array(table)
    some = np.isfinite(columns).any(axis=0)
    kept = columns[:, some]
    return (
        steps[some].tolist(),
        np.nanmin(kept, axis=0).tolist(),
        np.nanmedian(kept, axis=0).tolist(),
        np.nanmax(kept, axis=0).tolist(),
    )
