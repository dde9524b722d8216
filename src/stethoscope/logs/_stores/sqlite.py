"""Opens a tracker's SQLite database to read it, whoever wrote it and whatever state it was left in.

Nothing is written beside the user's file, no view, trigger or function of the database is run, and a query
that does not end is ended.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

from stethoscope.errors import UnreadableFile
from stethoscope.logs._reading.head import Head

MAGIC = b"SQLite format 3\x00"
LOCK_SECONDS = 1.0  # to wait for a writer
QUERY_SECONDS = 60.0  # of CPU time; ten million metrics take a tenth of it
INSTRUCTIONS_BETWEEN_LOOKS = 50_000
LONGEST_TEXT = 64 << 20  # bytes of one cell
LARGEST_COPY = 2 << 30  # bytes of a database and its log of changes that are copied to be read
_WAL = b"\x02\x02"  # bytes 18 and 19 of the file: changes are kept in a file beside it

Tables = Mapping[str, frozenset[str]]


def is_database(head: Head) -> bool:
    """Whether the file begins as every SQLite database does."""
    return head.start.startswith(MAGIC)


def tables_of(head: Head) -> Tables:
    """The tables of a database and their columns; none where it cannot be opened."""
    if not is_database(head):
        return {}
    try:
        return _tables_of(head.path, head.size, head.changed, head.packing)
    except (UnreadableFile, OSError):
        return {}


@lru_cache(maxsize=16)
def _tables_of(path: Path, size: int, changed: float | None, packing: str | None) -> Tables:
    head = Head(path, str(path), MAGIC, size, changed=changed, packing=packing)
    with opened(head) as database:
        return _tables(database)


def _tables(database: sqlite3.Connection) -> Tables:
    """Real tables only: a view is a program of somebody else's."""
    listed = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' LIMIT 1000").fetchall()
    found = {}
    for (name,) in listed:
        if isinstance(name, str):
            columns = database.execute("SELECT name FROM pragma_table_info(?) LIMIT 1000", (name,))
            found[name] = frozenset(str(column) for (column,) in columns)
    return found


@contextmanager
def opened(head: Head) -> Iterator[sqlite3.Connection]:
    """The database, read-only; whatever goes wrong with it raises UnreadableFile."""
    with tempfile.TemporaryDirectory(prefix="stethoscope-") as folder:
        database = None
        try:
            database = _open(head, Path(folder))
            yield database
        except sqlite3.Error as problem:
            raise UnreadableFile(f"{head.file}: the database cannot be read: {_said(problem)}") from problem
        except (OverflowError, UnicodeError) as problem:
            raise UnreadableFile(f"{head.file}: the database holds what is no number: {problem}") from problem
        finally:
            if database is not None:
                database.close()


def _open(head: Head, folder: Path) -> sqlite3.Connection:
    path, plain = head.path.absolute(), head.packing is None
    changes, index = Path(f"{path}-wal"), Path(f"{path}-shm")
    if not plain:
        (folder / "unpacked.db").write_bytes(head.whole())
        return _checked(folder / "unpacked.db", immutable=True)
    if head.start[18:20] == _WAL or changes.exists():
        if not changes.exists() or changes.stat().st_size == 0:
            return _checked(path, immutable=True)
        if not index.exists():  # reading would make one beside the user's file
            if path.stat().st_size + changes.stat().st_size > LARGEST_COPY:
                return _checked(path, immutable=True)
            shutil.copyfile(path, folder / "copy.db")
            shutil.copyfile(changes, folder / "copy.db-wal")
            return _checked(folder / "copy.db", immutable=False, mode="rw")
    try:
        return _checked(path, immutable=False)
    except sqlite3.OperationalError:  # locked, or in the middle of a change whose journal cannot be undone
        return _checked(path, immutable=True)


def _checked(path: Path, immutable: bool, mode: str = "ro") -> sqlite3.Connection:
    """A connection that has proved to answer, and that nothing in the database can abuse."""
    where = f"file:{quote(str(path))}?mode={mode}{'&immutable=1' if immutable else ''}"
    database = sqlite3.connect(where, uri=True, timeout=LOCK_SECONDS, isolation_level=None)
    try:
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_TEXT)
        database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        for setting in ("trusted_schema=OFF", "query_only=ON", "cell_size_check=ON", "mmap_size=0"):
            database.execute(f"PRAGMA {setting}")
        database.text_factory = lambda text: text.decode("utf-8", errors="replace")
        latest = time.process_time() + QUERY_SECONDS
        database.set_progress_handler(lambda: int(time.process_time() > latest), INSTRUCTIONS_BETWEEN_LOOKS)
        database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        database.close()
        raise
    return database


def _said(problem: sqlite3.Error) -> str:
    return "it took too long" if str(problem) == "interrupted" else str(problem)
