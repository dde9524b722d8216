"""How hard the training task was made on purpose, step by step."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from stethoscope.detectors.following import follows
from stethoscope.run import Recipe, Run, Series, Setting
from stethoscope.signals.missing import Missing

WORDS = ("curriculum", "difficulty", "preschool", "progressive_resiz", "seqlen_warmup", "batch_size_rampup")
# What a task is made harder by, where it is logged and only ever goes up.
HARDER = frozenset({
    "sigma", "noise", "noiselevel", "noisestd", "severity", "magnitude", "distortion", "degradation",
    "maskratio", "maskingratio", "seqlen", "resolution", "length", "seqlength", "sequencelength", "maxlength",
    "contextlength", "imagesize", "digits", "horizon",
})  # fmt: skip
LEAST_LEVELS = 5  # of a ramp; two or three levels may be anything
LEAST_RISE = 1.5  # times its first level
OFF = (False, None, 0, "", "none", "off", "false")


@dataclass(frozen=True, slots=True, eq=False)
class Curriculum:
    """The logged difficulty, where there is one, and the settings that ask for a curriculum."""

    difficulty: Series | None
    settings: tuple[Setting, ...]

    def explains(self, errors: Series, since: int) -> bool:
        """Whether an error has risen and fallen with the logged difficulty from a step on."""
        return self.difficulty is not None and follows(errors, self.difficulty, since)


def measure(run: Run) -> Curriculum | Missing:
    """Find a logged difficulty or settings that speak of a curriculum."""
    difficulty = run.series.get("difficulty") or _ramp(run.series)
    difficulty = difficulty.finite() if difficulty is not None else None
    settings = _asked_for(run.recipe) if run.recipe else ()
    if (difficulty is None or len(difficulty) < 2) and not settings:
        return Missing("no difficulty was logged", 'log({"difficulty": difficulty})')
    return Curriculum(difficulty if difficulty is not None and len(difficulty) > 1 else None, settings)


def _ramp(logged: Mapping[str, Series]) -> Series | None:
    """A logged level of hardness that goes up step by step and never down, as only a plan does."""
    for name, series in logged.items():
        values = series.finite().values
        if re.sub(r"[^a-z]", "", name.rpartition("/")[2].lower()) not in HARDER or len(values) == 0:
            continue
        is_planned = bool(np.all(np.diff(values) >= 0.0)) and len(np.unique(values)) >= LEAST_LEVELS
        if is_planned and values[0] > 0.0 and values[-1] >= LEAST_RISE * values[0]:
            return series
    return None


def _asked_for(recipe: Recipe) -> tuple[Setting, ...]:
    about = [setting for setting in recipe if any(word in setting.dotted.lower() for word in WORDS)]
    switched_off = {
        setting.key[:-1]
        for setting in about
        if setting.leaf in ("enabled", "enable", "use") and setting.value in OFF
    }
    return tuple(
        setting
        for setting in about
        if setting.value not in OFF and not any(setting.key[: len(key)] == key for key in switched_off)
    )
