"""Stethoscope's own flight record, `flight-<start>-rank<number>.frec`: every step that Guard observed.

    SCHEMA  {"names": ["loss", "grad_norm", "lr"], "sparse": [], "about": {"start": 1785320102.1, "rank": 0}}
    ROW     step 0, 1785320103.4, 2.31, 0.82, 0.0001
    ROW     step 1, 1785320103.9, 2.29, 0.79, 0.0001
    END     {"how": "finished"}

`run.flight_record` describes the frames. Every CRC is checked; the record is read up to the first frame that
is not whole, which is where a program that was killed stopped to write.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from stethoscope.errors import UnreadableFile
from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.points import MAX_SERIES
from stethoscope.run import Aggregation, Log, Series
from stethoscope.run.flight_record import (
    HEADER_SIZE,
    MAGIC,
    ROW,
    SCHEMA,
    SUFFIX,
    Schema,
    frames_in,
    moment,
    schema_in,
    whole_number,
)
from stethoscope.run.names import canonical
from stethoscope.run.series import Steps, Values

FORMAT = "flight record"

Order = npt.NDArray[np.int64]


def recognise(head: Head) -> float:
    """The file's first bytes; a record that lost them is refused by its name."""
    if head.start.startswith(MAGIC):
        return 1.0
    return 0.9 if head.name.endswith(SUFFIX) else 0.0


def begin(head: Head) -> FlightRecord:
    """Read frames as they come."""
    return FlightRecord(head.file, head.changed)


@dataclass(slots=True)
class FlightRecord:
    """A flight record being read."""

    file: str
    changed: float | None
    offset: int = 0  # of the bytes that were taken
    schemas: dict[int, _Rows] = field(default_factory=dict)  # by the numbers given to them last
    blocks: dict[Schema, _Rows] = field(default_factory=dict)
    rows: int = 0
    about: dict[str, object] = field(default_factory=dict)
    unknown: int = 0
    damage: str = ""
    damaged_at: int = 0
    left: int = 0  # bytes behind the last whole frame
    refused: bool = False

    def take(self, data: bytes, last: bool) -> int:
        """Read the whole frames among these bytes; behind a damaged one nothing is believed."""
        if self.damage:
            self.left += len(data)
            return len(data)
        begins = 0
        if self.offset == 0:
            if len(data) < len(MAGIC) and not last:
                return 0
            if not data.startswith(MAGIC):
                raise UnreadableFile(
                    f"{self.file}: not a flight record: its first bytes are not those of one"
                )
            begins = len(MAGIC)
        done = begins + self._frames(data[begins:] if begins else data, begins, last)
        self.offset += done
        return done

    def log(self) -> Log:
        """What was read so far."""
        series = self._series()
        if not series:
            why = "; ".join(["a flight record without a step", *self._notes()])
            raise UnreadableFile(f"{self.file}: {why}")
        facts = self.about.get("facts")
        return Log(
            self.file,
            FORMAT,
            series,
            started=moment(self.about, "start"),
            last_written=self._last_time() or self.changed,
            total_steps=whole_number(facts, "total_steps") if isinstance(facts, dict) else None,
            notes=tuple(self._notes()),
        )

    def _frames(self, data: bytes, before: int, last: bool) -> int:
        found = frames_in(data)
        for kind, number, start, size, count in found.frames:
            if kind == SCHEMA:
                for begin in range(start + HEADER_SIZE, start + size * count, size):
                    self._learn(number, schema_in(data[begin : begin + size - HEADER_SIZE]))
            elif kind == ROW:
                rows = self.schemas.get(number)
                if rows is None or size != rows.size:
                    self.unknown += count
                    continue
                rows.add(self.rows, data[start : start + size * count])
                self.rows += count
        rest = len(data) - found.end
        # A file system far away may show the length of what is being written before its bytes.
        if found.damage and (last or data[found.end :].strip(b"\0")):
            self.damage, self.damaged_at, self.left = found.damage, self.offset + before + found.end, rest
            return len(data)
        self.left = rest if last else 0
        return found.end

    def _learn(self, number: int, schema: Schema | None) -> None:
        if schema is None:
            self.unknown += 1
            self.schemas.pop(number, None)
            return
        self.about = self.about or dict(schema.about)
        self.schemas[number] = self.blocks.setdefault(schema, _Rows(schema))

    def _series(self) -> tuple[Series, ...]:
        columns: dict[str, _Column] = {}
        for rows in self.blocks.values():
            rows.settle()
            for at, name in enumerate(rows.schema.names if len(rows.steps) else ()):
                if name in columns or len(columns) < MAX_SERIES:
                    columns.setdefault(name, _Column()).held.append((rows, at))
                else:
                    self.refused = True
        spoken = _spoken(list(columns))
        orders: dict[tuple[int, ...], tuple[Order, Steps]] = {}
        found = ((name, column.points(orders)) for name, column in columns.items())
        return tuple(
            Series(spoken[name], name, steps, values, self.file, Aggregation.INSTANT)
            for name, (steps, values) in found
            if len(steps)
        )

    def _last_time(self) -> float | None:
        times = (rows.last_time for rows in self.blocks.values())
        return max((time for time in times if 0.0 < time < math.inf), default=None)

    def _notes(self) -> list[str]:
        notes = []
        if self.damage:
            notes.append(
                f"read up to byte {self.damaged_at:,}, where there is {self.damage}; the {self.left:,} bytes "
                "from there on are not believed"
            )
        elif self.left:
            notes.append(
                f"the last row is cut short ({self.left:,} bytes): the program was stopped as it wrote"
            )
        if self.unknown:
            notes.append(f"{self.unknown:,} frames that nothing describes were passed over")
        if self.refused:
            notes.append(f"more than {MAX_SERIES} names; the rest was passed over")
        return notes


class _Rows:
    """The rows of one schema, and where each stands among all rows of the file."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.size = schema.row_size
        self.places: npt.NDArray[np.int64] = np.empty(0, np.int64)
        self.steps: Steps = np.empty(0, np.int64)
        self.values: npt.NDArray[np.float32] = np.empty((0, len(schema.names)), np.float32)
        self.last_time = 0.0
        self._fresh: list[bytes] = []
        self._fresh_places: list[int] = []

    def add(self, place: int, frames: bytes) -> None:
        """Note the frames of some rows one behind the other."""
        self._fresh.append(frames)
        self._fresh_places.append(place)

    def settle(self) -> None:
        """Join the rows that came since to those before."""
        if not self._fresh:
            return
        rows = np.frombuffer(b"".join(self._fresh), self._layout())
        sizes = [len(frames) // self.size for frames in self._fresh]
        # Each stretch of rows stands at its first place and those behind it.
        before = np.cumsum([0, *sizes[:-1]])
        places = np.arange(len(rows)) + np.repeat(np.array(self._fresh_places) - before, sizes)
        self.places = np.concatenate([self.places, places])
        self.steps = np.concatenate([self.steps, rows["step"]])
        self.values = np.concatenate([self.values, rows["values"]])
        self.last_time = float(rows["wall"][-1])
        self._fresh, self._fresh_places = [], []

    def _layout(self) -> np.dtype[np.void]:
        header = ("header", "V", HEADER_SIZE)
        columns = ("values", "<f4", (len(self.schema.names),))
        return np.dtype([header, ("step", "<i8"), ("wall", "<f8"), columns])


@dataclass(slots=True)
class _Column:
    """One name, and where it stands in the schemas that have it."""

    held: list[tuple[_Rows, int]] = field(default_factory=list)

    def points(self, orders: dict[tuple[int, ...], tuple[Order, Steps]]) -> tuple[Steps, Values]:
        """The points in the order they were written in; of a sparse column, those that were measured.

        Columns of the same schemas share what `orders` holds.
        """
        key = tuple(id(rows) for rows, _ in self.held)
        if key not in orders:
            order = np.argsort(np.concatenate([rows.places for rows, _ in self.held]), kind="stable")
            orders[key] = order, np.concatenate([rows.steps for rows, _ in self.held])[order]
        order, steps = orders[key]
        values = np.concatenate([rows.values[:, at] for rows, at in self.held])[order].astype(np.float64)
        missing = [
            np.full(len(rows.steps), rows.schema.names[at] in rows.schema.sparse) for rows, at in self.held
        ]
        measured = ~(np.concatenate(missing)[order] & np.isnan(values))
        return (steps, values) if measured.all() else (steps[measured], values[measured])


def _spoken(names: list[str]) -> dict[str, str]:
    """The names of the series: Guard's own, and its parts of the loss as any other log would name them."""
    spoken = {name: name for name in names}
    for name in names:
        known = canonical(name) if name.startswith("loss/") else name
        if known.startswith("loss/") and known not in spoken and known not in spoken.values():
            spoken[name] = known
    return spoken
