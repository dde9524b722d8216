"""What the times of files tell about a run: whether a file changed after the run began.

A clone or a copy gives every file the time it was made at, so times are believed only where the log
file's own time agrees with the last time written inside it, and where the files differ among each other.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from stethoscope.run.folder import Entry
from stethoscope.run.log import Log

# Logs write local time without a zone: the difference to the file's time is whole quarters of an hour.
ZONE_STEP = 15 * 60.0
WIDEST_ZONE = 14 * 3600.0
SLACK = 90.0  # seconds between the start of a program and its first line, and rounding
SAME_MOMENT = 5 * 60.0  # files whose times lie closer together were written by one clone or copy

FEW_FILES = 2  # in a folder: of so few, all may have been written just now

_IN_NAME = re.compile(r"(20\d\d)-?([01]\d)-?([0-3]\d)[_T/-]?([0-2]\d)[-:]?([0-5]\d)[-:]?([0-5]\d)")


@dataclass(frozen=True, slots=True)
class LogFile:
    """A log together with the file it was read from; `parts` where it was put together from several."""

    log: Log
    entry: Entry
    parts: tuple[Entry, ...] = ()


def changed_after(logs: Sequence[LogFile], files: Iterable[Entry]) -> bool | None:
    """Whether any of the files was changed after the run began; None where that cannot be known."""
    start = started(logs)
    times = [entry.changed for entry in files]
    if start is None or not times:
        return None
    newest_log = max(log.entry.changed for log in logs)
    if all(abs(moment - newest_log) < SAME_MOMENT for moment in times):
        return None
    return any(moment > start + SLACK for moment in times)


def told_by_themselves(logs: Sequence[LogFile], files: Iterable[Entry]) -> tuple[LogFile, ...]:
    """The logs without the times that a clone or copy gave their files: they say nothing about the run."""
    times = [entry.changed for entry in files]
    first, last = min(times, default=0.0), max(times, default=0.0)
    told = []
    for file in logs:
        of_the_file = file.log.last_written == file.entry.changed
        same = max(last - file.entry.changed, file.entry.changed - first) < SAME_MOMENT
        copied = of_the_file and len(times) > FEW_FILES and same
        told.append(replace(file, log=replace(file.log, last_written=None)) if copied else file)
    return tuple(told)


def started(logs: Sequence[LogFile]) -> float | None:
    """When the run began, on the clock that the files' times are kept in."""
    known = [start for log in logs if (start := _start(log)) is not None]
    return min(known, default=None)


def _start(file: LogFile) -> float | None:
    log, changed = file.log, file.entry.changed
    begun = log.started if log.started is not None else _time_in_name(file.entry.file)
    if begun is None or log.last_written is None:
        return None
    zone = changed - log.last_written
    quarters = round(zone / ZONE_STEP)
    if abs(zone) > WIDEST_ZONE + SLACK or abs(zone - quarters * ZONE_STEP) > SLACK:
        return None
    return begun + quarters * ZONE_STEP


def _time_in_name(name: str) -> float | None:
    found = _IN_NAME.search(name)
    if found is None:
        return None
    try:
        return time.mktime(time.strptime("".join(found.groups()), "%Y%m%d%H%M%S"))
    except (ValueError, OverflowError):
        return None
