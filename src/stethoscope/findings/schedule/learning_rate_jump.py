"""The learning rate leaps up in the middle of the run.

## What it checks
Every logged learning rate, for a rise by more than 1.3 times between two logged points after the warm-up
is over, unless the leaps are the restarts of a cyclic schedule.

## Why it matters
A rate that returns to its peak throws the model out of the minimum it has settled in, and the optimiser's
second moments were learned at the smaller rate. It is most often a resumed run whose scheduler was not
restored: it begins its warm-up and decay again.

## When it is harmless
Warm restarts (SGDR), cyclic and one-cycle schedules rise on purpose, and so does a first warm-up. Steps
down are decay. Some optimisers (Prodigy, D-Adaptation) find their rate while running.

## References
- Loshchilov & Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", 2017
- `torch.optim.lr_scheduler`, `state_dict()` of every scheduler
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.detectors.lr_jump import Jump, jumps
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series
from stethoscope.signals.learning_rate import LearningRate
from stethoscope.signals.restarts import Restarts
from stethoscope.signals.schedule_settings import ScheduleSettings

RULE = Rule(code="SCH101", since="0.1", severity=Severity.WARNING)


def examine(
    rates: LearningRate, restarts: Restarts | None, settings: ScheduleSettings | None
) -> Iterator[Finding]:
    """Fire on the largest leap that no cycle explains."""
    if all(len(series) < 3 for series in rates.groups.values()):
        raise InsufficientData("the learning rate was logged fewer than three times")
    if settings is not None and settings.cyclic:
        return
    found = [(jump, series) for series in rates.groups.values() for jump in _unexplained(series, restarts)]
    if found:
        jump, series = max(found, key=lambda pair: pair[0].after - pair[0].before)
        yield _finding(jump, series, len(found), restarts, settings)


def _unexplained(series: Series, restarts: Restarts | None) -> list[Jump]:
    finite = series.finite()
    leaps = jumps(finite.steps, finite.values)
    if not any(jump.cyclic for jump in leaps):
        return leaps
    if restarts is None or not restarts.steps:
        return [jump for jump in leaps if not jump.cyclic]
    reach = _reach(series)
    return [jump for jump in leaps if not jump.cyclic or _at_restart(jump, reach, restarts)]


def _reach(series: Series) -> int:
    """The steps from a restart within which a leap belongs to it."""
    return 2 * max(1, series.cadence())


def _at_restart(jump: Jump, reach: int, restarts: Restarts | None) -> bool:
    return restarts is not None and restarts.near(jump.step, reach)


def _finding(
    jump: Jump, series: Series, count: int, restarts: Restarts | None, settings: ScheduleSettings | None
) -> Finding:
    at_restart = _at_restart(jump, _reach(series), restarts)
    configured = settings.peak if settings else None
    message = f"{series.name} leaps from {jump.before:.3g} to {jump.after:.3g} at step {jump.step:,}"
    message += ", where the run was resumed" if at_restart else ""
    evidence: dict[str, object] = {
        "step": jump.step,
        "before": jump.before,
        "after": jump.after,
        "ratio": min(jump.ratio, 1e9),
        "peak_before": jump.peak_before,
        "back_to_peak": abs(jump.after - jump.peak_before) <= 0.05 * jump.peak_before,
        "at_restart": at_restart,
        "jumps": count,
    }
    if configured is not None:
        evidence["configured"] = configured
    return Finding(
        series.where(jump.step),
        message,
        evidence,
        strength=1.0 if at_restart else min(1.0, 0.5 + 0.1 * jump.ratio),
        onset=jump.step,
    )
