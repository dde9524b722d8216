"""Reads a text log as a stream: a grammar takes the step lines, the rest is searched for events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from stethoscope.errors import UnreadableFile
from stethoscope.logs._reading.clock import stamp_in_name, stamp_of
from stethoscope.logs._reading.events import Scanner, may_announce
from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.points import MAX_SERIES, Points
from stethoscope.logs._text.chunk import Column, Decoded, Lines, Offsets, Stepped
from stethoscope.logs._text.columns import Integers
from stethoscope.logs._text.dumped_config import DumpedSettings, may_begin
from stethoscope.logs._text.grammar import Grammar
from stethoscope.logs._text.lines import LinesOfStream
from stethoscope.logs._text.shapes import Shapes
from stethoscope.run import Aggregation, Log

STAMPED = 40  # lines at each end of a chunk that are asked for the time
LONGEST_TRACEBACK = 2_000  # lines
FILLED = 0.98  # a progress bar is not always drawn at its very end

# Takes what a line that is no step line tells: the points to add it to, the line's number, its text, and the
# step of the last step line before it. False for a line that is to be searched for events.
See = Callable[[Points, int, str, int | None], bool]


@dataclass(slots=True)
class TextReading:
    """A text log being read. `see` is shown the lines that `wanted` asks for, besides the events.

    Settings that the log prints are kept, unless the format has its own way with them. `place` may
    rewrite what a chunk held before it is noted: for a format whose steps follow from several lines.
    """

    head: Head
    format: str
    grammar: Grammar
    aggregation: Aggregation = Aggregation.INSTANT
    see: See | None = None
    wanted: Callable[[str], bool] = may_announce
    keeps_settings: bool = True
    place: Callable[[Lines, Decoded], None] | None = None
    points: Points = field(default_factory=Points)
    step: int | None = None
    total: int | None = None
    started: float | None = None
    last: float | None = None
    laps: _Laps = field(default_factory=lambda: _Laps())
    lines: LinesOfStream = field(init=False)
    shapes: Shapes = field(init=False)
    scanner: Scanner = field(init=False)
    settings: DumpedSettings = field(init=False)

    def __post_init__(self) -> None:
        self.lines = LinesOfStream(self.head.encoding)
        self.shapes = Shapes(self.grammar, self._wants if self.keeps_settings else self.wanted)
        self.scanner = Scanner(self.head.file)
        self.settings = DumpedSettings(self.head.file)

    def _wants(self, line: str) -> bool:
        return self.wanted(line) or may_begin(line)

    def take(self, data: bytes, last: bool) -> int:
        """Read the whole lines among these bytes, and the last one if nothing follows."""
        taken, lines = self.lines.cut(data, last)
        if lines is not None:
            found = Decoded()
            self.shapes.decode(lines, found)
            if self.place is not None:
                self.place(lines, found)
            self._note_time(lines)
            self._note(lines, found)
        return taken

    def log(self) -> Log:
        """What was read so far."""
        if not self.points.steps:
            raise UnreadableFile(
                f"{self.head.file}: looks like {self.format}, but no step line could be read"
            )
        series = self.points.series(self.head.file, self.aggregation)
        return Log(
            self.head.file,
            self.format,
            (*series, *self.scanner.scales.series(self.head.file, series)),
            self.scanner.events(),
            self.settings.documents(),
            started=self.started or stamp_in_name(self.head.path.name),
            last_written=self.last or self.head.changed,
            total_steps=self.total,
            notes=self.notes(),
        )

    def notes(self) -> tuple[str, ...]:
        """What a user should know about the reading."""
        if not self.points.dropped:
            return ()
        return (f"more than {MAX_SERIES} names; the rest was passed over",)

    def _note(self, lines: Lines, found: Decoded) -> None:
        """Add what a chunk held: the values, then what its other lines say at the step they stand at."""
        at, steps = self._steps_of(found.stepped)
        before = self._steps_before(lines, at, steps)
        columns: dict[tuple[str, str], list[Column]] = {}
        for column in found.columns:
            columns.setdefault((column.name, column.axis), []).append(column)
        for (name, axis), pieces in sorted(columns.items(), key=lambda item: int(item[1][0].at[0])):
            self._add(name, axis, pieces, lines, before)
        self.total = found.total or self.total
        self._show(lines, found, before)
        if self.keeps_settings:
            self._note_settings(lines, found)
        self.step = int(steps[-1]) if len(steps) else self.step

    def _steps_of(self, stepped: list[Stepped]) -> tuple[Offsets, Integers]:
        """The lines that have a step of their own, in order, and their steps."""
        if not stepped:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        at = np.concatenate([piece.at for piece in stepped])
        order = np.argsort(at, kind="stable")
        steps = np.concatenate([piece.steps for piece in stepped])[order]
        laps = np.concatenate([piece.laps for piece in stepped])[order]
        return at[order], self.laps.count_on(steps, laps) if laps.any() else steps

    def _steps_before(self, lines: Lines, at: Offsets, steps: Integers) -> Callable[[Offsets], Integers]:
        """What tells the step of the last step line at or before some lines."""
        known = np.concatenate([[self.step or 0], steps])
        place = np.zeros(len(lines.starts), dtype=np.int64)
        place[at] = np.arange(1, len(at) + 1)
        np.maximum.accumulate(place, out=place)

        told: dict[int, Integers] = {}  # the columns of one shape ask for the same lines

        def before(asked: Offsets) -> Integers:
            if id(asked) not in told:
                told[id(asked)] = known[place[asked]]
            return told[id(asked)]

        return before

    def _add(
        self,
        name: str,
        axis: str,
        pieces: list[Column],
        lines: Lines,
        before: Callable[[Offsets], Integers],
    ) -> None:
        at, values = pieces[0].at, pieces[0].values
        steps = before(at) if pieces[0].steps is None else pieces[0].steps
        if len(pieces) > 1:
            at = np.concatenate([piece.at for piece in pieces])
            order = np.argsort(at, kind="stable")
            steps = np.concatenate([before(p.at) if p.steps is None else p.steps for p in pieces])[order]
            values = np.concatenate([piece.values for piece in pieces])[order]
            at = at[order]
        if len(at):
            numbers = lines.numbers[at[[0, -1]]]
            self.points.add_all(name, steps, values, axis, (int(numbers[0]), int(numbers[1])))

    def _show(self, lines: Lines, found: Decoded, before: Callable[[Offsets], Integers]) -> None:
        """Show the lines that are no step lines, in order, and all lines of a traceback."""
        others = np.sort(np.concatenate(found.others)) if found.others else np.empty(0, dtype=np.int64)
        first = (
            0 if self.step is not None else min((int(one.at.min()) for one in found.stepped), default=None)
        )
        told = before(others).tolist()
        shown = -1
        if self.scanner.traceback is not None:
            shown = self._walk_traceback(lines, 0, self.step)
        for at, said in zip(others.tolist(), told, strict=True):
            if at <= shown:
                continue
            step = said if first is not None and at >= first else None
            self._see(lines, at, step)
            if self.scanner.traceback is not None:
                shown = self._walk_traceback(lines, at + 1, step)

    def _note_settings(self, lines: Lines, found: Decoded) -> None:
        """Collect printed settings: where a block has begun, every line is one of it until it ends."""
        shown = self._walk_settings(lines, 0) if self.settings.is_open else 0
        for at in np.sort(np.concatenate(found.others)).tolist() if found.others else ():
            if at >= shown and may_begin(text := lines.text(at)):
                self.settings.see(int(lines.numbers[at]), text)
                shown = self._walk_settings(lines, at + 1)

    def _walk_settings(self, lines: Lines, at: int) -> int:
        """Show the lines of a block one after the other; gives the first that was not shown."""
        while self.settings.is_open and at < len(lines.starts):
            self.settings.see(int(lines.numbers[at]), lines.text(at))
            at += 1
        return at

    def _see(self, lines: Lines, at: int, step: int | None) -> None:
        number, text = int(lines.numbers[at]), lines.text(at)
        if self.see is None or not self.see(self.points, number, text, step):
            self.scanner.see(number, text, step)

    def _walk_traceback(self, lines: Lines, at: int, step: int | None) -> int:
        """Show the lines of a traceback one after the other; gives the last one shown."""
        end = min(len(lines.starts), at + LONGEST_TRACEBACK)
        while at < end and self.scanner.traceback is not None:
            self._see(lines, at, step)
            at += 1
        if at == end < len(lines.starts):
            self.scanner.traceback = None
        return at - 1

    def _note_time(self, lines: Lines) -> None:
        if self.started is None:
            for at in range(min(STAMPED, len(lines.starts))):
                self.started = stamp_of(lines.text(at)[:60])
                if self.started is not None:
                    break
        for at in range(len(lines.starts) - 1, max(-1, len(lines.starts) - 1 - STAMPED), -1):
            stamp = stamp_of(lines.text(at)[:60])
            if stamp is not None:
                self.last = stamp
                break


@dataclass(slots=True)
class _Laps:
    """A counter that begins again when it has reached its end: the next epoch, not a restart."""

    step: int = 0
    end: int = 0
    passed: int = 0

    def count_on(self, steps: Integers, ends: Integers) -> Integers:
        """The steps counted on over the laps, these and those before."""
        before = np.concatenate([[self.step], steps[:-1]])
        ended = np.concatenate([[self.end], ends[:-1]])
        full = (steps < before) & (before >= FILLED * ended)
        passed = self.passed + np.cumsum(np.where(full, np.minimum(ended, 2**40), 0))
        self.step, self.end, self.passed = int(steps[-1]), int(ends[-1]), int(passed[-1]) % 2**62
        counted: Integers = steps + passed
        return counted
