"""A triage for people: one line for each run, as much of it as the terminal is wide."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from stethoscope.causes.verdict import Verdict
from stethoscope.report import triage_words as words
from stethoscope.report.clean_text import one_line
from stethoscope.report.line import Line, printed
from stethoscope.report.palette import ADDRESS, HEADING, OF_VERDICT
from stethoscope.triage import Summary, Triage
from stethoscope.triage.summary import UNREADABLE

HEADS = ("verdict", "run", "cause", "step", "age", "state", "next")
LEAST = (7, 16, 20, 5, 3, 8, 24)  # columns that a column needs to be worth showing
MOST = (10, 48, 52, 13, 6, 24, 200)
LEFT_OUT_FIRST = (6, 5, 3, 4)  # the columns that a narrow terminal goes without
GAP = 2
OF_UNREADABLE = "bold magenta"


def render(told: Triage, shown: Sequence[Summary], console: Console, *, width: int | None = None) -> str:
    """The table as this console would show it; without a width each row has the room it needs."""
    return printed(_lines(told, shown, width), console)


def _lines(told: Triage, shown: Sequence[Summary], width: int | None) -> Iterator[Line]:
    yield Line(Text(one_line(words.counted(told, shown)), style=HEADING), hang=2)
    rows = [_row(one, told.path) for one in shown]
    if rows:
        widths = _widths(rows, width)
        yield Line(_cells(HEADS, widths, ""), verbatim=True)
        for one, row in zip(shown, rows, strict=True):
            yield Line(_cells(row, widths, one.verdict), verbatim=True)
    for unread in told.unread:
        yield Line(Text(f"Not looked into: {one_line(unread.file)}: {one_line(unread.reason)}"), hang=2)


def _row(one: Summary, above: str) -> tuple[str, ...]:
    path = one.path.removeprefix(os.path.join(above, ""))
    step = f"{one.last_step:,}" if one.last_step is not None else ""
    cells = (one.verdict, path, words.cause(one), step, words.age(one), words.state(one), one.next)
    return tuple(one_line(cell, 300) for cell in cells)


def _widths(rows: Sequence[Sequence[str]], width: int | None) -> dict[int, int]:
    """The width of each column that is shown, by its place."""
    wanted = {
        place: min(max(cell_len(HEADS[place]), *(cell_len(row[place]) for row in rows)), MOST[place])
        for place in range(len(HEADS))
    }
    if width is None:
        return {
            place: max(cell_len(HEADS[place]), *(cell_len(row[place]) for row in rows)) for place in wanted
        }
    for place in LEFT_OUT_FIRST:
        least = sum(min(wanted[one], LEAST[one]) for one in wanted) + GAP * (len(wanted) - 1)
        if least > width:
            del wanted[place]
    # What lacks is taken from the widest, which can be cut best.
    while sum(wanted.values()) + GAP * (len(wanted) - 1) > width:
        widest = max(wanted, key=lambda one: wanted[one] - min(LEAST[one], wanted[one]))
        if wanted[widest] <= 6:
            break
        wanted[widest] -= 1
    return wanted


def _cells(cells: Sequence[str], widths: dict[int, int], verdict: str) -> Text:
    row = Text()
    styles = {0: _style(verdict), 1: ADDRESS} if verdict else dict.fromkeys(range(len(HEADS)), HEADING)
    for place, width in widths.items():
        cell = _cut(cells[place], width, at_the_end=place != 1)
        row.append(set_cell_size(cell, width) + " " * GAP, styles.get(place, ""))
    return row


def _cut(cell: str, width: int, at_the_end: bool) -> str:
    """A cell that is too long without its end; a path without its beginning, its end tells more."""
    if cell_len(cell) <= width:
        return cell
    return cell[: max(0, width - 2)] + ".." if at_the_end else ".." + cell[len(cell) - max(0, width - 2) :]


def _style(verdict: str) -> str:
    return OF_UNREADABLE if verdict == UNREADABLE else OF_VERDICT[Verdict(verdict)]
