"""The variables of the environment that a shell script sets for the training it starts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from stethoscope.errors import UnreadableFile
from stethoscope.recipe._shell.commands import Argument, commands
from stethoscope.recipe._text import Text
from stethoscope.recipe._tree import TooMuch
from stethoscope.recipe.shell_launcher import trainings
from stethoscope.recipe.written_values import as_written
from stethoscope.run import Setting


def exported_variables(text: str, file: str) -> Iterator[Setting]:
    """`export LR=0.002` before the one training of a script, and `LR=0.002 python train.py`."""
    try:
        started = trainings(text, file)
        if len(started) != 1:
            return
        source = Text(text, file)
        for command in commands(text):
            if source.where(command.start) == started[0].where:
                for name, value in command.exported.items():
                    yield replace(_setting(name, value, source), text=value.text)
    except (UnreadableFile, TooMuch, RecursionError):
        return


def _setting(name: str, value: Argument, source: Text) -> Setting:
    at = value.span[0] if value.span is not None else value.at
    return Setting((name,), as_written(value.text), source.where(at))
