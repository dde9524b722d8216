"""The settings for people: each quantity, what was asked for, what takes place, and how that is known."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from stethoscope.report.clean_text import one_line
from stethoscope.report.line import BLANK, Line, printed
from stethoscope.report.palette import ADDRESS, AGAINST, HEADING
from stethoscope.report.plan_words import asked_in_words, difference, in_effect_in_words
from stethoscope.run import Run, Where
from stethoscope.signals.training_plan import CODE, Entry, TrainingPlan

GAP = 2
UNKNOWN = "unknown"
HEADS = ("quantity", "asked for", "in effect", "from where")
WIDEST = (24, 34, 34)
MOST_ROWS = 12  # of one quantity; losses and noise have many


def render(plan: TrainingPlan, run: Run, console: Console) -> str:
    """The table, then what differs."""
    return printed(_lines(plan, run), console)


@dataclass(frozen=True, slots=True)
class _Row:
    quantity: str
    asked: str
    effect: str
    place: str
    differs: bool = False


def _lines(plan: TrainingPlan, run: Run) -> Iterator[Line]:
    rows = [row for entry in plan for row in _rows(entry, run)]
    widths = [
        min(max(map(cell_len, (head, *column))), widest)
        for head, column, widest in (
            (HEADS[0], [row.quantity for row in rows], WIDEST[0]),
            (HEADS[1], [row.asked for row in rows], WIDEST[1]),
            (HEADS[2], [row.effect for row in rows], WIDEST[2]),
        )
    ]
    yield Line(_cells(HEADS, widths, HEADING), verbatim=True)
    for row in rows:
        text = _cells((row.quantity, row.asked, row.effect), widths, AGAINST if row.differs else "")
        text.append(row.place, ADDRESS)
        yield Line(text, verbatim=True)
    silent = [entry.quantity for entry in plan if not entry.asked and not entry.in_effect]
    if silent:
        yield BLANK
        yield Line(Text(f"Not said anywhere: {', '.join(silent)}."), hang=2)
    told = [sentence for entry in plan if (sentence := difference(entry))]
    if told:
        yield BLANK
        yield Line(Text("Differs", HEADING))
        yield from (Line(Text(f"{one_line(sentence)}."), indent=2, hang=2) for sentence in told)


def _cells(cells: Sequence[str], widths: Sequence[int], style: str) -> Text:
    row = Text()
    for cell, width in zip_longest(cells, widths):
        row.append(cell, style)
        if width is not None:
            row.append(" " * (max(width - cell_len(cell), 0) + GAP))
    return row


def _rows(entry: Entry, run: Run) -> Iterator[_Row]:
    """A line for each setting, with what is in effect beside the first of them."""
    pairs = list(zip_longest(entry.asked[:MOST_ROWS], entry.in_effect))
    for number, (asked, taken) in enumerate(pairs):
        places = [_place(asked.setting.where, run)] if asked is not None else []
        if taken is not None:
            known = [_place(place, run) for place in taken.where[:1]]
            places += [one for one in known if one not in places]
            if taken.said or not known:
                places.append(f"({taken.said or taken.how})")
        yield _Row(
            entry.quantity if number == 0 else "",
            asked_in_words(asked) if asked is not None else "",
            in_effect_in_words(taken) if taken is not None else (UNKNOWN if number == 0 else ""),
            one_line(", ".join(places), 200),
            entry.differs is not None and taken is not None and taken.how == CODE,
        )
    more = len(entry.asked) - MOST_ROWS
    if more > 0:
        yield _Row("", f"and {more:,} more", "", "")


def _place(where: Where, run: Run) -> str:
    shown = str(where)
    home = run.path if os.path.isdir(run.path) else os.path.dirname(run.path)
    return shown.replace(home.rstrip("/") + "/", "") if home else shown
