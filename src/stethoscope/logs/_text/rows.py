"""Reads a text log whose steps are known only when all of it was seen.

A grammar gives every number of a line as a value, counters included, and no step. Each number keeps the
place of its line, and what the lines count is worked out at the end, over all of them at once: a step may
be printed behind the values it belongs to, be rounded, begin again every epoch, or be on a line of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stethoscope.errors import UnreadableFile
from stethoscope.logs._reading.clock import stamp_in_name
from stethoscope.logs._reading.events import may_announce
from stethoscope.logs._reading.numbers import LAST_STEP
from stethoscope.logs._reading.points import MAX_SERIES, Points
from stethoscope.logs._reading.scaler_messages import ScalerMessages
from stethoscope.logs._text.chunk import Decoded, Lines
from stethoscope.logs._text.reading import TextReading
from stethoscope.run import Document, Event, Log

Places = npt.NDArray[Any]  # integers: places, lines and steps
Numbers = npt.NDArray[np.float64]
MEASURED = 1 / 3  # of a block's lines are rows, at most; settings hold a number or two that read like one


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The numbers of one name in the order of the file, with the place and the number of their lines."""

    at: Places
    lines: Places
    values: Numbers

    def __len__(self) -> int:
        return len(self.at)

    def select(self, keep: npt.NDArray[np.bool_]) -> Rows:
        """Those chosen by a mask."""
        return Rows(self.at[keep], self.lines[keep], self.values[keep])


NO_ROWS = Rows(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0))


@dataclass(frozen=True, slots=True)
class Assembled:
    """What the rows of a log add up to. `counted` are the rows that tell a step, for events to go by."""

    points: Points
    counted: tuple[Places, Places] | None = None  # lines and steps
    total: int | None = None
    notes: tuple[str, ...] = ()
    names: Mapping[str, str] | None = None


@dataclass(slots=True)
class RowReading(TextReading):
    """A text log being read row by row; `assemble` makes series of the rows."""

    assemble: Callable[[Mapping[str, Rows]], Assembled] | None = None
    marks: dict[str, list[int]] = field(
        default_factory=dict
    )  # places of lines without numbers, by what they say
    mark: Callable[[str], str | None] | None = None
    known: dict[bytes, str | None] = field(default_factory=dict)  # what lines mark that were asked about
    parts: dict[str, list[Rows]] = field(default_factory=dict)
    passed: int = 0  # lines of the chunks before
    refused: int = 0
    crowded: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))

    def __post_init__(self) -> None:
        """Ask for the lines that mark something besides those that announce something."""
        mark = self.mark
        if mark is not None:
            self.wanted = lambda line: may_announce(line) or mark(line) is not None
        TextReading.__post_init__(self)

    def rows(self) -> dict[str, Rows]:
        """All numbers so far, by name."""
        for name, parts in self.parts.items():
            if len(parts) > 1:
                self.parts[name] = [joined(parts)]
        found = sorted(self.parts.items(), key=lambda part: int(part[1][0].at[0]))
        return {name: parts[0] for name, parts in found}

    def log(self) -> Log:
        """What was read so far."""
        rows = self.rows()
        assert self.assemble is not None
        found = self.assemble(rows) if rows else Assembled(Points())
        notes = [*found.notes]
        if not found.points.steps:
            if not self.scanner.found:
                raise UnreadableFile(
                    f"{self.head.file}: looks like {self.format}, but no values could be read"
                )
            notes.append("no step line: training did not begin")
        if self.refused:
            notes.append(f"more than {MAX_SERIES} names; the rest was passed over")
        series = found.points.series(self.head.file, self.aggregation, names=found.names)
        scales = _scales(self.scanner.scales, found.counted)
        return Log(
            self.head.file,
            self.format,
            (*series, *scales.series(self.head.file, series)),
            tuple(_stepped(self.scanner.events(), found.counted)),
            tuple(one for one in self.settings.documents() if not _is_measured(one, rows)),
            started=self.started or stamp_in_name(self.head.path.name),
            last_written=self.last or self.head.changed,
            total_steps=found.total,
            notes=tuple(notes),
        )

    def _note(self, lines: Lines, found: Decoded) -> None:
        chunk: dict[str, list[Rows]] = {}
        for column in found.columns:
            at = column.at
            rows = Rows(_small(at + self.passed), _small(lines.numbers[at]), column.values)
            chunk.setdefault(column.name, []).append(rows)
        for name, parts in chunk.items():
            if name in self.parts or len(self.parts) < MAX_SERIES:
                self.parts.setdefault(name, []).append(joined(parts))
            else:
                self.refused += 1
        if self.keeps_settings:
            self.crowded = _crowded(found, len(lines.starts))
            self._note_settings(lines, found)
        if self.mark is not None and found.others:
            found.others = self._unmarked(lines, np.sort(np.concatenate(found.others)), self.mark)
        self._show(lines, found, lambda at: np.zeros(len(at), dtype=np.int64))
        self.passed += len(lines.starts)

    def _unmarked(self, lines: Lines, at: Places, mark: Callable[[str], str | None]) -> list[Places]:
        """Note the lines that mark something, equal ones asked about once; gives the others."""
        left, known = [], self.known
        for place, start, end in zip(
            at.tolist(), lines.starts[at].tolist(), lines.ends[at].tolist(), strict=True
        ):
            raw = lines.raw[start:end]
            if raw not in known:
                if len(known) >= MAX_SERIES:
                    known.clear()
                known[raw] = mark(lines.text(place))
            said = known[raw]
            if said is not None and (said in self.marks or len(self.marks) < MAX_SERIES):
                self.marks.setdefault(said, []).append(place + self.passed)
            else:
                left.append(place)
        return [np.array(left, dtype=np.int64)] if left else []

    def _walk_settings(self, lines: Lines, at: int) -> int:
        """Show the lines of a block; a row of several numbers ends a listing, which has one on a line."""
        while self.settings.is_open and at < len(lines.starts):
            if self.settings.is_listing and self.crowded[at]:
                break
            self.settings.see(int(lines.numbers[at]), lines.text(at))
            at += 1
        return at

    def _see(self, lines: Lines, at: int, step: int | None) -> None:
        """Show a line; a scale that it tells is kept with its line in place of the step."""
        before = {scaler: len(points) for scaler, points in self.scanner.scales.told.items()}
        # Named, because a dataclass with slots is not the class that `super()` without arguments means.
        TextReading._see(self, lines, at, step)
        for scaler, points in self.scanner.scales.told.items():
            if len(points) > before.get(scaler, 0):
                points[-1] = (-int(lines.numbers[at]), points[-1][1])


def _crowded(found: Decoded, lines: int) -> npt.NDArray[np.bool_]:
    """Which lines of a chunk hold several numbers."""
    counts = np.zeros(lines, dtype=np.int32)
    for column in found.columns:
        counts[column.at] += 1
    return counts > 1


def _is_measured(document: Document, rows: Mapping[str, Rows]) -> bool:
    """Whether printed settings are rows of the log themselves: a block of measurements, one to a line."""
    written = document.text.rstrip("\n").split("\n")
    last = document.first_line + len(written) - 1
    found = {
        int(line)
        for name, held in rows.items()
        if not name.startswith("\0")
        for line in held.lines[slice(*np.searchsorted(held.lines, [document.first_line, last + 1]))]
    }
    return len(found) > MEASURED * sum(1 for line in written if line.strip())


def _small(places: Places) -> Places:
    """Places in half the memory, as long as they fit."""
    return places.astype(np.int32) if int(places[-1]) < 2**31 else places


def joined(parts: Iterable[Rows]) -> Rows:
    """Rows of one name from several shapes of line, in the order of the file."""
    held = [part for part in parts if len(part)]
    if len(held) < 2:
        return held[0] if held else NO_ROWS
    at = np.concatenate([part.at for part in held])
    lines = np.concatenate([part.lines for part in held])
    values = np.concatenate([part.values for part in held])
    if (at[1:] >= at[:-1]).all():
        return Rows(at, lines, values)
    order = np.argsort(at, kind="stable")
    return Rows(at[order], lines[order], values[order])


def steps_before(at: Places, counted: Places, steps: Places) -> Places:
    """The step told last at or before some places; that of the first row that tells one, before it."""
    found: Places = steps[np.maximum(np.searchsorted(counted, at, side="right") - 1, 0)]
    return found


def steps_behind(at: Places, counted: Places, steps: Places) -> Places:
    """The step told first at or behind some places, for logs that print it below the values."""
    found: Places = steps[np.minimum(np.searchsorted(counted, at, side="left"), len(steps) - 1)]
    return found


def whole_numbers(rows: Rows) -> tuple[Rows, Places]:
    """The rows that hold whole numbers a counter can reach, and these."""
    values = rows.values
    good = np.isfinite(values) & (np.abs(values) <= LAST_STEP)
    good[good] = values[good] == np.floor(values[good])
    kept = rows if good.all() else rows.select(good)
    return kept, kept.values.astype(np.int64)


def add_rows(points: Points, name: str, rows: Rows, steps: Places, axis: str = "step") -> None:
    """Note the rows of one name at these steps."""
    if len(rows):
        lines = (int(rows.lines[0]), int(rows.lines[-1]))
        points.add_all(name, steps, rows.values, axis, lines)


def _scales(told: ScalerMessages, counted: tuple[Places, Places] | None) -> ScalerMessages:
    """What the scalers said, at the steps told last before."""
    found: dict[int, list[tuple[int, float]]] = {}
    for scaler, points in told.told.items():
        placed = found.setdefault(scaler, [])
        for line, scale in points:
            point = (_step_at(-line, counted) or 0, scale)
            if placed[-1:] != [point]:  # several ranks say the same
                placed.append(point)
    return ScalerMessages(found, dict(told.lines))


def _step_at(line: int, counted: tuple[Places, Places] | None) -> int | None:
    """The step told last before a line."""
    if counted is None or len(counted[0]) == 0:
        return None
    before = int(np.searchsorted(counted[0], line, side="right"))
    return int(counted[1][before - 1]) if before else None


def _stepped(events: Iterable[Event], counted: tuple[Places, Places] | None) -> Iterable[Event]:
    """The events at the step told last before their line."""
    for event in events:
        yield event if event.step is not None else replace(event, step=_step_at(event.line, counted))
