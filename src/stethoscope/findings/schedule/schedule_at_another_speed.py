"""The learning rate goes through its schedule a whole number of times too slowly or too fast.

## What it checks
Which schedule the logged rate follows (a line, a cosine, a polynomial, with or without a warm-up or a
stable stretch), and how long that schedule is, extrapolated where the log ends before. In a run that got
to its planned end, that length is held against the run: whether it is too long or too short by just the
number of batches of an update, of processes, or of batches in an epoch.

## Why it matters
A schedule that is moved once an update and laid out in batches gets through a part of its course: the
rate stays high to the end, and the decay that makes a run converge never comes. One that every process
moves is over early, and the rest of the run learns nothing. The curve itself looks like a schedule, so
nobody notices.

## When it is harmless
A decay that the settings lay out longer or shorter than the run on purpose. A rate with a floor of its
own, which a line cannot be told from one that ends later. Where the number of the difference is no number
of this training, it may be meant, and nothing is said.

## References
- transformers.get_scheduler, num_training_steps
- accelerate: a prepared scheduler is moved once for each process
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.detectors.schedule_shape import LEAST_POINTS, Mismatch, Shape, mismatch, shape
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.settings import Settings
from stethoscope.signals.training_plan import TrainingPlan

RULE = Rule(code="SCH160", since="0.2", severity=Severity.WARNING)

COMPLETE = 0.98  # of the planned steps: the schedule should be over
SAME = 0.03  # relative: a length that is another one times a whole number
MEANT = 0.1  # relative difference of an asked decay from the run that is a choice
MOST = 64.0  # times: beyond, too little of the schedule was seen
FLOORS = (
    "eta_min",
    "min_lr",
    "lr_min",
    "end_lr",
    "lr_end",
    "final_lr",
    "end_factor",
    "min_lr_ratio",
    "lr_floor",
)


def examine(rates: LearningRate, plan: TrainingPlan, settings: Settings | None) -> Iterator[Finding]:
    """Fire where the schedule is longer or shorter than the run by a number that the training has."""
    series = rates.main.finite()
    if len(series) < LEAST_POINTS:
        raise InsufficientData(f"{len(series)} values of the learning rate are too few to see its schedule")
    factors = _factors(plan)
    if not factors:
        raise InsufficientData("the settings name neither processes nor batches of an update or an epoch")
    planned = plan.extent.steps
    if planned is None or series.axis != "step" or series.steps[-1] < COMPLETE * planned - series.cadence():
        raise InsufficientData("the run did not get to a planned end that could be compared with")
    seen = shape(series.steps, series.values)
    if seen is None or seen.length is None or seen.warm_up is None:
        raise InsufficientData("the logged rate does not tell how long its schedule is")
    if _is_meant(plan, planned) or (seen.family.endswith("linear") and _has_floor(settings)):
        return
    length = seen.warm_up + seen.length
    off = mismatch(length, float(series.steps[-1] - min(0, int(series.steps[0]))), factors, SAME)
    if off is not None and off.factor <= MOST:
        yield _finding(series, seen, off, plan)


def _factors(plan: TrainingPlan) -> dict[str, float]:
    """The numbers by which units of this training differ."""
    epochs = plan.extent.epochs
    found = {
        "batches of an update": plan.window,
        "processes": plan.processes,
        "batches of an epoch": plan.batches / epochs if plan.batches and epochs else None,
    }
    return {name: number for name, number in found.items() if number is not None and number >= 2.0}


def _is_meant(plan: TrainingPlan, planned: float) -> bool:
    """Whether the settings ask for a decay that is not as long as the run."""
    asked = [one.amount.number for one in plan["decay length"].asked if one.amount.unit in {"step", ""}]
    return any(number and abs(number / planned - 1.0) > MEANT for number in asked)


def _has_floor(settings: Settings | None) -> bool:
    named = settings.recipe.named(*FLOORS) if settings else ()
    return any(isinstance(setting.value, int | float) and setting.value > 0 for setting in named)


def _finding(series: Series, seen: Shape, off: Mismatch, plan: TrainingPlan) -> Finding:
    share = min(off.observed, off.asked) / max(off.observed, off.asked)
    if off.slower:
        told = f"too slowly: the run ends {share:.0%} of the way through it"
    else:
        told = f"too fast: it is over {share:.0%} of the way through the run"
    return Finding(
        (series.where(), *plan.extent.where),
        f"{series.name} follows a schedule ({seen.family}) of {off.observed:,.0f} steps in a run of "
        f"{off.asked:,.0f}, {off.factor:,.0f} times {told}. {off.factor:,.0f} is the number of {off.name}",
        {
            "family": seen.family,
            "length": off.observed,
            "run": off.asked,
            "factor": off.factor,
            "factor_is": off.name,
            "slower": off.slower,
            "fit_error": seen.error,
        },
        strength=0.9,
        onset=int(series.steps[0]),
    )
