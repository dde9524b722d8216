"""Points as Parquet, written by whichever of pyarrow and polars is installed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import numpy as np

from stethoscope.errors import UnwritableFile
from stethoscope.report.points import Rows

ROWS_IN_A_GROUP = 1 << 20
WORDS = ("run", "series", "logged_as", "file", "axis")


def write(rows: Iterable[Rows], file: BinaryIO) -> None:
    """Write the columns of the long form; words are kept once, in dictionaries."""
    try:
        _with_pyarrow(rows, file)
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] != "pyarrow":
            raise
        _with_polars(rows, file)


def _with_pyarrow(rows: Iterable[Rows], file: BinaryIO) -> None:
    import pyarrow
    import pyarrow.parquet

    word = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    schema = pyarrow.schema(
        [
            ("run", word),
            ("series", word),
            ("step", pyarrow.int64()),
            ("value", pyarrow.float64()),
            ("logged_as", word),
            ("file", word),
            ("axis", word),
            ("segment", pyarrow.int32()),
        ]
    )
    with pyarrow.parquet.ParquetWriter(file, schema) as writer:
        for group in _groups(rows):
            columns = {name: _repeated(pyarrow, group, name) for name in WORDS}
            columns["step"] = pyarrow.array(np.concatenate([part.steps for part in group]))
            columns["value"] = pyarrow.array(np.concatenate([part.values for part in group]))
            numbers = np.repeat([part.segment or 0 for part in group], [len(part.steps) for part in group])
            columns["segment"] = pyarrow.array(numbers.astype(np.int32), mask=numbers == 0)
            writer.write_table(pyarrow.table([columns[name] for name in schema.names], schema=schema))


def _repeated(pyarrow: Any, group: list[Rows], name: str) -> Any:
    words = [_clean(getattr(part, name)) for part in group]
    known = {word: place for place, word in enumerate(dict.fromkeys(words))}
    places = np.repeat([known[word] for word in words], [len(part.steps) for part in group])
    return pyarrow.DictionaryArray.from_arrays(places.astype(np.int32), list(known))


def _with_polars(rows: Iterable[Rows], file: BinaryIO) -> None:
    try:
        import polars
    except ModuleNotFoundError:
        raise UnwritableFile(
            "writing Parquet needs pyarrow or polars: `pip install pyarrow`. CSV needs neither: --format csv."
        ) from None
    frames = [
        polars.DataFrame(
            {
                "run": [_clean(part.run)],
                "series": [_clean(part.series)],
                "step": [part.steps],
                "value": [part.values],
                "logged_as": [_clean(part.logged_as)],
                "file": [_clean(part.file)],
                "axis": [_clean(part.axis)],
                "segment": [part.segment],
            },
            schema_overrides={
                "step": polars.List(polars.Int64),
                "value": polars.List(polars.Float64),
                "segment": polars.Int32,
            },
        )
        for part in rows
    ]
    polars.concat(frames).explode("step", "value").write_parquet(file)


def _groups(rows: Iterable[Rows]) -> Iterator[list[Rows]]:
    """Rows by the million: a reader skips the groups it does not want."""
    group: list[Rows] = []
    many = 0
    for part in rows:
        group.append(part)
        many += len(part.steps)
        if many >= ROWS_IN_A_GROUP:
            yield group
            group, many = [], 0
    if group:
        yield group


def _clean(text: str) -> str:
    # A file's name need not be Unicode; Parquet's words must be.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
