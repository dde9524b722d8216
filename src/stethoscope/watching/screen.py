"""The view of a terminal: as much as fits, the most important first, whatever its size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.text import Text

from stethoscope.findings import Severity
from stethoscope.report.clean_text import one_line
from stethoscope.report.palette import AGAINST, FOR, HEADING, OF_SEVERITY
from stethoscope.report.sparkline import sparkline
from stethoscope.report.terminal import ascii_only
from stethoscope.report.words import number
from stethoscope.watching import spoken
from stethoscope.watching.state import State
from stethoscope.watching.vital_signs import VitalSign

WIDEST_CURVE = 100
NARROWEST_CURVE = 6
ROWS_OF_FINDING = 3  # of the terminal, for one finding
ROWS_OF_VERDICT = 2
ALERTS_SHOWN = 8
FEWEST_ALERTS = 2

OF_TREND = {True: FOR, False: AGAINST, None: ""}

Rows = list[Text]


@dataclass(frozen=True, slots=True)
class Screen:
    """A state as a terminal shows it: drawn for the size that the terminal has at that moment."""

    state: State
    footer: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Exactly as many rows as the terminal has."""
        width, height = options.max_width, options.height or console.height
        rows = drawn(self.state, self.footer, console, width, height)
        for number_, row in enumerate(rows):
            if number_:
                yield Segment.line()
            yield row


def drawn(state: State, footer: str, console: Console, width: int, height: int) -> Rows:
    """The rows that fit, none wider than the terminal."""
    signs = _signs(state.signs, width, ascii_only(console))
    notes = _notes(state, footer)
    for room in _LAYOUTS:
        head = _head(state, console, width, room.of_verdict)
        found, alerts = _found(state, console, width, room), _alerts(state, console, width, room)
        rows = room.rows(head, signs, found, alerts, notes)
        if len(rows) <= height:
            break
    fitting = [_cut(row, width) for row in rows[:height]]
    return [_in_ascii(row) for row in fitting] if ascii_only(console) else fitting


@dataclass(frozen=True, slots=True)
class _Layout:
    """How generous a screen is."""

    of_finding: int  # rows
    findings: int
    alerts: int
    apart: bool  # blank rows and headings between the parts
    notes: bool
    of_verdict: int = ROWS_OF_VERDICT
    found_first: bool = False  # before the curves: where little fits, the worst must

    def rows(self, head: Rows, signs: Rows, found: Rows, alerts: Rows, notes: Rows) -> Rows:
        """The parts one below the other."""
        blank = [Text("")] if self.apart else []
        middle = [found, signs] if self.found_first else [signs, found]
        parts = [head, *middle, alerts, notes if self.notes else []]
        rows: Rows = []
        for part in parts:
            rows += [*(blank if rows and part else []), *part]
        return rows


# From the roomiest to what a terminal of a few rows has.
_LAYOUTS = (
    _Layout(ROWS_OF_FINDING, 50, ALERTS_SHOWN, True, True),
    _Layout(2, 50, 5, True, True),
    _Layout(1, 50, 3, True, True),
    _Layout(1, 50, FEWEST_ALERTS, False, True),
    *(_Layout(1, many, FEWEST_ALERTS, False, True) for many in (12, 8, 5, 3)),
    _Layout(1, 3, 1, False, False),
    _Layout(1, 2, 1, False, False, 1, True),
)


def _head(state: State, console: Console, width: int, of_verdict: int) -> Rows:
    name = Text(spoken.name_of(state), style=HEADING)
    if state.diagnosis is None:
        return [name, *_wrapped(Text(spoken.waiting(state)), console, width, 4), *_problem(state)]
    progress, ended = Text(spoken.progress(state.beat)), spoken.ending(state.diagnosis)
    silent = Text("") if ended else spoken.silence(state.beat)
    beside = Text.assemble(name, "  ", progress, ", " if silent else "", silent)
    apart = [name, progress, *([silent] if silent else [])] if of_verdict > 1 else [beside]
    lines = [beside] if beside.cell_len <= width else apart
    said = [spoken.verdict(state.diagnosis), ended]
    if state.waiting:
        said.append(Text(spoken.waiting(state), OF_SEVERITY[Severity.WARNING]))
    wrapped = [row for text in said if text for row in _wrapped(text, console, width, of_verdict)]
    return [*lines, *wrapped, *_problem(state)]


def _problem(state: State) -> Rows:
    return [Text(one_line(state.problem), style=OF_SEVERITY[Severity.WARNING])] if state.problem else []


def _signs(signs: Sequence[VitalSign], width: int, only_ascii: bool) -> Rows:
    """Name, last value, trend and curve in columns; the curve gives way first, then the trend."""
    if not signs:
        return []
    names = [one_line(sign.name, 30) for sign in signs]
    values = [number(sign.last) for sign in signs]
    wide = (max(map(cell_len, names)), max(map(len, values)), max(len(sign.trend) for sign in signs))
    with_trend = width >= wide[0] + wide[1] + wide[2] + 4
    curve = min(WIDEST_CURVE, width - sum(wide) - 6)
    rows = []
    for name, value, sign in zip(names, values, signs, strict=True):
        row = Text.assemble(set_cell_size(name, wide[0]), "  ", (f"{value:>{wide[1]}}", HEADING))
        if with_trend and wide[2]:
            row.append(f"  {sign.trend:<{wide[2]}}", OF_TREND[sign.good])
        if curve >= NARROWEST_CURVE and not only_ascii:
            row.append("  " + sparkline(sign.curve, curve))
        rows.append(row)
    return rows


def _found(state: State, console: Console, width: int, room: _Layout) -> Rows:
    if state.diagnosis is None:
        return []
    if not state.found:
        return [Text("Nothing found that needs a remedy.")]
    rows = [Text("Found", style=HEADING)] if room.apart else []
    for seen in state.found[: room.findings]:
        rows += _wrapped(spoken.sighting(seen), console, width, room.of_finding, hang=2)
    left = len(state.found) - room.findings
    return [*rows, Text(f"and {left:,} more")] if left > 0 else rows


def _alerts(state: State, console: Console, width: int, room: _Layout) -> Rows:
    if not state.alerts:
        return []
    rows = [Text("Alerts", style=HEADING)] if room.apart else []
    for moment, told in reversed(state.alerts[-room.alerts :]):
        rows += _wrapped(Text(f"{spoken.at(moment)} ") + spoken.alert(told), console, width, 1)
    return rows


def _notes(state: State, footer: str) -> Rows:
    said = [*spoken.notes(state.diagnosis)] if state.diagnosis else []
    return [Text(line, style="dim") for line in [*said, *([footer] if footer else [])]]


def _wrapped(text: Text, console: Console, width: int, rows: int, hang: int = 0) -> Rows:
    """The text in at most so many rows, the last one cut where there is more."""
    hang = hang if width > 4 * hang else 0
    if rows == 1:
        return [_cut(text, width)]
    lines = text.wrap(console, max(1, width - hang), overflow="fold")
    kept = list(lines[:rows])
    if len(lines) > rows:
        kept[-1].rstrip()
        kept[-1] = _cut(Text(" ").join([kept[-1], lines[rows]]), width - hang)
    for row in kept:
        row.rstrip()
    return [row if not place else Text(" " * hang) + row for place, row in enumerate(kept)]


def _cut(row: Text, width: int) -> Text:
    row = row.copy()
    row.truncate(max(1, width), overflow="ellipsis")
    row.no_wrap = True
    row.end = ""
    return row


def _in_ascii(row: Text) -> Text:
    """The row for a terminal that knows no other letters; its colours are lost with them."""
    return Text(row.plain.replace("\N{HORIZONTAL ELLIPSIS}", "~"), no_wrap=True, end="")
