"""JSON lines: one object per line, as written by most loggers that write JSON.

{"step": 10, "loss": 2.31, "lr": 1e-4}
{"Loss/loss": {"num": 4096, "mean": NaN, "std": NaN}, "Progress/kimg": {"num": 1, "mean": 1.02, "std": 0.0}}
{"current_steps": 10, "total_steps": 6750, "loss": 2.219, "lr": 1.33e-06, "epoch": 0.0044}
{"mode": "val", "epoch": 1, "iter": 30, "bbox_mAP": 0.31}
{"results": {"fid50k_full": 12.3}, "metric": "fid50k_full", "snapshot_pkl": "network-snapshot-000200.pkl"}
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from stethoscope.errors import UnreadableFile
from stethoscope.logs._reading.events import Scanner
from stethoscope.logs._reading.head import Head
from stethoscope.logs._tables.blocks import Blocks
from stethoscope.logs._tables.fast_columns import fast_records
from stethoscope.logs._tables.json_templates import Fitting, Lines, Templates, lines_of
from stethoscope.logs._tables.json_values import numbers_of, record_in
from stethoscope.logs._tables.table import AXIS_COLUMNS, Table, looks_like_log
from stethoscope.run import Aggregation, Log

FORMAT = "JSON lines"
CHUNK = 4 << 20  # bytes read at once: a parser that is called seldom is faster
DECISIVE = 0.8  # sureness that no other format can have of the same file

HALF = 0.5
FIRST = 1 << 16  # bytes read by themselves, so that templates are known for what follows


def recognise(head: Head) -> float:
    """Lines that are JSON objects with numbers under a training log's names."""
    if head.binary or head.prose:
        return 0.0
    lines = [line.strip() for line in head.text.splitlines()[:200] if line.strip()]
    # The last line of the head may be cut by the head's own length.
    objects = [found for line in lines if line.startswith("{") and (found := record_in(line)) is not None]
    if not objects or len(objects) < HALF * (len(lines) - 1):
        return 0.0
    if len(objects) == 1 and not (len(lines) == 1 and head.path.suffix.lower() in {".jsonl", ".ndjson"}):
        return 0.0
    return 0.85 if any(_is_entry(found) for found in objects[:50]) else 0.0


def begin(head: Head) -> JsonLines:
    """Each name against the name that counts steps; lines that are no objects are searched for events."""
    return JsonLines(head, Blocks(head.encoding), Scanner(head.file))


@dataclass(slots=True)
class JsonLines:
    """JSON lines being read."""

    head: Head
    blocks: Blocks
    scanner: Scanner
    table: Table = field(default_factory=Table)
    templates: Templates = field(default_factory=Templates)
    with_nan: bool = False  # seen, so that more is to be expected
    bad: int = 0
    ends_badly: bool = False

    def take(self, data: bytes, last: bool) -> int:
        """Read the whole lines among these bytes."""
        taken, block = self.blocks.cut(data, last)
        if block and not self.templates.known:  # a few lines teach the names
            first = block.find(b"\n", FIRST) + 1 or len(block)
            self._take_block(block[:first])
            self.with_nan = b"NaN" in block[:first]
            block = block[first:]
        if block:
            self._take_block(block)
        return taken

    def log(self) -> Log:
        """What was read so far."""
        if not self.table.places:
            raise UnreadableFile(f"{self.head.file}: JSON lines without a number in them")
        found = self.table.reading(self.head.file, _aggregation(self.table))
        return Log(
            self.head.file,
            FORMAT,
            found.series,
            self.scanner.events(),
            started=found.started,
            last_written=found.last_written or self.head.changed,
            total_steps=found.total_steps,
            notes=(*found.notes, *_about(self.bad, self.ends_badly)),
        )

    def _take_block(self, block: bytes) -> None:
        if self._take_fast(block):
            return
        lines = lines_of(block)
        fitting = self.templates.fit(lines)
        is_row = np.zeros(len(lines.line_ends), np.bool_)
        for found in fitting:
            is_row[found.lines] = True
        others = self._others(lines, np.flatnonzero(~is_row).tolist())
        is_row[list(others)] = True
        rows = self.table.rows + np.cumsum(is_row) - 1
        self._note_lines(rows, is_row)
        for at, numbers in others.items():
            self.table.rows = int(rows[at])
            self.table.add(numbers)
        for found in fitting:
            self._add(found, rows[found.lines])
        self.table.rows = int(rows[-1]) + 1
        self.blocks.line += len(is_row)

    def _take_fast(self, block: bytes) -> bool:
        """Read a block with the parser of the [fast] extra, if it is there and this block is plain."""
        names = self.templates.plain_names()
        if names is None or not block.endswith(b"\n"):
            return False
        values = fast_records(block, names, self.with_nan)
        if values is None:
            self.with_nan = b"NaN" in block
            return False
        count = values.shape[1]
        rows = np.arange(self.table.rows, self.table.rows + count)
        self.table.stands_at(self.table.rows, self.blocks.line)
        for name, column in zip(names, values, strict=True):
            self.table.add_block(name, rows, column)
        self.table.rows += count
        self.blocks.line += count
        self.ends_badly = False
        return True

    def _others(self, lines: Lines, which: list[int]) -> dict[int, list[tuple[str, float]]]:
        """The records of lines that fit no template."""
        records = {}
        for at in which:
            text = lines.block[lines.line_starts[at] : lines.line_ends[at]].decode("utf-8", errors="replace")
            stripped = text.strip()
            if not stripped:
                continue
            found = record_in(stripped) if stripped[0] == "{" else None
            if found is None:
                self.bad += 1
                self.scanner.see(self.blocks.line + at, text, None)
            else:
                records[at] = list(numbers_of(found))
            self.ends_badly = found is None and at == len(lines.line_ends) - 1
        return records

    def _note_lines(
        self,
        rows: np.ndarray[tuple[int], np.dtype[np.int64]],
        is_row: np.ndarray[tuple[int], np.dtype[np.bool_]],
    ) -> None:
        lines = np.flatnonzero(is_row)
        breaks = np.flatnonzero(np.diff(lines) != 1) + 1
        for at in (0, *breaks.tolist()) if len(lines) else ():
            self.table.stands_at(int(rows[lines[at]]), self.blocks.line + int(lines[at]))

    def _add(self, found: Fitting, rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
        for name, values in zip(found.names, found.values, strict=True):
            self.table.add_block(name, rows, np.ascontiguousarray(values))


def _is_entry(record: dict[str, object]) -> bool:
    """Whether a record is a log entry: it counts steps or holds a signal, and is not mostly text."""
    numeric = [name for name, _ in numbers_of(record)]
    counts = any(name.lower() in AXIS_COLUMNS for name in numeric)
    return looks_like_log(numeric) and (counts or len(numeric) >= HALF * len(record))


def _aggregation(table: Table) -> Aggregation:
    # StyleGAN and EDM log means over a tick; LLaMA-Factory logs the Trainer's means over its logging steps.
    means = {"Progress/tick", "current_steps"}
    return Aggregation.WINDOW_MEAN if means & table.places.keys() else Aggregation.UNKNOWN


def _about(bad: int, at_the_end: bool) -> list[str]:
    if not bad:
        return []
    if bad == 1 and at_the_end:
        return ["the last line is cut short"]
    return [f"{bad} lines are not JSON objects and were passed over"]
