"""The training loss leaves its best level and does not return.

## What it checks
The loss in block medians: whether its level at the end stands well above its best level, beyond the noise,
on an upward trend or after a jump, and has not made good most of it. It fires as critical when the level is
1.5 times the best and a tenth of what was learned is lost, or when the end is worse than the beginning. A
loss that explodes within its last finite values and is not finite from there on counts, too.

## Why it matters
Training longer makes such a model worse. The step at which the rise begins separates the last useful
checkpoint from the useless ones, and says which change to look at.

## When it is harmless
A curriculum raises the loss because the task becomes harder; a validation metric that improves meanwhile
says so even where no difficulty was logged. Where the difficulty has come to rest and the loss still rises,
the difficulty does not explain it. A loss term that is switched on, or a
regulariser that grows by design, adds to the total. The losses of a generator and a discriminator rise and
fall against each other, and those of reinforcement learning do not measure progress: both are left alone.

## References
- Wortsman et al., "Small-scale proxies for large-scale Transformer training instabilities", 2023
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from stethoscope.detectors.common_axis import on_axis_of
from stethoscope.detectors.confounding import given_difficulty
from stethoscope.detectors.divergence import LEAST_POINTS, Rise, blow_up, rise
from stethoscope.detectors.following import follows
from stethoscope.detectors.leap import leap
from stethoscope.detectors.robust_stats import noise_sd, tame
from stethoscope.detectors.trend import trend
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series, Values
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.loss import RISES_BY_DESIGN, TrainLoss, words
from stethoscope.signals.turning_points import TurningPoints
from stethoscope.signals.validation import Metric, Validation

RULE = Rule(code="LOS102", since="0.1", severity=Severity.CRITICAL)

LEAST_RATIO = 1.2  # a smaller rise is drift
LEAST_GAIN_LOST = 0.05
CARRIED = 0.7  # share of the rise that one term must carry to explain it
LEAST_EVALUATIONS = 4
SETTLING = 4  # a model that has just changed its task may need a quarter of the time left
LEAST_BEFORE = 3  # with four after it, so clean a step comes by chance once in 35 times
LEARNED = 0.1  # of its first value: what a held-out metric had gained before
IMPROVES = 0.02  # relative; the metric's gain since the loss began to rise
EXPLAINED = 0.2  # the strength of a rise that something else explains
FEW = 32  # losses; with more of them, their level is known better than single ones
LOUD = 0.3  # deviation of the logarithm of single losses: each is that of one batch
BATCHES = 4.0  # such deviations are not reached by chance
NEAR = 0.03  # of the run's length


def examine(
    loss: TrainLoss,
    changes: TurningPoints | None,
    rates: LearningRate | None,
    validation: Validation | None,
) -> Iterator[Finding]:
    """Fire on a lasting rise, as a note where something else explains it."""
    series = loss.series.finite()
    blown = blow_up(loss.series.steps, loss.series.values)
    if len(series) < LEAST_POINTS and blown is None:
        raise InsufficientData(f"{len(series)} values of the loss are too few to see a lasting rise")
    if not loss.measures_progress:
        return
    seen = rise(series.steps, series.values) or blown
    if seen is None or not _matters(seen) or _is_noise_of_batches(seen, series.values):
        return
    why = _explanation(seen, loss, changes, rates) or _better_meanwhile(seen, series, validation)
    why = why or _holds_meanwhile(seen, series, validation)
    yield _finding(seen, series, changes, why)


def _matters(seen: Rise) -> bool:
    return seen.severe or (seen.ratio >= LEAST_RATIO and seen.gain_lost >= LEAST_GAIN_LOST)


def _is_noise_of_batches(seen: Rise, values: Values) -> bool:
    """Whether few losses of single batches differ by so much that a rise as large is no level's."""
    if len(values) >= FEW or seen.exploded or float(values.min()) <= 0.0:
        return False
    spread = noise_sd(np.log(tame(values)))
    return spread > LOUD and seen.ratio < math.exp(min(BATCHES * spread, 100.0))


def _explanation(
    seen: Rise, loss: TrainLoss, changes: TurningPoints | None, rates: LearningRate | None
) -> str:
    """What else raises the loss; empty where nothing does."""
    if changes is not None:
        if changes.curriculum is not None:
            difficulty = changes.curriculum.difficulty
            if difficulty is None:
                return "a curriculum in the settings"
            if follows(loss.series.finite(), difficulty, seen.best_step):
                return "" if _rises_beyond(seen, loss.series.finite(), difficulty) else "the difficulty"
        span = int(loss.series.steps[-1] - loss.series.steps[0])
        reach = max(2 * loss.series.cadence(), int(NEAR * span))
        switched = [point for point in changes.near(seen.onset, reach) if point.kind == "term"]
        if switched:
            return f"{switched[0].series}, which begins there"
    if term := _carried_by(seen, loss):
        return f"loss/{term}, which rises by design"
    if rates is not None and rates.still_warming_up and seen.ratio < 2.0:
        return "the warm-up of the learning rate"
    return ""


def _rises_beyond(seen: Rise, series: Series, difficulty: Series) -> bool:
    """Whether the loss goes on rising where the difficulty has come to rest, by as much as matters."""
    late = series.between(seen.best_step, int(series.steps[-1]))
    known = given_difficulty(
        late.steps, late.values, np.interp(late.steps, difficulty.steps, difficulty.values)
    )
    if known is None or not known.rises_beyond:
        return False
    equal = late.values[-known.equal :]
    part = max(1, len(equal) // 4)
    return float(np.median(equal[-part:])) >= LEAST_RATIO * float(np.median(equal[:part]))


def _carried_by(seen: Rise, loss: TrainLoss) -> str:
    """The term that rises by design and carries most of the rise."""
    for name, series in loss.terms.items():
        if not words(name) & RISES_BY_DESIGN:
            continue
        late = series.finite().values[-max(1, len(series) // 10) :]
        then = series.finite().between(seen.best_step, seen.best_step + 10 * max(1, series.cadence())).values
        if len(late) and len(then) and np.median(late) - np.median(then) > CARRIED * (seen.end - seen.best):
            return name
    return ""


def _better_meanwhile(seen: Rise, loss: Series, validation: Validation | None) -> str:
    """A validation metric that improves while the loss rises: then the training task became harder."""
    for name, metric in (validation.judged if validation else {}).items():
        steps = on_axis_of(metric.series, loss)
        values = metric.sign * metric.series.values
        after = values[steps >= seen.onset]
        before = values[steps < seen.onset]
        if len(after) < LEAST_EVALUATIONS or len(before) == 0:
            continue
        if _stands_above(after, before):
            return f"a harder task: {name} is better than before"
        gained = float(np.median(after[-3:]) - np.median(before[-3:]))
        line = trend(np.arange(len(after)), after)
        rising = line.p_rising < 0.05 if line else bool(np.all(np.diff(after) > 0.0))
        if rising and gained > IMPROVES * abs(float(np.median(before[-3:]))):
            return f"a harder task: {name} improves meanwhile"
    return ""


def _holds_meanwhile(seen: Rise, loss: Series, validation: Validation | None) -> str:
    """That nothing held out gets worse, of what had got better before: a network that diverges loses it."""
    judged = list(validation.judged.values()) if validation else []
    late = [on_axis_of(metric.series, loss) >= seen.onset for metric in judged]
    pairs = list(zip(judged, late, strict=True))
    holds = all(_holds(metric, after) for metric, after in pairs)
    had_learned = any(_had_learned(metric, after) for metric, after in pairs)
    return "a harder task: nothing that is held out gets worse" if holds and had_learned else ""


def _holds(metric: Metric, late: npt.NDArray[np.bool_]) -> bool:
    """Whether the evaluations behind the onset are no worse than the last ones before it."""
    values = metric.sign * metric.series.values
    before, after = values[~late], values[late]
    if len(after) < LEAST_EVALUATIONS or len(before) < LEAST_BEFORE:
        return False
    then = float(np.median(before[-LEAST_BEFORE:]))
    worst = min(float(np.median(after[-LEAST_BEFORE:])), float(np.median(after)))
    return worst >= then - IMPROVES * abs(then)


def _had_learned(metric: Metric, late: npt.NDArray[np.bool_]) -> bool:
    before = metric.sign * metric.series.values[~late]
    return len(before) > 0 and float(before.max() - before[0]) > LEARNED * abs(float(before[0]))


def _stands_above(after: Values, before: Values) -> bool:
    """Whether the evaluations after the onset, the first ones aside, are all better than those before it."""
    after = after[max(1, len(after) // SETTLING) :]
    margin = IMPROVES * float(np.max(np.abs(before)))
    return (
        len(before) >= LEAST_BEFORE
        and bool(after.min() > before.max())
        and (float(np.median(after)) > float(before.max()) + margin)
    )


def _finding(seen: Rise, series: Series, changes: TurningPoints | None, why: str) -> Finding:
    last = int(series.steps[-1])
    reach = max(2 * series.cadence(), int(NEAR * (last - int(series.steps[0]))))
    begun = leap(series, seen.onset - reach)
    begins = (
        begun.step if begun is not None and begun.step <= seen.onset + reach + seen.steps_to_rise else None
    )
    near = changes.near(begins or seen.onset, reach) if changes else ()
    at_once = begun if begins is not None else None
    message = f"{series.name} rises from {seen.best:.4g} to {seen.end:.4g} after step {seen.onset:,}"
    message += ", worse than at the start" if seen.above_start else " and stays up"
    if why:
        message += f"; explained by {why}"
    return Finding(
        series.where(seen.onset, last),
        message,
        {
            "series": series.name,
            "initial": seen.initial,
            "best": seen.best,
            "best_step": seen.best_step,
            "end": seen.end,
            "ratio": min(seen.ratio, 1e9),
            "gain_lost": seen.gain_lost,
            "above_start": seen.above_start,
            "steps_to_rise": seen.steps_to_rise,
            "exponential": seen.exponential,
            "exploded": seen.exploded,
            "peak": float(series.between(seen.onset, last).values.max()),
            "one_step": at_once is not None and at_once.one_step,
            "back_to_start": at_once is not None and at_once.back_to_start,
            "at_restart": any(point.kind == "restart" for point in near),
            "explained_by": why,
            "aligned_with": ", ".join(sorted({point.kind for point in near})),
        },
        strength=EXPLAINED if why else 1.0 if seen.severe else 0.6,
        onset=seen.onset,
        severity=Severity.NOTE if why else Severity.CRITICAL if seen.severe else Severity.WARNING,
    )
