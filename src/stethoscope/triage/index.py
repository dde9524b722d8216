"""The index of runs: what was found out about each, kept in one SQLite file.

An entry is valid for a state of the run's files and of this program. Several processes may use the file at
once. A file that is damaged is begun anew, and where none can be written the index lives in memory: what is
remembered may always be found out again.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from stethoscope.triage.summary import Summary, as_json, from_json

FILE = "runs.sqlite3"
PATIENCE_SECONDS = 20.0  # for another process that is writing
IN_MEMORY = ":memory:"
LAYOUT = 1

_TABLE = """
CREATE TABLE IF NOT EXISTS runs (
    path TEXT PRIMARY KEY,      -- absolute
    state TEXT NOT NULL,        -- of the files and of the program, as one word
    summary TEXT NOT NULL,      -- JSON
    changed REAL NOT NULL       -- Unix time at which this entry was written
)
"""


class Index:
    """Summaries by the absolute paths of their runs. `note` says what is wrong with the file, if anything."""

    def __init__(self, folder: Path | None) -> None:
        self.note = ""
        self._file = str(folder / FILE) if folder is not None else IN_MEMORY
        self._connection = self._opened(folder)

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()

    def get(self, path: str, state: str) -> Summary | None:
        """What is known of a run in this state."""
        try:
            row = self._connection.execute(
                "SELECT summary FROM runs WHERE path = ? AND state = ?", (path, state)
            ).fetchone()
        except sqlite3.DatabaseError:
            self._begin_anew()
            return None
        return from_json(row[0]) if row else None

    def put(self, entries: Iterable[tuple[str, str, Summary]]) -> None:
        """Remember summaries, each with its path and state."""
        now = time.time()
        rows = [(path, state, as_json(summary), now) for path, state, summary in entries]
        with self._unless_it_cannot_be_written(), self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?)", rows)

    def changed(self, since: float = 0.0) -> tuple[Summary, ...]:
        """What was written after a time, the oldest first."""
        try:
            rows = self._connection.execute(
                "SELECT summary FROM runs WHERE changed > ? ORDER BY changed, path", (since,)
            ).fetchall()
        except sqlite3.DatabaseError:
            self._begin_anew()
            return ()
        return tuple(summary for row in rows if (summary := from_json(row[0])) is not None)

    def forget(self, paths: Iterable[str]) -> None:
        """Drop runs that are gone."""
        with self._unless_it_cannot_be_written(), self._connection:
            self._connection.executemany("DELETE FROM runs WHERE path = ?", [(path,) for path in paths])

    def paths_below(self, folder: str) -> tuple[str, ...]:
        """The runs that are known at or below a folder."""
        start = os.path.join(folder, "")
        try:
            rows = self._connection.execute("SELECT path FROM runs").fetchall()
        except sqlite3.DatabaseError:
            self._begin_anew()
            return ()
        return tuple(path for (path,) in rows if path == folder or path.startswith(start))

    def _opened(self, folder: Path | None) -> sqlite3.Connection:
        if folder is None:
            return _connected(IN_MEMORY)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            return self._in_memory(problem.strerror or str(problem))
        try:
            return _connected(self._file)
        except sqlite3.OperationalError as problem:  # locked, read-only, full
            return self._in_memory(str(problem))
        except sqlite3.DatabaseError:
            return self._anew()

    def _begin_anew(self) -> None:
        self.close()
        self._connection = self._anew()

    def _anew(self) -> sqlite3.Connection:
        """An empty index where a damaged one was."""
        self.note = f"the index {self._file} was damaged and is begun anew"
        try:
            for ending in ("", "-journal", "-wal", "-shm"):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self._file + ending)
            return _connected(self._file)
        except (OSError, sqlite3.Error) as problem:
            return self._in_memory(str(problem))

    def _in_memory(self, reason: str) -> sqlite3.Connection:
        self.note = f"nothing is remembered: the index {self._file} cannot be used ({reason.lower()})"
        return _connected(IN_MEMORY)

    @contextlib.contextmanager
    def _unless_it_cannot_be_written(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as problem:
            self.note = f"not everything is remembered: the index {self._file} cannot be written ({problem})"
        except sqlite3.DatabaseError:
            self._begin_anew()


def _connected(file: str) -> sqlite3.Connection:
    connection = sqlite3.connect(file, timeout=PATIENCE_SECONDS)
    try:
        (layout,) = connection.execute("PRAGMA user_version").fetchone()
        if layout not in (0, LAYOUT):
            connection.execute("DROP TABLE IF EXISTS runs")
        with connection:
            connection.execute(_TABLE)
            if layout != LAYOUT:
                connection.execute(f"PRAGMA user_version = {LAYOUT}")
    except BaseException:
        connection.close()
        raise
    return connection
