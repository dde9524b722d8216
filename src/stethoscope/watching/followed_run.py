"""A run whose files are still being written: what was read stays read, only what was added is read on.

The logs are followed. Settings and source are read once, and again when one of those in use changes, when
another one appears, or when the set of logs does.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from stethoscope.errors import NothingToRead, StethoscopeError, UnreadableFile
from stethoscope.logs import splice
from stethoscope.logs.bundles import Bundle, bundled, read_bundle
from stethoscope.logs.following import Follower
from stethoscope.logs.rivals import of_one_run
from stethoscope.read import MOST_LOGS, latest_state, read, summaries_beside_histories
from stethoscope.recipe.in_use import looks_like_settings
from stethoscope.run import Log, Run, Unread
from stethoscope.run.checkpoint_files import checkpoints_in, is_checkpoint
from stethoscope.run.file_times import LogFile, told_by_themselves
from stethoscope.run.folder import Entry
from stethoscope.run.place import STDIN, Place, place_of

Identity = tuple[int, int]  # device and inode: a renamed file is still the same
Mark = tuple[int, float]  # size and time of change

GONE: Identity = (0, 0)
MOST_REMEMBERED = 20_000  # files of which it is known whether they hold settings


class Unwatchable(StethoscopeError):
    """The path leads to something that cannot be followed, and never will."""


@dataclass(slots=True)
class FollowedRun:
    """The run at a path. `poll` gives it as far as it is written; `written` is when a log last grew."""

    path: str
    written: float | None = None
    _base: Run | None = None
    _around: frozenset[object] = frozenset()
    _followers: dict[Identity, Follower] = field(default_factory=dict)
    _logs: dict[Identity, Log] = field(default_factory=dict)
    _bundles: dict[Path, tuple[Mark, LogFile | None]] = field(default_factory=dict)
    _settings: dict[tuple[str, int, float], bool] = field(default_factory=dict)
    _given: Mark = (-1, -1.0)
    _log_files: tuple[tuple[Path, str], ...] = ()
    _stamps: dict[Path, tuple[int, int] | None] = field(default_factory=dict)
    _told: frozenset[object] | None = None  # None until the followers have read what there is

    @property
    def settled(self) -> bool:
        """Whether the followers have read all that was there, so that a poll reads only what was added."""
        return self._told is not None

    def poll(self) -> Run | None:
        """The run, or None where nothing changed; raises NothingToRead while there is nothing to read."""
        must_be_watchable(self.path)
        place = place_of(self.path)
        if self._base is None or self._around != self._surroundings(place):
            return self._read_all(place)
        changed = self._follow(place)
        files = self._files(place)
        self._note_when_written(place, files)
        if self._told is None and self._base.logs and _tells_as_much(files, self._base):
            changed = False  # the followers have caught up with what was read
        if self._is_not_enough(place, files):
            return self._read_all(place)
        return self._joined(place, files) if changed else None

    @property
    def log_files(self) -> tuple[tuple[Path, str], ...]:
        """The files of the run's logs, and the names to show for them."""
        return self._log_files

    def has_grown(self) -> bool:
        """Whether a log was written to since last asked: a look at the files' sizes and times only."""
        stamps = {file: _stamp(file) for file in self._stamps}
        changed = any(stamp is not None and stamp != self._stamps[file] for file, stamp in stamps.items())
        self._stamps = stamps
        return changed

    def _read_all(self, place: Place) -> Run:
        """Read everything there is, settings and source included."""
        self._base = self._told = None
        self._base = read(self.path)
        self._around = self._surroundings(place)
        self._given = _mark(place.given[0]) if place.given else self._given
        self._note_when_written(place, [])
        return self._base

    def _surroundings(self, place: Place) -> frozenset[object]:
        """What the settings and the source depend on: those in use as they are, the others by name."""
        logs = {log.file for log in self._base.logs} if self._base else set()
        used = [(file, _stamp(file)) for file in _in_use(self._base) if file not in logs]
        names = [
            entry.file
            for entry in place.folder.files
            if entry.file not in logs and (entry.name.endswith(".py") or self._is_settings(entry))
        ]
        return frozenset([*used, *names])

    def _is_settings(self, entry: Entry) -> bool:
        key = (entry.file, entry.size, entry.changed)
        if key not in self._settings:
            if len(self._settings) > MOST_REMEMBERED:
                self._settings.clear()
            self._settings[key] = looks_like_settings(entry)
        return self._settings[key]

    def _follow(self, place: Place) -> bool:
        """Read on in every log; says whether any of them told something."""
        bundles, alone = ([], place.given) if place.given else bundled(place.folder.files)
        present = {_identity(entry): entry for entry in _candidates(alone, bool(place.given))}
        present.pop(GONE, None)
        changed = bool(self._logs.keys() - present.keys())
        for key, entry in present.items():
            follower = self._followers.setdefault(key, Follower(entry.path, entry.file))
            follower.path, follower.file = entry.path, entry.file
            log = _polled(follower)
            if log is not None:
                self._logs[key] = log
                changed = True
        self._followers = {key: self._followers[key] for key in present}
        self._logs = {key: log for key, log in self._logs.items() if key in present}
        return self._follow_bundles(bundles) or changed

    def _follow_bundles(self, bundles: Sequence[Bundle]) -> bool:
        changed = self._bundles.keys() != {bundle.root for bundle in bundles}
        followed: dict[Path, tuple[Mark, LogFile | None]] = {}
        for bundle in bundles:
            mark = (sum(part.size for part in bundle.files), max(part.changed for part in bundle.files))
            known = self._bundles.get(bundle.root)
            if known is not None and known[0] == mark:
                followed[bundle.root] = known
                continue
            followed[bundle.root] = (mark, _read_together(bundle) or (known[1] if known else None))
            changed = True
        self._bundles = followed
        return changed

    def _files(self, place: Place) -> list[LogFile]:
        """The logs read so far with their files, in the order in which `read` has them."""
        entries = place.given or place.folder.files
        keys = [(_identity(entry), entry) for entry in entries]
        alone = [LogFile(self._logs[key], entry) for key, entry in keys if key in self._logs]
        together = [file for _, file in self._bundles.values() if file is not None]
        return [*alone, *together][:MOST_LOGS]

    def _note_when_written(self, place: Place, files: Iterable[LogFile]) -> None:
        entries = [entry for file in files for entry in (file.parts or (file.entry,))]
        if not entries and self._base is not None:
            logs = {log.file for log in self._base.logs}
            entries = [entry for entry in place.files if entry.file in logs]
        self.written = max((entry.changed for entry in entries), default=self.written)
        self._log_files = tuple((entry.path, entry.file) for entry in entries)
        # A log that appears has grown, but for those of the first look.
        known = bool(self._stamps)
        stamps = {entry.path: None if known else _stamp(entry.path) for entry in entries}
        self._stamps = stamps | {path: stamp for path, stamp in self._stamps.items() if path in stamps}

    def _is_not_enough(self, place: Place, files: Sequence[LogFile]) -> bool:
        """Whether all has to be read again: for other logs, settings dumped in one, a log only `read` knows.

        Raises NothingToRead where the logs are gone.
        """
        assert self._base is not None
        if place.given and not files:
            self._told = frozenset()
            return _mark(place.given[0]) != self._given
        if not files and self._base.logs:
            raise NothingToRead(f"{self.path} holds no log any more.")
        told = _told_by(files)
        before, self._told = self._told, told
        return (told != before) if before is not None else bool(files) and not self._base.logs

    def _joined(self, place: Place, files: Sequence[LogFile]) -> Run:
        """The run as `read` would put it together from these logs."""
        assert self._base is not None
        unread: list[Unread] = []
        kept = latest_state(files, place.root)
        for summary in summaries_beside_histories(kept):
            kept.remove(summary)
        own = told_by_themselves(of_one_run(kept, unread), place.folder.files)
        logs = tuple(file.log for file in own)
        spliced = splice(logs)
        return replace(
            self._base,
            logs=logs,
            series=spliced.series,
            abandoned=spliced.abandoned,
            segments=spliced.segments,
            notes=spliced.notes,
            checkpoints=checkpoints_in(place.folder.files, place.root),
        )


def must_be_watchable(path: str) -> None:
    """Raise Unwatchable for what never grows under a name: standard input, a pipe, a device."""
    if path == STDIN:
        raise Unwatchable("standard input cannot be watched; `tee` it into a file, and watch that.")
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return
    if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
        raise Unwatchable(f"{path} is neither a file nor a folder; `tee` it into a file, and watch that.")


def _in_use(run: Run | None) -> Iterator[str]:
    """The settings files and the source that a run was read with."""
    if run is not None and run.recipe is not None:
        yield from (config.file for config in run.recipe.files)
    if run is not None and run.program is not None:
        yield from (source.file for source in run.program)


def _stamp(file: str | Path) -> tuple[int, int] | None:
    try:
        status = os.stat(file)
    except (OSError, ValueError):
        return None
    return status.st_size, status.st_mtime_ns


def _candidates(entries: Iterable[Entry], asked_for: bool) -> Iterator[Entry]:
    """The files that may be logs: source and checkpoints, which are large, are not opened."""
    for entry in entries:
        if asked_for or not (entry.name.endswith(".py") or is_checkpoint(entry)):
            yield entry


def _identity(entry: Entry) -> Identity:
    try:
        status = os.stat(entry.path)
    except OSError:
        return GONE
    return status.st_dev, status.st_ino


def _polled(follower: Follower) -> Log | None:
    """What a log tells; one that its reader stumbles over is left as it was."""
    try:
        return follower.poll()
    except Exception:
        if os.environ.get("STETHOSCOPE_DEBUG"):
            raise
        return None


def _read_together(bundle: Bundle) -> LogFile | None:
    try:
        return read_bundle(bundle)
    except (UnreadableFile, OSError):
        return None


def _mark(entry: Entry) -> Mark:
    return entry.size, entry.changed


def _told_by(files: Sequence[LogFile]) -> frozenset[object]:
    """Which logs there are, and the settings dumped inside them."""
    return frozenset((file.entry.file, len(file.log.documents)) for file in files)


def _tells_as_much(files: Sequence[LogFile], run: Run) -> bool:
    told = {file.log.file: _amount(file.log) for file in files}
    return all(told.get(log.file) == _amount(log) for log in run.logs)


def _amount(log: Log) -> tuple[int, int, int]:
    return log.points, len(log.events), len(log.documents)
