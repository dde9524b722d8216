"""How hard the training task was made on purpose, step by step."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.detectors.following import follows
from stethoscope.run import Recipe, Run, Series, Setting
from stethoscope.signals.missing import Missing

WORDS = ("curriculum", "difficulty", "preschool", "progressive_resiz", "seqlen_warmup", "batch_size_rampup")
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
    difficulty = run.series.get("difficulty")
    difficulty = difficulty.finite() if difficulty is not None else None
    settings = _asked_for(run.recipe) if run.recipe else ()
    if (difficulty is None or len(difficulty) < 2) and not settings:
        return Missing("no difficulty was logged", 'log({"difficulty": difficulty})')
    return Curriculum(difficulty if difficulty is not None and len(difficulty) > 1 else None, settings)


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
