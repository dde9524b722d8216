"""Tables printed among other output: a line of names, then lines of as many values (fastai, Ultralytics).

epoch     train_loss  valid_loss  accuracy  time
0         0.613278    0.492154    0.790000  00:05

      Epoch    GPU_mem   box_loss   cls_loss  Instances       Size
        1/3      1.39G     0.0231     0.0186         12        640: 100%|##########| 4/4 [00:01<00:00]
                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%|#####| 2/2
                   all          4         17      0.613      0.512      0.551      0.312
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import NUMBER
from stethoscope.logs._tables.table import EPOCH_COLUMNS, STEP_COLUMNS
from stethoscope.logs._text.counting import ALL, EPOCH, STEP, assembled
from stethoscope.logs._text.grammar import Place, StepLine
from stethoscope.logs._text.rows import Assembled, RowReading, Rows, joined
from stethoscope.run import Aggregation
from stethoscope.run.names import canonical, known

FORMAT = "printed table"

FEWEST_NAMES, MOST_CELLS = 3, 40
_CELL = "\0cell"  # the place of a cell in its row, and how many the row has
_HEADER = "header "

_NAME = re.compile(r"[A-Za-z_][\w@/().%-]{0,60}\)?")
_VALUE = re.compile(rf"(?P<value>-?{NUMBER})(?:/(?P<total>\d{{1,9}})|[GMkK%]B?|s)?")
_CLOCK = re.compile(r"\d+:\d\d(?::\d\d)?")
_WORD = re.compile(r"[A-Za-z]\w{0,30}")
_HELD_OUT = frozenset({"Class", "all"})
_NO_SIGNALS = frozenset({"Images", "Instances", "Labels", "Size", "img_size", "labels", "time"})
_SPOKEN = {"P": "precision", "R": "recall"}


def recognise(head: Head) -> float:
    """A line of names that training logs have, with lines of as many values below it."""
    if head.binary or head.prose:
        return 0.0
    names = [names for line, _ in head.shapes if (names := _names(line))]
    widths = {len(one) for one in names if any(map(_is_measured, one)) and _counter_at(one) is not None}
    if not widths:
        return 0.0
    rows = sum(times for line, times in head.shapes if len(_cells(line)) in widths)
    return 0.62 if rows > 1 else 0.5 if rows else 0.0


def begin(head: Head) -> RowReading:
    """Every row below a header."""
    reading = RowReading(head, FORMAT, _step_line, Aggregation.WINDOW_MEAN, mark=_mark)
    reading.assemble = lambda rows: _assembled(rows, reading.marks)
    return reading


def _is_measured(name: str) -> bool:
    return canonical(name).startswith(("loss", "val/", "train/"))


def _names(line: str) -> list[str]:
    """The names of a header; nothing for a line that is none."""
    words = _without_bar(line).split()
    if not FEWEST_NAMES <= len(words) <= MOST_CELLS or not all(map(_NAME.fullmatch, words)):
        return []
    telling = sum(
        known(word.rstrip(")")) or word.lower() in (*STEP_COLUMNS, *EPOCH_COLUMNS) for word in words
    )
    return words if telling >= 2 else []


def _without_bar(line: str) -> str:
    """A line up to the progress bar at its end."""
    at = line.find("%|")
    return line if at < 0 else line[:at].rstrip("0123456789").rstrip().removesuffix(":")


def _counter_at(names: list[str]) -> tuple[int, str] | None:
    for place, name in enumerate(names):
        if name.lower() in STEP_COLUMNS:
            return place, STEP
    for place, name in enumerate(names):
        if name.lower() in EPOCH_COLUMNS:
            return place, EPOCH
    return None


def _cells(line: str) -> list[re.Match[str] | None]:
    """The cells of a row, None for a clock or a word; nothing for a line that is no row."""
    bare = _without_bar(line)
    found: list[re.Match[str] | None] = []
    for token in re.finditer(r"\S+", bare[:2_000]):
        value = _VALUE.fullmatch(bare, *token.span())
        if value is None and not (_CLOCK.fullmatch(token[0]) or (not found and _WORD.fullmatch(token[0]))):
            return []
        found.append(value)
        if len(found) > MOST_CELLS:
            return []
    return found if sum(cell is not None for cell in found) >= FEWEST_NAMES - 1 else []


def _mark(line: str) -> str | None:
    names = _names(line)
    return _HEADER + " ".join(names) if names else None


def _step_line(line: str) -> StepLine | None:
    cells = _cells(line)
    values: list[Place] = []
    for place, cell in enumerate(cells):
        if cell is not None:
            values.append((f"{_CELL}{place}/{len(cells)}", *cell.span("value")))
            if cell["total"]:
                values.append((f"{_CELL}{place}/{len(cells)}{ALL}", *cell.span("total")))
    return StepLine(tuple(values)) if values else None


def _assembled(rows: Mapping[str, Rows], marks: Mapping[str, list[int]]) -> Assembled:
    """The cells under the names of the last header above them that has as many."""
    headers = sorted(
        (at, mark.removeprefix(_HEADER).split(" ")) for mark, places in marks.items() for at in places
    )
    parts: dict[str, list[Rows]] = {}
    for cell, held in rows.items():
        place, _, rest = cell.removeprefix(_CELL).partition("/")
        width, _, whole = rest.partition("/")
        fitting = [(at, names) for at, names in headers if len(names) == int(width)]
        if not fitting:
            continue
        above = np.searchsorted(np.array([at for at, _ in fitting]), held.at) - 1
        for nth in np.unique(above[above >= 0]).tolist():
            names = fitting[nth][1]
            name = _column(names, int(place))
            if whole:
                name = name + ALL if name.startswith("\0") else ""
            if name:
                parts.setdefault(name, []).append(held.select(above == nth))
    return assembled({name: joined(held) for name, held in parts.items()}, {EPOCH: "epoch", STEP: "step"})


def _column(names: list[str], place: int) -> str:
    counter = _counter_at(names)
    if counter is not None and counter[0] == place:
        return counter[1]
    name = names[place].replace("Box(", "").strip("()")
    if name in _NO_SIGNALS:
        return ""
    return f"val {_SPOKEN.get(name, name)}" if names[0] in _HELD_OUT else name
