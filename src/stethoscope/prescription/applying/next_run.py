"""A run as its settings will be once what is prescribed is made: what the next one is held to."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from stethoscope.prescription.remedy import Edit
from stethoscope.run import Run, Setting

# Settings that the course of the learning rate depends on.
_OF_THE_RATE = re.compile(
    r"lr|learning_?rate|warm_?up|sched|decay|milestone|steps|iters|epochs", re.IGNORECASE
)

Place = tuple[str, int, int]  # the file of a value, and where it begins and ends there


def next_run(run: Run, made: Iterable[Edit]) -> Run:
    """The run with the settings that these edits write."""
    if run.recipe is None:
        return run
    texts = _written(made)
    settings = tuple(_edited(setting, texts) for setting in run.recipe.settings)
    return replace(run, recipe=replace(run.recipe, settings=settings))


def changes_the_rate(run: Run, made: Iterable[Edit]) -> bool:
    """Whether these edits write a setting that the learning rate follows."""
    texts = _written(made)
    settings = run.recipe.settings if run.recipe is not None else ()
    return any(_place(one) in texts and _OF_THE_RATE.search(one.leaf) for one in settings)


def _written(made: Iterable[Edit]) -> dict[Place | None, str]:
    splices = (splice for edit in made if edit.kind == "config" for splice in edit.splices)
    return {(splice.file, splice.start, splice.end): splice.text for splice in splices}


def _place(setting: Setting) -> Place | None:
    return (setting.where.file, *setting.span) if setting.span is not None else None


def _edited(setting: Setting, texts: Mapping[Place | None, str]) -> Setting:
    text = texts.get(_place(setting))
    return setting if text is None else replace(setting, value=_value(text), text=text)


def _value(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
