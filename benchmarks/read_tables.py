"""How fast tables and JSON lines are read: CPU time as a multiple of polars' on the same file.

    python benchmarks/read_tables.py [rows]        50,000 by default, of 20 columns

Needs the [fast] extra: polars is the yardstick. "core" is the reader without it, with numpy and the standard
library alone. All run in one process, one after the other; the best of several rounds counts. polars reads
the same file into a frame, except that it refuses NaN in JSON: there it reads the file without them. Reading
is timed without recognising the format, and also with it (`read_log`).
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import polars

from stethoscope.logs import csv_table, head_of, jsonl, read_log, read_with
from stethoscope.logs._tables import fast_columns as fast

ROUNDS = 9
COLUMNS = 20
NAMES = ["step", *(f"train/loss_{at}" for at in range(1, COLUMNS))]


@dataclass(frozen=True)
class Case:
    """A file, its reader, and the file that polars reads in its place."""

    title: str
    path: Path
    yardstick: Path


def cases(folder: Path, rows: int) -> Iterator[Case]:
    """Write the files."""
    noise = random.Random(0)
    table = [[step, *(noise.random() for _ in NAMES[1:])] for step in range(rows)]
    full, sparse = folder / "full.csv", folder / "sparse.csv"
    header = ",".join(NAMES) + "\n"
    full.write_text(header + "".join(",".join(map(repr, row)) + "\n" for row in table))
    yield Case("CSV, full-precision floats", full, full)
    kept = [[row[0], *(value if noise.random() < 0.3 else "" for value in row[1:])] for row in table]
    sparse.write_text(header + "".join(",".join(map(str, row)) + "\n" for row in kept))
    yield Case("CSV, seven cells in ten empty", sparse, sparse)
    lines, holed = folder / "full.jsonl", folder / "nan.jsonl"
    records = [dict(zip(NAMES, row, strict=True)) for row in table]
    lines.write_text("".join(json.dumps(record) + "\n" for record in records))
    yield Case("JSON lines", lines, lines)
    for record in records:
        if noise.random() < 0.05:
            record[noise.choice(NAMES[1:])] = float("nan")
    holed.write_text("".join(json.dumps(record) + "\n" for record in records))
    yield Case("JSON lines, NaN in one of twenty", holed, lines)


def measure(case: Case) -> dict[str, float]:
    """CPU seconds of every way to read a file."""
    reader = csv_table if case.path.suffix == ".csv" else jsonl
    scan = polars.read_csv if case.path.suffix == ".csv" else polars.read_ndjson
    ways: dict[str, Callable[[], object]] = {
        "polars": lambda: scan(case.yardstick, infer_schema_length=1000),
        "fast": lambda: read_with(reader, head_of(case.path, case.path.name)),
        "core": lambda: without_polars(lambda: read_with(reader, head_of(case.path, case.path.name))),
        "read_log": lambda: read_log(case.path),
    }
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(ROUNDS):  # one after the other, so that all meet the same disturbances
        for name, way in ways.items():
            before = time.process_time()
            way()
            best[name] = min(best[name], time.process_time() - before)
    return best


def without_polars(read: Callable[[], object]) -> object:
    """Read as an installation without the [fast] extra does."""
    with mock.patch.object(fast, "_polars", return_value=None):
        return read()


def main() -> None:
    """Print one line for each file."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    print(f"{'':36} {'MB':>5} {'polars':>9} {'fast':>9} {'core':>9} {'read_log':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(Path(folder), rows):
            spent = measure(case)
            base = spent["polars"]
            print(
                f"{case.title:36} {case.path.stat().st_size / 1e6:5.1f} {base * 1e3:6.0f} ms"
                + "".join(f" {spent[way] / base:8.2f}x" for way in ("fast", "core", "read_log")),
                flush=True,
            )


if __name__ == "__main__":
    main()
