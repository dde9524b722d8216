"""Which shell script started a run, of those around it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from stethoscope.errors import UnreadableFile
from stethoscope.recipe import syntax_of
from stethoscope.recipe._files import text_of
from stethoscope.recipe._shell.launch import Launch
from stethoscope.recipe.shell_launcher import SYNTAX, trainings
from stethoscope.run import Unread
from stethoscope.run.folder import Entry

MOST_FILES = 50
FEWEST_SHARED = 2  # settings that a launcher and a record must share to be taken for each other


@dataclass(frozen=True, slots=True)
class Started:
    """A training that a script starts, and the script."""

    launch: Launch
    entry: Entry
    text: str


def launchers_in(entries: Iterable[Entry], unread: list[Unread]) -> tuple[Started, ...]:
    """Every training that the shell scripts among some files start."""
    found: list[Started] = []
    scripts = [entry for entry in entries if syntax_of(entry.name) == SYNTAX]
    for entry in scripts[:MOST_FILES]:
        try:
            text = text_of(entry.path, entry.file)
            found.extend(Started(launch, entry, text) for launch in trainings(text, entry.file))
        except UnreadableFile as problem:
            unread.append(Unread(entry.file, str(problem).removeprefix(f"{entry.file}: ")))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Signs:
    """What a run tells about how it was started: its logs' names, what they say first, what they recorded."""

    logs: Sequence[str] = ()
    heads: str = ""
    recorded: Sequence[Mapping[str, object]] = ()


def started_by(own: Sequence[Started], others: Sequence[Started], signs: Signs) -> Started | None:
    """The launcher of a run: one that the run points to, or else the only one kept with it."""
    fitting = [one for one in (*own, *others) if not _contradicts(one, signs)]
    points = {id(one): _points(one, signs) for one in fitting}
    best = max(points.values(), default=0)
    if best > 0:
        pointed = [one for one in fitting if points[id(one)] == best]
        return pointed[0] if len(pointed) == 1 else None
    near = [one for one in own if one in fitting]
    return near[0] if len(near) == 1 and len(own) == 1 else None


def _contradicts(one: Started, signs: Signs) -> bool:
    """Whether a record of the run's settings says something else than a launcher does."""
    given = _values(one)
    return bool(signs.recorded) and all(_agreeing(given, record) is None for record in signs.recorded)


def _points(one: Started, signs: Signs) -> int:
    """How strongly a run points to a launcher."""
    logs = {PurePosixPath(log).name for log in signs.logs}
    writes = any(PurePosixPath(output).name in logs for output in one.launch.outputs)
    named = re.search(rf"(?<![\w.-]){re.escape(one.entry.name)}(?![\w-])", signs.heads) is not None
    given = _values(one)
    shared = max((_agreeing(given, record) or 0 for record in signs.recorded), default=0)
    typed = sum(_is_typed(word.text, signs.heads) for word in one.launch.words)
    return 100 * writes + 100 * named + (shared if shared >= FEWEST_SHARED else 0) + typed


def _is_typed(word: str, heads: str) -> bool:
    return "=" in word and re.search(rf"(?<![\w.]){re.escape(word)}(?![\w.])", heads) is not None


def _values(one: Started) -> dict[str, object]:
    settings = (*one.launch.settings, *one.launch.overrides)
    return {setting.dotted: setting.value for setting in settings if setting.known and setting.key}


def _agreeing(given: Mapping[str, object], record: Mapping[str, object]) -> int | None:
    """How many numbers and switches a launcher and a record share; None where they differ on one.

    Texts say less: programs add to names and paths before they record them.
    """
    shared = [key for key in given if key in record and _number(given[key]) is not None]
    told = [key for key in shared if _number(record[key]) is not None]
    return len(told) if all(_number(given[key]) == _number(record[key]) for key in told) else None


def _number(value: object) -> float | None:
    if not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None
