"""The files that a run was read from, as text."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.run import Run


@dataclass(frozen=True, slots=True)
class ReadText:
    """A file's text as it was read, whether it is "source" or "config", and whether a person maintains it.

    `dumped` says that the text is only a part of its file: settings that a log holds.
    """

    text: str
    kind: str
    maintained: bool
    dumped: bool = False


UNREAD = ReadText("", "config", False)


def text_of(file: str, run: Run) -> ReadText:
    """The text of this file of the run; empty, and nobody's, where it was not read."""
    source = run.program.source(file) if run.program else None
    if source and run.program:
        return ReadText(source.text, "source", run.program.maintained)
    config = run.recipe.file(file) if run.recipe else None
    if config is None:
        return UNREAD
    return ReadText(config.text, "config", config.maintained, dumped=config.origin == "log")
