"""What the settings ask of the learning rate."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.run import Recipe, Run
from stethoscope.signals.missing import Missing

RATES = ("lr", "learning_rate", "base_lr", "max_lr", "peak_lr")
# Schedules and optimisers whose rate rises in mid-run by design.
RISING = (
    "restart",
    "cyclic",
    "cycliclr",
    "onecycle",
    "sgdr",
    "prodigy",
    "dadapt",
    "d_adapt",
    "schedulefree",
    "sawtooth",
)
SCHEDULES = (
    "scheduler",
    "lr_scheduler",
    "lr_scheduler_type",
    "schedule",
    "lr_schedule",
    "optim",
    "optimizer",
    "type",
)


@dataclass(frozen=True, slots=True)
class ScheduleSettings:
    """The configured peak rate, where it is one number, and whether the schedule may rise in mid-run."""

    peak: float | None
    cyclic: bool


def measure(run: Run) -> ScheduleSettings | Missing:
    """Read the schedule from the settings."""
    if run.recipe is None:
        return Missing("no settings were found")
    return ScheduleSettings(_peak(run.recipe), _is_cyclic(run.recipe))


def _peak(recipe: Recipe) -> float | None:
    rates = [setting.value for setting in recipe.named(*RATES)]
    numbers = {
        float(value) for value in rates if isinstance(value, int | float) and not isinstance(value, bool)
    }
    return max(numbers) if numbers else None


def _is_cyclic(recipe: Recipe) -> bool:
    return any(
        isinstance(setting.value, str) and any(word in setting.value.lower() for word in RISING)
        for setting in recipe.named(*SCHEDULES)
    )
