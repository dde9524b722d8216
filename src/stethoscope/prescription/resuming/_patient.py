"""What every way of resuming looks at."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.prescription.case import Case
from stethoscope.prescription.remedy import CheckpointAdvice
from stethoscope.recipe.command_lines import CommandLine, command_line
from stethoscope.run import Checkpoint, ConfigFile, Run, Setting, Source, Where

_MAIN = re.compile(r"__name__\s*==\s*['\"]__main__['\"]")
_TAKES_SETTINGS = re.compile(
    r"""add_argument\(\s*(?:['"]-\w+['"]\s*,\s*)?['"](?P<flag>--?(?:opt|config|cfg|conf|config[-_]?file|yaml))['"]"""
)


@dataclass(frozen=True, slots=True)
class Way:
    """One way to resume. `first` is a change that must be made before the command."""

    command: str | None
    how: str
    where: tuple[Where, ...] = ()
    first: str = ""
    loses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Patient:
    """A run, the checkpoint to go on from, and how the run was started as far as that is known."""

    case: Case
    checkpoint: CheckpointAdvice
    started: CommandLine | None
    script: Source | None

    @property
    def run(self) -> Run:
        """The run."""
        return self.case.run

    def sources(self, *words: str) -> Iterator[Source]:
        """The sources in which all of some words stand."""
        for source in self.run.program or ():
            if all(word in source.text for word in words):
                yield source

    def state(self) -> Checkpoint | None:
        """The training state that was saved with the checkpoint, in a file of its own."""
        step = self.checkpoint.step
        beside = [one for one in self.run.checkpoints if one.step == step and one.readable]
        return next((one for one in beside if one.holds == "training state"), None)

    def settings_file(self) -> ConfigFile | None:
        """The settings file that a person keeps, else the first that is a file of its own."""
        files = [one for one in (self.run.recipe.files if self.run.recipe else ()) if one.origin != "log"]
        files = [one for one in files if one.syntax != "shell"]
        return next((one for one in files if one.maintained), files[0] if files else None)

    def setting(self, leaf: str) -> Setting | None:
        """The setting of this name in a file of its own."""
        for setting in self.run.recipe.named(leaf) if self.run.recipe else ():
            if setting.where.file.endswith((".yml", ".yaml", ".toml", ".json", ".py")):
                return setting
        return None

    def command(self, *words: str) -> str | None:
        """The command that started the run with some words behind it; None where the script is not known."""
        if self.started is not None and self.started.words:
            return shlex.join((*_without(self.started.words, words), *words))
        if self.started is not None and self.started.hands_on:
            return shlex.join(("bash", self.started.where.file, *words))
        if self.script is None:
            return None
        return shlex.join(("python", self.script.file, *self._settings_given(), *words))

    def is_whole(self) -> bool:
        """Whether the command has all that the first call had: a launcher wrote it down."""
        return self.started is not None

    def _settings_given(self) -> tuple[str, ...]:
        """The option that names the settings file, where the script has one."""
        config = self.settings_file()
        found = _TAKES_SETTINGS.search(self.script.text) if self.script else None
        return (found["flag"], config.file) if found and config else ()


def patient(checkpoint: CheckpointAdvice, case: Case) -> Patient:
    """A run as the ways of resuming look at it."""
    return Patient(case, checkpoint, _started(case.run), _script(case.run))


def _started(run: Run) -> CommandLine | None:
    for config in run.recipe.files if run.recipe else ():
        if config.origin == "launcher":
            return command_line(config.text, config.file)
    return None


def _script(run: Run) -> Source | None:
    """The one script of the source that is run by itself and trains."""
    mains = [source for source in run.program or () if _MAIN.search(source.text)]
    named = [source for source in mains if "train" in os.path.basename(source.file)]
    chosen = named if len(named) == 1 else mains
    return chosen[0] if len(chosen) == 1 else None


def _without(given: tuple[str, ...], words: tuple[str, ...]) -> tuple[str, ...]:
    """A command without an option that is given anew, and its value."""
    kept: list[str] = []
    skipping = False
    for word in given:
        if skipping and not word.startswith("-"):
            skipping = False
            continue
        skipping = False
        if words and word == words[0]:
            skipping = len(words) > 1
        elif not (words and word.startswith(f"{words[0]}=")):
            kept.append(word)
    return tuple(kept)
