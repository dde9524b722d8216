"""Parquet tables of a run: a column for each signal, or a row for each value with its name beside it.

    _step, _timestamp, train/loss, ...       W&B's exported history, Trackio's export
    run_name, step, timestamp, loss, ...     several runs in one table: the last one is read
    key, step, value                         one value a row

Reading needs pyarrow or polars; that a file is a log is seen without them, by the names in its footer.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from stethoscope.errors import UnreadableFile
from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.points import MAX_SERIES
from stethoscope.logs._stores.parquet_schema import MAGIC, leaves_of
from stethoscope.logs._tables.table import TAG_KEYS, TIME_COLUMNS, Table, looks_like_log
from stethoscope.run import Log

FORMAT = "Parquet table"

INSTALL = "pip install 'stethoscope[fast]'"
ROWS_AT_ONCE = 65_536
MOST_VALUES = 50_000_000  # a file of a few kilobytes can claim billions
RUN_COLUMNS = ("run_id", "run_uuid", "run_name", "run", "trial_id", "experiment_id")
TEXT_COLUMNS = frozenset({*TAG_KEYS, *RUN_COLUMNS, *TIME_COLUMNS})
NAMED = 5  # other runs that a note spells out

Numbers = npt.NDArray[np.float64]


def recognise(head: Head) -> float:
    """A Parquet file whose numeric columns are a training log's."""
    if head.packing or not head.start.startswith(MAGIC):
        return 0.0
    leaves = leaves_of(head)
    numeric = [leaf.name for leaf in leaves if leaf.numeric]
    others = [leaf.name for leaf in leaves if not leaf.numeric and leaf.name not in TEXT_COLUMNS]
    # Of a set of data, most columns are texts or lists.
    return 0.8 if looks_like_log(numeric) and len(others) <= 2 * len(numeric) else 0.0


def read(head: Head) -> Log:
    """Each numeric column, or each named value, against the column that counts steps."""
    table = _Filled(Table())
    for batch in _batches(head):
        table.add(batch)
        if table.values > MOST_VALUES:
            table.notes.append(f"more than {MOST_VALUES:,} values; the rest was passed over")
            break
    if not table.table.columns():
        raise UnreadableFile(f"{head.file}: a Parquet table without a number in it")
    found = table.table.reading(head.file)
    started, last = table.times
    return Log(
        head.file,
        FORMAT,
        found.series,
        started=found.started or started,
        last_written=found.last_written or last or head.changed,
        total_steps=found.total_steps,
        notes=(*found.notes, *table.about_runs(), *table.notes),
    )


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows: numbers with NaN kept and missing ones masked, and texts."""

    rows: int
    numbers: dict[str, tuple[Numbers, npt.NDArray[np.bool_]]]  # values, and which of them are there
    texts: dict[str, list[str | None]]


class _Filled:
    """A table being filled from batches; of several runs in one file, it holds the one met last."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.values = 0
        self.notes: list[str] = []
        self.runs: dict[str, str] = {}  # what they are called, by what tells them apart
        self.times: tuple[float | None, float | None] = (None, None)

    def add(self, batch: Batch) -> None:
        """Append the rows of a batch."""
        run = next((name for name in RUN_COLUMNS if name in batch.texts), None)
        if run is None:
            self._add(batch)
            return
        texts = batch.texts[run]
        begins = [at for at in range(batch.rows) if at == 0 or texts[at] != texts[at - 1]]
        for first, end in zip(begins, [*begins[1:], batch.rows], strict=True):
            name = str(texts[first])
            if name not in self.runs or name != next(reversed(self.runs)):
                self.runs.pop(name, None)
                self.runs[name] = str(batch.texts.get("run_name", texts)[first])
                self.table, self.times = Table(), (None, None)
            self._add(_part(batch, first, end))

    def about_runs(self) -> list[str]:
        """Which runs the file holds besides the one that was read."""
        *others, last = self.runs.values() or ("",)
        if not others:
            return []
        listed = ", ".join(others[:NAMED]) + (" ..." if len(others) > NAMED else "")
        noun = "run was" if len(others) == 1 else "runs were"
        return [f"the last run, {last}, was read; {len(others):,} other {noun} not: {listed}"]

    def _add(self, batch: Batch) -> None:
        tag = next((name for name in TAG_KEYS if name in batch.texts and "value" in batch.numbers), None)
        first = self.table.rows
        for name, (values, there) in batch.numbers.items():
            self.values += int(there.sum())
            if tag is None or name != "value":
                rows = np.flatnonzero(there)
                self.table.add_block(name, rows + first, values[rows])
        if tag is not None:
            self._add_named(batch.texts[tag], *batch.numbers["value"], first)
        self._tell_time(batch)
        self.table.rows += batch.rows

    def _add_named(
        self, tags: list[str | None], values: Numbers, there: npt.NDArray[np.bool_], first: int
    ) -> None:
        """Values by the name beside each."""
        numbers: dict[str, int] = {}
        ids = np.fromiter((numbers.setdefault(tag or "", len(numbers)) for tag in tags), np.int64, len(tags))
        if len(numbers) > MAX_SERIES:
            self.table.refused = True
        order = np.argsort(np.where(there, ids, -1), kind="stable")
        bounds = np.searchsorted(ids[order][int((~there).sum()) :], np.arange(len(numbers) + 1))
        order = order[int((~there).sum()) :]
        for name, at in numbers.items():
            rows = order[bounds[at] : bounds[at + 1]]
            if name:
                self.table.add_block(name, rows + first, values[rows])

    def _tell_time(self, batch: Batch) -> None:
        """The first and last moment, where they are written as text."""
        column = next((name for name in TIME_COLUMNS if name in batch.texts), None)
        if column is None or not batch.rows:
            return
        began, ended = (_moment(batch.texts[column][at]) for at in (0, -1))
        self.times = (self.times[0] or began, ended or self.times[1])


def _part(batch: Batch, first: int, end: int) -> Batch:
    if (first, end) == (0, batch.rows):
        return batch
    numbers = {name: (v[first:end], there[first:end]) for name, (v, there) in batch.numbers.items()}
    texts = {name: held[first:end] for name, held in batch.texts.items()}
    return replace(batch, rows=end - first, numbers=numbers, texts=texts)


def _moment(text: str | None) -> float | None:
    try:
        return datetime.fromisoformat(text or "").timestamp()
    except (ValueError, OverflowError, OSError):
        return None


# --- the libraries --------------------------------------------------------------------------------------


def _batches(head: Head) -> Iterator[Batch]:
    """The rows of a file, some at a time; what a library raises becomes UnreadableFile."""
    if find_spec("pyarrow") is not None:
        reader = _with_pyarrow
    elif find_spec("polars") is not None:
        reader = _with_polars
    else:
        raise UnreadableFile(f"{head.file}: reading Parquet needs pyarrow or polars: {INSTALL}")
    try:
        yield from reader(head)
    except UnreadableFile:
        raise
    except MemoryError:
        raise UnreadableFile(f"{head.file}: the Parquet table does not fit into memory") from None
    except BaseException as problem:  # each library raises a family of its own; polars panics besides
        if not isinstance(problem, Exception) and type(problem).__name__ != "PanicException":
            raise
        said = str(problem).partition("\n")[0][:200]
        raise UnreadableFile(f"{head.file}: the Parquet table cannot be read: {said}") from problem


def _with_pyarrow(head: Head) -> Iterator[Batch]:
    import pyarrow as arrow
    import pyarrow.compute as compute
    from pyarrow import parquet

    kinds = arrow.types

    def held(name: str, column: Any, batch: Batch) -> None:
        kind = column.type
        if kinds.is_dictionary(kind):
            column, kind = column.dictionary_decode(), kind.value_type
        if kinds.is_struct(kind):
            for at, field in enumerate(kind):
                held(f"{name}/{field.name}", compute.struct_field(column, at), batch)
        elif kinds.is_timestamp(kind):
            seconds = compute.cast(column.cast(arrow.timestamp("us"), safe=False), arrow.int64())
            values = seconds.to_numpy(zero_copy_only=False).astype(np.float64) / 1e6
            batch.numbers[name] = values, column.is_valid().to_numpy(zero_copy_only=False)
        elif kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_decimal(kind):
            there = column.is_valid().to_numpy(zero_copy_only=False)
            values = column.cast(arrow.float64(), safe=False).to_numpy(zero_copy_only=False)
            batch.numbers[name] = values.astype(np.float64, copy=False), there
        elif (kinds.is_string(kind) or kinds.is_large_string(kind)) and name in TEXT_COLUMNS:
            batch.texts[name] = column.to_pylist()

    file = parquet.ParquetFile(head.path)
    wanted = [name for name in file.schema_arrow.names if _is_column(name)][:MAX_SERIES]
    for part in file.iter_batches(batch_size=ROWS_AT_ONCE, columns=wanted, use_threads=False):
        batch = Batch(part.num_rows, {}, {})
        for name, column in zip(part.schema.names, part.columns, strict=True):
            held(name, column, batch)
        yield batch


def _with_polars(head: Head) -> Iterator[Batch]:
    import polars

    def held(name: str, column: Any, batch: Batch) -> None:
        kind = column.dtype
        if isinstance(kind, polars.Struct):
            for field in column.struct.fields:
                held(f"{name}/{field}", column.struct.field(field), batch)
        elif isinstance(kind, polars.Datetime):
            values = column.dt.epoch("us").cast(polars.Float64).to_numpy() / 1e6
            batch.numbers[name] = values, column.is_not_null().to_numpy()
        elif kind.is_numeric():
            batch.numbers[name] = column.cast(polars.Float64).to_numpy(), column.is_not_null().to_numpy()
        elif kind in (polars.String, polars.Categorical) and name in TEXT_COLUMNS:
            batch.texts[name] = column.cast(polars.String).to_list()

    data = io.BytesIO(head.whole())
    names = [name for name in polars.read_parquet_schema(data) if _is_column(name)][:MAX_SERIES]
    most_rows = MOST_VALUES // max(len(names), 1) + 1
    frame = polars.read_parquet(data, columns=names, n_rows=most_rows)
    for at in range(0, frame.height, ROWS_AT_ONCE):
        part = frame.slice(at, ROWS_AT_ONCE)
        batch = Batch(part.height, {}, {})
        for column in part.get_columns():
            held(column.name, column, batch)
        yield batch


def _is_column(name: str) -> bool:
    """Whether a column may be a signal: not the number of a row, as databases and pandas write it."""
    return not name.startswith("__index_level") and name not in ("id", "index", "log_id")
