"""Settings that one file gives more than once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.recipe.repeated_keys import RepeatedKey, repeated_keys
from stethoscope.run import ConfigFile, Run
from stethoscope.signals.missing import Missing


@dataclass(frozen=True, slots=True, eq=False)
class RepeatedSettings:
    """Each repeated key with the file it stands in."""

    keys: tuple[tuple[ConfigFile, RepeatedKey], ...]

    def __iter__(self) -> Iterator[tuple[ConfigFile, RepeatedKey]]:
        return iter(self.keys)


def measure(run: Run) -> RepeatedSettings | Missing:
    """Look through the YAML files of the run's settings; a record of a log holds each key once."""
    files = [c for c in run.recipe.files if c.syntax == "yaml" and c.origin != "log"] if run.recipe else []
    if not files:
        return Missing("no YAML settings were found with the run")
    return RepeatedSettings(tuple((file, key) for file in files for key in repeated_keys(file.text)))
