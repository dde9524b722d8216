"""The inventory for people: each run's files and what they were taken for, then its series.

A line that is too wide for the terminal is not broken: what does not fit of a table moves to a second
line below the row. Piped, a row is one line, however long.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from stethoscope.inventory import Inventory, Kind, ListedRun, Met, Told
from stethoscope.report.clean_text import one_line
from stethoscope.report.line import BLANK, Line, printed
from stethoscope.report.palette import ADDRESS, AGAINST, HEADING
from stethoscope.report.series_summary import Summary, chosen, in_order, summary
from stethoscope.report.sparkline import sparkline
from stethoscope.report.terminal import ascii_only
from stethoscope.report.words import count, number
from stethoscope.run import Aggregation, Log, Segment, Series
from stethoscope.run.names import better

LONGEST_NAME = 60  # characters of a series; a longer one loses its middle
LONGEST_FILE = 250  # characters; whoever looks for a file needs all of its name
FEW_FILES = 4  # of one folder and kind that are listed one by one
FEW_SERIES = 20  # of each run, where there are many runs
SEGMENTS_SHOWN = 6
INDENT = 2
NARROWEST_WORDS = 24  # columns beside a file's name; with fewer the words stand below it
CURVE = 12  # letters of a sparkline
GAP = 2  # blanks between columns
DIM = "dim"
ENDLESS = 1_000_000  # columns


def render(
    inventory: Inventory,
    console: Console,
    patterns: Sequence[str] = (),
    verbose: bool = False,
    width: int | None = None,
) -> str:
    """Everything that was met, in at most this width; lines of any length where it is None."""
    page = _Page(width, ascii_only(console), tuple(patterns), verbose, len(inventory.runs) > 1)
    console.width = width or ENDLESS
    return printed(_lines(inventory, page), console)


@dataclass(frozen=True, slots=True)
class _Page:
    """How wide, in which letters, and how much of it; `width` is None where lines may be of any length."""

    width: int | None
    only_ascii: bool
    patterns: tuple[str, ...]
    verbose: bool
    many_runs: bool


def _lines(inventory: Inventory, page: _Page) -> Iterator[Line]:
    for place, run in enumerate(inventory.runs):
        yield from [BLANK] if place else []
        yield from _run(run, page)
    if inventory.files:
        yield from [BLANK] if inventory.runs else []
        yield Line(Text("In no run" if inventory.runs else "Files", HEADING))
        yield from _files(inventory.files, _common(inventory.path), page)
    yield from _not_looked_into(inventory)
    if page.many_runs:
        yield BLANK
        yield Line(Text("Runs", HEADING))
        yield from _rows([_run_row(run, inventory.path) for run in inventory.runs], page)
    if page.many_runs or inventory.files:
        yield BLANK
        yield Line(Text(_in_all(inventory)), hang=2)


def _common(path: str) -> str:
    return path if os.path.isdir(path) else os.path.dirname(path)


def _in_all(inventory: Inventory) -> str:
    everything = [*(met for run in inventory.runs for met in run.files), *inventory.files]
    logs = [met for met in everything if met.log is not None]
    not_read = sum(met.kind is Kind.NOT_READ for met in everything)
    parts = [
        count(len(everything), "file"),
        count(len(inventory.runs), "run"),
        count(len(logs), "log"),
        count(sum(run.points for run in inventory.runs), "point"),
    ]
    return f"{one_line(inventory.path, 200)}: {', '.join(parts)}" + (
        f"; {count(not_read, 'file')} not read." if not_read else "."
    )


def _run_row(run: ListedRun, home: str) -> _FileRow:
    """A run in one line: most people look for one of many."""
    formats = ", ".join(dict.fromkeys(log.format for log in run.logs))
    logs, _, held = _extent(run).partition(", ")
    return _FileRow(_relative(run.path, home), logs, (f"{held}; {formats}" if formats else held,))


def _not_looked_into(inventory: Inventory) -> Iterator[Line]:
    if inventory.unread:
        yield BLANK
        yield Line(Text("Not read", HEADING))
        for one in inventory.unread:
            yield Line(Text.assemble((one_line(one.file, 200), ADDRESS), f": {one_line(one.reason)}"), 2, 2)
    if inventory.passed:
        names = sorted({one_line(os.path.basename(folder), LONGEST_NAME) for folder in inventory.passed})
        many = count(len(inventory.passed), "folder")
        yield BLANK
        yield Line(Text(f"Not looked into: {many} without logs ({', '.join(names)})."), hang=2)


# --- one run ------------------------------------------------------------------------------------------


def _run(run: ListedRun, page: _Page) -> Iterator[Line]:
    yield Line(Text.assemble((one_line(run.path, 200), HEADING), f": {_extent(run)}"), hang=2)
    yield from _segments(run)
    yield from (Line(Text(one_line(note)), indent=2, hang=2) for note in run.notes)
    yield from _files(run.files, _common(run.path), page)
    told = in_order(chosen(run.series.values(), page.patterns))
    if told:
        yield BLANK
        yield from _series(told, run, page)


def _extent(run: ListedRun) -> str:
    logs = count(len(run.logs), "log")
    if not run.series:
        return f"{logs}, no series"
    held = f"{count(len(run.series), 'series', 'series')}, {count(run.points, 'point')}"
    return f"{logs}, {held}{_steps_of(run.logs)}"


def _steps_of(logs: Sequence[Log]) -> str:
    series = [series for log in logs for series in log.series if len(series)]
    if not series:
        return ""
    usual = max(series, key=lambda one: (one.axis == "step", len(one))).axis
    counted = [one for one in series if one.axis == usual]
    first, last = min(int(one.steps.min()) for one in counted), max(int(one.steps.max()) for one in counted)
    return f", {usual}s {first:,} to {last:,}"


def _segments(run: ListedRun) -> Iterator[Line]:
    if len(run.segments) < 2:
        return
    home = _common(run.path)
    shown = [_stretch(segment, home) for segment in run.segments[:SEGMENTS_SHOWN]]
    more = len(run.segments) - len(shown)
    told = "; ".join(shown) + (f"; and {more:,} more" if more > 0 else "")
    yield Line(Text(f"{len(run.segments):,} stretches: {told}."), indent=2, hang=2)
    if run.abandoned:
        many = sum(len(series) for series in run.abandoned)
        yield Line(
            Text(f"{count(many, 'point')} of steps that were trained again are kept apart."), indent=2, hang=2
        )


def _stretch(segment: Segment, home: str) -> str:
    return f"{segment.first:,} to {segment.last:,} in {_relative(segment.file, home)}"


def _relative(file: str, home: str) -> str:
    return one_line(file.removeprefix(home.rstrip("/") + "/") if home else file, LONGEST_FILE)


# --- files --------------------------------------------------------------------------------------------

_ORDER = {kind: place for place, kind in enumerate(Kind)}


def _files(files: Sequence[Met], home: str, page: _Page) -> Iterator[Line]:
    yield from _rows([row for group in _grouped(files) for row in _listed(group, home, page)], page)


def _rows(rows: Sequence[_FileRow], page: _Page) -> Iterator[Line]:
    if not rows:
        return
    limit = page.width // 2 if page.width else LONGEST_FILE
    first = max((cell_len(row.file) for row in rows if cell_len(row.file) <= limit), default=0)
    second = max(cell_len(row.kind) for row in rows)
    for row in rows:
        yield from _file(row, first, second, page.width)


@dataclass(frozen=True, slots=True)
class _FileRow:
    file: str
    kind: str
    said: tuple[str, ...]
    alarming: bool = False


def _file(row: _FileRow, first: int, second: int, width: int | None) -> Iterator[Line]:
    named, kind = Text(row.file, ADDRESS), Text(row.kind, AGAINST if row.alarming else "")
    beside = INDENT + first + GAP + second + GAP
    room = (width or ENDLESS) - beside
    if cell_len(row.file) > first or room < NARROWEST_WORDS:
        yield Line(Text.assemble(named, " " * GAP, kind), INDENT, INDENT)
        yield from (Line(Text(words), 3 * INDENT, INDENT) for words in row.said if words)
        return
    named.pad_right(first - cell_len(row.file))
    kind.pad_right(second - cell_len(row.kind))
    words = [part for said in row.said for part in textwrap.wrap(said, room)] or [""]
    yield Line(Text.assemble(named, " " * GAP, kind, " " * GAP, words[0]), INDENT, verbatim=True)
    yield from (Line(Text(part), beside, verbatim=True) for part in words[1:])


def _grouped(files: Sequence[Met]) -> Iterator[list[Met]]:
    """The files by kind; those that are no logs by folder, ending and what is said of them."""

    def key(met: Met) -> tuple[object, ...]:
        if met.log is not None:
            return _ORDER[met.kind], "", "", ""
        ending = os.path.splitext(met.file)[1] if met.kind is Kind.NOT_READ else ""
        said = met.said if met.kind in (Kind.NOT_READ, Kind.LOG) else ""
        return _ORDER[met.kind], os.path.dirname(met.file), ending, said

    for _, group in groupby(sorted(files, key=key), key):
        yield list(group)


def _listed(group: list[Met], home: str, page: _Page) -> Iterator[_FileRow]:
    if group[0].log is not None or len(group) <= FEW_FILES or page.verbose:
        # What a run's only log holds is said of the run.
        alone = len(group) == 1 and group[0].log is not None
        yield from (_row(met, home, alone) for met in group)
        return
    kind, folder = group[0].kind, os.path.dirname(group[0].file)
    where = "" if folder.rstrip("/") == home.rstrip("/") else _relative(folder, home) + "/"
    ending = os.path.splitext(group[0].file)[1] if kind is Kind.NOT_READ else ""
    said = group[0].said if kind is Kind.NOT_READ else _between([met.said for met in group])
    name = f"{where}*{one_line(ending, 20)}"
    yield _FileRow(name, kind.value, (f"{len(group):,} files{': ' + one_line(said) if said else ''}",))


def _between(said: Sequence[str]) -> str:
    """What is said of several files, the first and the last where they differ."""
    different = list(dict.fromkeys(filter(None, said)))
    return different[0] if len(different) == 1 else f"{different[0]} ... {different[-1]}" if different else ""


def _row(met: Met, home: str, alone: bool) -> _FileRow:
    log, name = met.log, _relative(met.file, home)
    if log is None:
        return _FileRow(name, met.kind.value, (one_line(met.said),), met.kind is Kind.NOT_READ)
    held = f"{count(len(log.series), 'series', 'series')}, {count(log.points, 'point')}{_steps_of([log])}"
    said = [
        log.format if alone else f"{log.format}: {held}",
        *([f"not counted: {met.left_out}"] if met.left_out else []),
        *([f"tells the same as {_relative(met.same_as, home)}"] if met.same_as else []),
        *(one_line(note) for note in log.notes),
    ]
    return _FileRow(name, met.kind.value, tuple(said))


# --- series -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of the table: its head, its cells, and how a cell reads in a sentence below the row."""

    head: str
    cell: Callable[[_Item], str]
    phrase: Callable[[str, _Item], str]
    right: bool = False
    style: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class _Item:
    told: Told
    numbers: Summary
    home: str
    lone_log: bool
    curve: str = ""

    @property
    def series(self) -> Series:
        return self.told.series


def _series(told: Sequence[Told], run: ListedRun, page: _Page) -> Iterator[Line]:
    limit = FEW_SERIES if page.many_runs and not (page.verbose or page.patterns) else len(told)
    items = [
        _Item(
            one,
            summary(one.series),
            _common(run.path),
            len(run.logs) == 1,
            "" if page.only_ascii else sparkline(one.series, CURVE),
        )
        for one in told[:limit]
    ]
    columns = [column for column in _COLUMNS if any(column.cell(item) for item in items)]
    yield from _table(items, columns, page.width)
    if len(told) > limit:
        path = one_line(run.path, 200)
        yield Line(
            Text(f"and {len(told) - limit:,} more series: stethoscope logs {path}", DIM), indent=2, hang=2
        )


def _table(items: Sequence[_Item], columns: Sequence[_Column], width: int | None) -> Iterator[Line]:
    widths = {
        column.head: max(cell_len(column.head), *(cell_len(column.cell(item)) for item in items))
        for column in columns
    }
    beside = list(columns)
    while width is not None and len(beside) > 1 and _total(beside, widths) > width:
        beside.pop()
    below = columns[len(beside) :]
    head = Text("  ")
    for column in beside:
        head.append(_padded(column.head, widths[column.head], column.right), DIM)
        head.append(" " * GAP)
    yield Line(head, verbatim=True)
    for item in items:
        row = Text("  ")
        for column in beside:
            row.append(_padded(column.cell(item), widths[column.head], column.right), column.style)
            row.append(" " * GAP)
        yield Line(row, verbatim=True)
        phrases = [column.phrase(cell, item) for column in below if (cell := column.cell(item))]
        if any(phrases):
            yield Line(Text("; ".join(filter(None, phrases)), DIM), indent=6, hang=2)


def _total(columns: Iterable[_Column], widths: dict[str, int]) -> int:
    return 2 + sum(widths[column.head] + GAP for column in columns) - GAP


def _padded(text: str, width: int, right: bool) -> str:
    blanks = " " * (width - cell_len(text))
    return blanks + text if right else text + blanks


def _steps(item: _Item) -> str:
    numbers = item.numbers
    axis = "" if item.series.axis == "step" else f"{one_line(item.series.axis, 20)} "
    if numbers.points == 1:
        return f"{axis}{numbers.first_step:,}"
    return f"{axis}{numbers.first_step:,}..{numbers.last_step:,}"


def _range(item: _Item) -> str:
    low, high = item.numbers.low, item.numbers.high
    return "" if low is None or high is None else f"{number(low)} and {number(high)}"


def _aggregation(item: _Item) -> str:
    kind = item.series.aggregation
    return "" if kind is Aggregation.UNKNOWN else kind.value


def _logged_as(item: _Item) -> str:
    names = list(dict.fromkeys(source.logged_as for source in item.told.sources or (item.series,)))
    return ", ".join(one_line(name, LONGEST_NAME) for name in names[:2]) + (" ..." if len(names) > 2 else "")


def _from(item: _Item) -> str:
    sources = item.told.sources or (item.series,)
    shown = sources[-1]
    lines = f"{shown.lines[0]}-{shown.lines[1]}" if shown.lines else ""
    if item.lone_log:
        return f"lines {lines}" if lines else ""
    more = f" and {len(sources) - 1} more" if len(sources) > 1 else ""
    return f"{_relative(shown.file, item.home)}{':' + lines if lines else ''}{more}"


# The first ones stay in the table longest when it gets narrow.
_COLUMNS = (
    _Column(
        "series", lambda item: one_line(item.series.name, LONGEST_NAME), lambda cell, _: cell, style=HEADING
    ),
    _Column("points", lambda item: f"{item.numbers.points:,}", lambda cell, _: f"{cell} points", True),
    _Column("steps", _steps, lambda cell, item: f"steps {cell}" if item.series.axis == "step" else cell),
    _Column("first", lambda item: number(item.numbers.first), lambda cell, _: f"first {cell}", True),
    _Column("last", lambda item: number(item.numbers.last), lambda cell, _: f"last {cell}", True),
    _Column("curve", lambda item: item.curve, lambda *_: ""),
    _Column("between", _range, lambda cell, _: f"between {cell}"),
    _Column(
        "not finite",
        lambda item: f"{item.numbers.non_finite:,}" if item.numbers.non_finite else "",
        lambda cell, _: f"{cell} not finite",
        True,
        AGAINST,
    ),
    _Column("better", lambda item: better(item.series.name) or "", lambda cell, _: f"{cell} is better"),
    _Column("logged as", _logged_as, lambda cell, _: f"logged as {cell}"),
    _Column("from", _from, lambda cell, _: cell, style=ADDRESS),
    _Column("value is", _aggregation, lambda cell, _: cell),
)
