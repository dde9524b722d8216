"""How long the learning rate rises at the start, by the settings or by the log."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.run import Run, Where
from stethoscope.signals import learning_rate, training_plan
from stethoscope.signals.missing import Missing

AT_PEAK = 0.9  # of the highest rate
AT_ONCE = 0.01  # of the steps: a rate that is at its peak by then had no warm-up to speak of


@dataclass(frozen=True, slots=True, eq=False)
class WarmUp:
    """`share` is the part of the run in which the rate rises, `steps` the same in steps where known."""

    share: float
    steps: float | None
    where: tuple[Where, ...]
    said: str


def measure(run: Run) -> WarmUp | Missing:
    """From a setting that names its length; else from the logged rate."""
    plan = training_plan.measure(run)
    if not isinstance(plan, Missing):
        asked = plan["warm-up"].only()
        number = asked.amount.number if asked is not None else None
        if asked is not None and number is not None:
            unit, extent = asked.amount.unit, plan.schedule_extent
            # Where nothing says how long the run is meant to be, it is at least as long as its log.
            seen = float(run.steps[1]) if run.steps is not None and run.steps[1] > 0 else None
            steps = extent[0] if extent is not None else seen
            length = {"share": 1.0, "epoch": plan.extent.epochs}.get(unit, steps)
            if length:
                share = number / length
                in_steps = number if unit in {"step", ""} else share * steps if steps else None
                return WarmUp(share, in_steps, (asked.setting.where,), f"{asked.name} is {number:g}")
    return _logged(run)


def _logged(run: Run) -> WarmUp | Missing:
    rates = learning_rate.measure(run)
    if isinstance(rates, Missing):
        return Missing("neither settings nor log tell how the learning rate begins", rates.log_this)
    series = rates.main.finite()
    if (
        len(series) < 8
        or series.values.max() <= 0.0
        or int(series.steps[0]) > AT_ONCE * int(series.steps[-1])
    ):
        return Missing("the log does not show how the learning rate begins")
    first = next(i for i, rate in enumerate(series.values) if rate >= AT_PEAK * series.values.max())
    begun = 0 if first == 0 else int(series.steps[first])
    share = begun / max(int(series.steps[-1]), 1)
    return WarmUp(
        share, float(begun), (series.where(int(series.steps[0]), begun),), f"the rate peaks at step {begun:,}"
    )
