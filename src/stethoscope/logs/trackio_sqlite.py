"""Trackio's database: one for each project, a row for each call of `trackio.log`.

    metrics  id, run_id, timestamp, run_name, step, metrics       metrics: {"loss": 0.5, "grad": "NaN"}
    configs  run_id, run_name, config

The first versions had no run_id. The latest run is read; the others are named.
"""

from __future__ import annotations

import math
import sqlite3
from datetime import datetime

from stethoscope.errors import UnreadableFile
from stethoscope.logs._reading.events import kind_of
from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.kept_settings import kept_settings
from stethoscope.logs._stores.sqlite import Tables, opened, tables_of
from stethoscope.logs._tables.json_values import numbers_of, record_in
from stethoscope.logs._tables.table import Table
from stethoscope.run import Document, Event, Log

FORMAT = "Trackio database"

MOST_ROWS = 5_000_000  # of one run
MOST_ALERTS = 1_000
NAMED = 5  # other runs that a note spells out

_METRICS = frozenset({"timestamp", "run_name", "step", "metrics"})


def recognise(head: Head) -> float:
    """A database with Trackio's table of metrics."""
    return 0.95 if _is_store(tables_of(head)) else 0.0


def read(head: Head) -> Log:
    """The run that was written last."""
    tables = tables_of(head)
    if not _is_store(tables):
        raise UnreadableFile(
            f"{head.file}: a database without Trackio's tables, or one that cannot be opened"
        )
    key = "run_id" if "run_id" in tables["metrics"] else "run_name"
    table = Table()
    with opened(head) as database:
        runs = database.execute(
            f"SELECT {key}, max(run_name) FROM metrics GROUP BY {key} ORDER BY max(rowid) DESC LIMIT 10000"
        ).fetchall()
        if not runs:
            raise UnreadableFile(f"{head.file}: a Trackio project without a logged value")
        chosen = runs[0][0]
        bad = _fill(table, database, key, chosen)
        documents = _config(database, tables, chosen, head.file)
        events, alerts = _alerts(database, tables, chosen, head.file)
    if not table.columns():
        raise UnreadableFile(f"{head.file}: a Trackio run without a number in it")
    found = table.reading(head.file)
    notes = [*found.notes, *_about(runs), *alerts]
    if bad:
        notes.append(f"{bad:,} rows are no JSON objects and were passed over")
    return Log(
        head.file,
        FORMAT,
        found.series,
        events,
        documents,
        started=found.started,
        last_written=found.last_written or head.changed,
        total_steps=found.total_steps,
        notes=tuple(notes),
    )


def _is_store(tables: Tables) -> bool:
    return tables.get("metrics", frozenset()) >= _METRICS


def _fill(table: Table, database: sqlite3.Connection, key: str, run: object) -> int:
    """Add the rows of a run; gives how many are no objects."""
    rows = database.execute(
        f"SELECT step, timestamp, metrics FROM metrics WHERE {key} IS ? ORDER BY rowid LIMIT {MOST_ROWS}",
        (run,),
    )
    bad = 0
    for step, written, text in rows:
        record = _record(text)
        if record is None:
            bad += 1
            continue
        numbers = [(name, value) for name, value in numbers_of(_without_media(record)) if name != "_step"]
        if isinstance(step, int):  # counts calls of log, unless a step is passed
            numbers.append(("_step", float(step)))
        moment = _moment(written)
        if moment is not None:
            numbers.append(("_timestamp", moment))
        table.add(numbers)
    return bad


def _record(cell: object) -> dict[str, object] | None:
    """The object in a cell, which is text or, in later versions, the bytes of one."""
    if isinstance(cell, bytes):
        cell = cell.decode("utf-8", errors="replace")
    return record_in(cell) if isinstance(cell, str) else None


def _without_media(record: dict[str, object]) -> dict[str, object]:
    """The record without images, tables and the like: objects that say their type."""
    return {
        name: value for name, value in record.items() if not (isinstance(value, dict) and "_type" in value)
    }


def _moment(written: object) -> float | None:
    if not isinstance(written, str):
        return None
    try:
        moment = datetime.fromisoformat(written).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
    return moment if math.isfinite(moment) else None


def _config(database: sqlite3.Connection, tables: Tables, run: object, file: str) -> tuple[Document, ...]:
    columns = tables.get("configs", frozenset())
    key = "run_id" if "run_id" in columns else "run_name"
    if not {"config", key} <= columns:
        return ()
    row = database.execute(
        f"SELECT config FROM configs WHERE {key} IS ? ORDER BY rowid DESC LIMIT 1", (run,)
    ).fetchone()
    held = _record(row[0]) if row else None
    # Names with an underscore are Trackio's own: who began the run, and when.
    settings = {name: value for name, value in (held or {}).items() if not name.startswith("_")}
    return kept_settings(settings, file)


def _alerts(
    database: sqlite3.Connection, tables: Tables, run: object, file: str
) -> tuple[tuple[Event, ...], list[str]]:
    """What the run raised an alarm about: known words are events, all of them are told."""
    if not {"run_id", "title", "text", "step"} <= tables.get("alerts", frozenset()):
        return (), []
    rows = database.execute(
        f"SELECT title, text, step FROM alerts WHERE run_id IS ? ORDER BY rowid LIMIT {MOST_ALERTS}", (run,)
    ).fetchall()
    events = []
    for title, text, step in rows:
        said = f"{title}: {text}" if text else str(title)
        kind = kind_of(said)
        if kind is not None:
            events.append(Event(kind, said[:300], file, 0, step if isinstance(step, int) else None))
    titles = list(dict.fromkeys(str(title)[:60] for title, _, _ in rows))
    noun = "alert was" if len(rows) == 1 else "alerts were"
    note = [f"{len(rows):,} {noun} raised by the run: {', '.join(titles[:3])}"] if rows else []
    return tuple(events), note


def _about(runs: list[tuple[object, object]]) -> list[str]:
    others = [str(name) for _, name in runs[1:]]
    if not others:
        return []
    listed = ", ".join(others[:NAMED]) + (" ..." if len(others) > NAMED else "")
    noun = "run was" if len(others) == 1 else "runs were"
    return [f"the latest run, {runs[0][1]}, was read; {len(others):,} other {noun} not: {listed}"]
