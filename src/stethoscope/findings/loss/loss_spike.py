"""The loss jumps far above its level, and it matters how it comes down again.

## What it checks
Each value of the training loss against a running level that spikes cannot move, eight deviations and 20 %
above it; in long logs also against the tail of the loss's own distribution, so that a loss with rare large
batches is not called ill. Every spike is followed: back at once, back within 100 steps, back within 2,000,
or not back at all.

## Why it matters
A spike that heals at once cost one bad batch. One that takes hundreds of steps has moved the weights; one
that does not heal has thrown the model out of what it had learned, and the place to go back to is before
it.

## When it is harmless
Single outliers, in number, are what noisy losses do (diffusion, reinforcement learning, small batches). A
jump at the step where a loss term is switched on, or the task is made harder, is that change.

## References
- Le Scao et al., "What Language Model to Train if You Have One Million GPU Hours?", 2022, on spikes
- Pickands, "Statistical Inference Using Extreme Order Statistics", 1975
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stethoscope.detectors import tail
from stethoscope.detectors.aftermath import NEXT, Aftermath, Grade, follow
from stethoscope.detectors.leap import leap
from stethoscope.detectors.spike import WARM_UP, SpikeScan, scan
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series, Values
from stethoscope.signals.loss import TrainLoss
from stethoscope.signals.turning_points import TurningPoint, TurningPoints

RULE = Rule(code="LOS101", since="0.1", severity=Severity.WARNING)

LEAST_POINTS = 32
FALSE_ALARMS = 0.1  # expected number per series, over all its points
OF_GAIN = 0.02  # a spike smaller than this share of all that was learned does not matter
STEPS_PER_EPOCH = 100  # at least, where a series counts epochs
ORDERS = 1000.0  # times its level, and back at the next value: the weights were never that far off
OFTEN = 5  # outliers that make a habit
EXPLAINED = ("term", "difficulty", "weight", "stage")


def examine(loss: TrainLoss, changes: TurningPoints | None) -> Iterator[Finding]:
    """Report the worst spike, with the number of the others."""
    series = loss.series
    if len(series) < LEAST_POINTS:
        raise InsufficientData(f"{len(series)} values of the loss are too few to tell a spike from its noise")
    least = _least_height(series)
    spikes = [spike for spike in _spikes(series) if spike.peak - spike.before >= least]
    if not spikes or loss.reinforced:
        return
    worst = max(spikes, key=lambda spike: (spike.grade, spike.peak - spike.before))
    near = changes.near(worst.step, 2 * max(1, series.cadence())) if changes else ()
    curriculum = changes is not None and changes.curriculum is not None
    yield _finding(worst, spikes, series, near, curriculum or loss.adversarial)


def _spikes(series: Series) -> list[Aftermath]:
    finite = series.values[np.isfinite(series.values)]
    positive = len(finite) > 0 and bool(np.all(finite >= 0.0))
    warm_up = WARM_UP if len(series) >= 4 * WARM_UP else max(LEAST_POINTS // 2, len(series) // 4)
    judged = scan(series.values, positive, warm_up)
    unit = 1 if series.axis == "step" else STEPS_PER_EPOCH
    spikes = follow(series.steps, series.values, judged, unit)
    usual = tail.fit(_ordinary(judged, spikes))
    return [spike for spike in spikes if _is_beyond(usual, spike, judged)]


def _ordinary(judged: SpikeScan, spikes: list[Aftermath]) -> Values:
    """The distances of all values outside lasting spikes; single outliers are part of the tail."""
    keep = np.isfinite(judged.distance)
    for spike in spikes:
        if spike.until - spike.at >= NEXT:
            keep[spike.at : spike.until] = False
    return judged.distance[keep]


def _is_beyond(usual: tail.Tail | None, spike: Aftermath, judged: SpikeScan) -> bool:
    """Whether so large a value is not to be expected once in a series of this length."""
    episode = judged.distance[spike.at : spike.until]
    if usual is None or not np.all(np.isfinite(episode)):
        return True
    distance = float(episode.max())
    return usual.chance(distance) * len(judged.distance) < FALSE_ALARMS


def _least_height(series: Series) -> float:
    """The height from which a spike undoes a visible part of what had been learned."""
    finite = series.finite().values
    learned = float(np.median(finite[:5]) - finite.min()) if len(finite) else 0.0
    return OF_GAIN * max(learned, 0.0)


def _finding(
    worst: Aftermath, spikes: list[Aftermath], series: Series, near: tuple[TurningPoint, ...], excused: bool
) -> Finding:
    lasting = worst.grade >= Grade.SLOW
    begun = leap(series.finite(), worst.step)
    at_once = begun if begun is not None and begun.step <= worst.step + 2 * series.cadence() else None
    alone = worst.grade is Grade.OUTLIER and not near
    one_batch = alone and worst.peak >= ORDERS * worst.before > 0.0
    explained = excused or any(point.kind in EXPLAINED for point in near)
    last = int(series.steps[-1])
    end = last if worst.steps_to_recover is None else worst.step + worst.steps_to_recover
    message = f"{series.name} jumps from {worst.before:.4g} to {worst.peak:.4g} at step {worst.step:,}"
    message += _ending(worst)
    if len(spikes) > 1:
        message += f"; {len(spikes) - 1} smaller spikes"
    if near:
        message += f" (at the same time: {', '.join(sorted({str(point) for point in near}))})"
    return Finding(
        series.where(worst.step, end),
        message,
        {
            "series": series.name,
            "grade": f"S{int(worst.grade)}",
            "before": worst.before,
            "peak": min(worst.peak, 1e300),
            "steps_to_recover": -1 if worst.steps_to_recover is None else worst.steps_to_recover,
            "spikes": len(spikes),
            "heavy_tailed": _heavy_tailed(spikes, series),
            "one_step": at_once is not None and at_once.one_step,
            "one_batch": one_batch,
            "back_to_start": at_once is not None and at_once.back_to_start,
            "at_restart": any(point.kind == "restart" for point in near),
            "aligned_with": ", ".join(sorted({point.kind for point in near})),
            "explained": explained,
        },
        strength=1.0 if one_batch else (0.3, 0.5, 0.8, 1.0)[worst.grade],
        onset=worst.step,
        severity=Severity.WARNING if lasting and not explained else Severity.NOTE,
    )


def _heavy_tailed(spikes: list[Aftermath], series: Series) -> bool:
    """Whether such values come and go all along, as they do where the loss depends on rare samples."""
    middle = (int(series.steps[0]) + int(series.steps[-1])) // 2
    both_halves = any(spike.step < middle for spike in spikes) and any(
        spike.step > middle for spike in spikes
    )
    return len(spikes) >= OFTEN and both_halves and all(spike.grade < Grade.SLOW for spike in spikes)


def _ending(spike: Aftermath) -> str:
    if spike.grade is Grade.OUTLIER:
        return " and is back at the next value"
    if spike.steps_to_recover is None:
        return " and does not come back"
    return f" and is back after {spike.steps_to_recover:,} steps"
