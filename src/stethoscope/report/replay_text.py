"""A replayed step for people: the verdict, the sizes on the way, the worst gradients, and what differed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from stethoscope.report.clean_text import one_line
from stethoscope.report.line import BLANK, Line, printed
from stethoscope.report.palette import AGAINST, FOR, HEADING

GAP = 2
LONGEST_NAME = 48  # columns of a module's name
SIZES = ("module", "class", "type", "largest", "of limit", "in float32")
GRADIENTS = ("gradient of", "norm", "not finite")
MOST_GRADIENTS = 8
WORTH_TELLING = 0.001  # of the limit of a number format


def render(told: Mapping[str, Any], console: Console) -> str:
    """The report of what `stethoscope.guard.boxes.replaying.Replay.facts` tells."""
    return printed(_lines(told), console)


def _lines(told: Mapping[str, Any]) -> Iterator[Line]:
    repeated = bool(told["repeated"])
    head = "the fault was repeated" if repeated else "no fault this time"
    yield Line(Text(f"Step {told['step']}: {head}", f"bold {AGAINST if repeated else FOR}"))
    yield Line(Text(one_line(told["verdict"])), indent=2)
    yield from (Line(Text(sentence), indent=2) for sentence in _likeness(told))
    yield from _sizes(told["forward"])
    if told["forward"]["finite_as_it_was"]:  # else every gradient is spoiled, and says nothing
        yield from _gradients(told["backward"])
    if told["notes"]:
        yield BLANK
        yield from (Line(Text(one_line(note)), bullet="- ") for note in told["notes"])


def _likeness(told: Mapping[str, Any]) -> Iterator[str]:
    if told["same_place"] is False:
        yield "This is not what was seen when the step was recorded."
    elif told["bit_identical"] is not None:
        same = "is" if told["bit_identical"] else "is not"
        yield f"The model's output {same} bit for bit what it was when the step was recorded."


def _sizes(forward: Mapping[str, Any]) -> Iterator[Line]:
    if not forward["way"]:
        return
    yield BLANK
    yield Line(Text(f"Largest values on the way ({one_line(forward['precision'])})", HEADING))
    rows = [_size_row(row) for row in forward["way"]]
    bad = [row["nans"] + row["infs"] > 0 for row in forward["way"]]
    yield from _table(SIZES, rows, bad)


def _size_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    what = "NaN" if row["nans"] else "infinity" if row["infs"] else f"{row['largest']:.3g}"
    share = row["largest"] / row["limit"]
    near = "" if row["nans"] or row["infs"] or share < WORTH_TELLING else f"{share:.2g}"
    wide = "" if row["largest_in_float32"] is None else f"{row['largest_in_float32']:.3g}"
    return (one_line(row["module"] or "(model)", LONGEST_NAME), row["class"], row["dtype"], what, near, wide)


def _gradients(backward: Mapping[str, Any] | None) -> Iterator[Line]:
    if backward is None or not backward["gradients"]:
        return
    worst = backward["gradients"][:MOST_GRADIENTS]
    yield BLANK
    yield Line(Text(f"Worst gradients ({one_line(backward['precision'])})", HEADING))
    rows = [
        (one_line(one["name"], LONGEST_NAME), f"{one['norm']:.3g}", f"{100 * one['bad_share']:.3g} %")
        for one in worst
    ]
    yield from _table(GRADIENTS, rows, [one["bad_share"] > 0 for one in worst])


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], bad: Sequence[bool]) -> Iterator[Line]:
    widths = [max(map(cell_len, column)) for column in zip(heads, *rows, strict=True)]
    yield Line(_cells(heads, widths, HEADING), indent=2, verbatim=True)
    for row, is_bad in zip(rows, bad, strict=True):
        yield Line(_cells(row, widths, AGAINST if is_bad else ""), indent=2, verbatim=True)


def _cells(cells: Sequence[str], widths: Sequence[int], style: str) -> Text:
    text = Text()
    for cell, width in zip(cells, widths, strict=True):
        text.append(cell + " " * (width - cell_len(cell) + GAP), style)
    return text
