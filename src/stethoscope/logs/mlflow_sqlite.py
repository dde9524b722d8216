"""MLflow's database, `mlflow.db`: many runs in one file, a row for each value of each metric.

    runs     run_uuid, name, status, start_time, end_time, lifecycle_stage, experiment_id
    metrics  key, value, timestamp, run_uuid, step, is_nan      (a NaN is 0 with is_nan set)
    params   key, value, run_uuid

The latest run that has metrics is read; the others are named.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

import numpy as np

from stethoscope.errors import UnreadableFile
from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.points import MAX_SERIES
from stethoscope.logs._stores.mlflow import LARGEST_FLOAT, Points, assembled, document, ended
from stethoscope.logs._stores.sqlite import Tables, opened, tables_of
from stethoscope.run import Log

FORMAT = "MLflow database"

MOST_POINTS = 20_000_000  # of one run: half a gigabyte
MOST_RUNS = 100_000
MOST_PARAMETERS = 5_000
FEW_RUNS = 10  # with more, going through the values of all of them costs more than an index by run saves
NAMED = 5  # other runs that a note spells out

_METRICS = frozenset({"key", "value", "timestamp", "run_uuid", "step", "is_nan"})
_RUNS = frozenset({"run_uuid", "status", "start_time"})
_POINT = np.dtype([("step", "i8"), ("value", "f8"), ("is_nan", "i1"), ("time", "i8")])


def recognise(head: Head) -> float:
    """A database with MLflow's tables."""
    return 0.95 if _is_store(tables_of(head)) else 0.0


def read(head: Head) -> Log:
    """The latest run that has metrics."""
    tables = tables_of(head)
    if not _is_store(tables):
        raise UnreadableFile(f"{head.file}: a database without MLflow's tables, or one that cannot be opened")
    with opened(head) as database:
        runs = _runs(database, tables["runs"])
        latest_first = [*reversed(runs)]
        chosen = next((run for run in latest_first if keys_of(database, tables, run)), None)
        if chosen is None:
            raise UnreadableFile(f"{head.file}: {len(runs)} MLflow runs, none with a metric")
        notes: list[str] = []
        index = _index_of_runs(database) if len(runs) > FEW_RUNS else ""
        metrics = _metrics(database, tables, chosen, index, head.file, notes)
        parameters = _parameters(database, tables, chosen)
    found = assembled(metrics)
    if not found.series:
        raise UnreadableFile(f"{head.file}: the latest MLflow run holds no values but the machine's")
    return Log(
        head.file,
        FORMAT,
        found.series,
        ended(chosen.status, head.file, found.last_step),
        document(parameters, head.file),
        started=chosen.started or found.started,
        last_written=found.last_written or head.changed,
        notes=(*_about(chosen, runs), *found.notes, *notes),
    )


@dataclass(frozen=True, slots=True)
class _Run:
    id: str
    name: str
    status: str
    started: float | None

    def __str__(self) -> str:
        return f"{self.name} ({self.id[:8]})" if self.name else self.id


def _is_store(tables: Tables) -> bool:
    return tables.get("metrics", frozenset()) >= _METRICS and tables.get("runs", frozenset()) >= _RUNS


def _runs(database: sqlite3.Connection, columns: frozenset[str]) -> list[_Run]:
    """The runs in the order they began; deleted ones, which MLflow keeps for a while, are left out."""
    name = "name" if "name" in columns else "''"
    kept = "WHERE lifecycle_stage IS NOT 'deleted'" if "lifecycle_stage" in columns else ""
    rows = database.execute(
        f"SELECT run_uuid, {name}, status, CAST(start_time AS REAL) FROM runs {kept} "
        f"ORDER BY start_time LIMIT {MOST_RUNS}"
    )
    return [
        _Run(str(run), str(called or ""), str(status), start / 1000 if start else None)
        for run, called, status, start in rows
    ]


def keys_of(database: sqlite3.Connection, tables: Tables, run: _Run) -> list[str]:
    """The metrics of a run; MLflow keeps the latest value of each in a small table of its own."""
    small = {"key", "run_uuid"} <= tables.get("latest_metrics", frozenset())
    table = "latest_metrics" if small else "metrics"
    rows = database.execute(
        f"SELECT DISTINCT key FROM {table} WHERE run_uuid = ? ORDER BY key LIMIT {MAX_SERIES + 1}", (run.id,)
    )
    return [key for (key,) in rows if isinstance(key, str)]


def _metrics(
    database: sqlite3.Connection, tables: Tables, run: _Run, index: str, file: str, notes: list[str]
) -> dict[str, Points]:
    found = {}
    left = MOST_POINTS
    for key in keys_of(database, tables, run):
        rows = database.execute(
            "SELECT CAST(step AS INTEGER), CAST(value AS REAL), is_nan IS TRUE, CAST(timestamp AS INTEGER) "
            f"FROM metrics {index} WHERE run_uuid = ? AND key = ? AND value IS NOT NULL AND step IS NOT NULL "
            "AND timestamp IS NOT NULL LIMIT ?",
            (run.id, key, left),
        )
        points = np.fromiter(rows, dtype=_POINT)
        if (np.diff(points["time"]) < 0).any():
            points = points[np.lexsort((points["step"], points["time"]))]
        values = np.where(points["is_nan"] != 0, np.nan, points["value"])
        values[np.abs(values) >= LARGEST_FLOAT] *= np.inf
        found[key] = Points(points["time"].copy(), values, points["step"].copy(), file)
        left -= len(points)
        if left <= 0:
            notes.append(f"more than {MOST_POINTS:,} values; the rest was passed over")
            break
    return found


def _index_of_runs(database: sqlite3.Connection) -> str:
    """The index to use where there is one by run: SQLite itself prefers that by name, through all runs."""
    listed = database.execute(
        "SELECT list.name FROM pragma_index_list('metrics') AS list, pragma_index_info(list.name) AS info "
        "WHERE info.seqno = 0 AND info.name = 'run_uuid' AND NOT list.partial LIMIT 10"
    )
    names = [name for (name,) in listed if isinstance(name, str)]
    return 'INDEXED BY "{}"'.format(names[0].replace('"', '""')) if names else ""


def _parameters(database: sqlite3.Connection, tables: Tables, run: _Run) -> dict[str, str]:
    if not {"key", "value", "run_uuid"} <= tables.get("params", frozenset()):
        return {}
    rows = database.execute(
        f"SELECT key, value FROM params WHERE run_uuid = ? ORDER BY rowid LIMIT {MOST_PARAMETERS}", (run.id,)
    )
    return {str(key): str(value) for key, value in rows}


def _about(chosen: _Run, runs: list[_Run]) -> list[str]:
    others = [run for run in reversed(runs) if run is not chosen]
    if not others:
        return []
    listed = ", ".join(map(str, others[:NAMED])) + (" ..." if len(others) > NAMED else "")
    noun = "run was" if len(others) == 1 else "runs were"
    return [f"the latest run, {chosen}, was read; {len(others):,} other {noun} not: {listed}"]
