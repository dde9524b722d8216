"""The settings of a run, and whether it is known to have trained with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.run import ConfigFile, EventKind, Recipe, Run, Setting
from stethoscope.signals.missing import Missing

TRAINED_POINTS = 2  # a run that logged a quantity twice has taken steps


@dataclass(frozen=True, slots=True, eq=False)
class Settings:
    """Every setting, and what the logs say about the run that used them.

    `trained` says that the run took steps; `complaints` are the errors it printed.
    """

    recipe: Recipe
    trained: bool = False
    complaints: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Setting]:
        return iter(self.recipe)

    def file_of(self, setting: Setting) -> ConfigFile | None:
        """The settings file that a setting stands in."""
        return self.recipe.file(setting.where.file)

    def trained_with(self, setting: Setting) -> bool:
        """Whether the run took steps with this setting as it stands."""
        file = self.file_of(setting)
        return self.trained and file is not None and file.changed_after_start is not True


def measure(run: Run) -> Settings | Missing:
    """Find the settings that the run used."""
    if run.recipe is None or not run.recipe.settings:
        return Missing(
            "no settings file was found with the run",
            log_this="copy the settings file into the run's folder, or name it by --config",
        )
    trained = any(len(series) >= TRAINED_POINTS for series in run.series.values())
    complaints = tuple(event.message for event in run.events if event.kind is EventKind.TRACEBACK)
    return Settings(run.recipe, trained, complaints)
