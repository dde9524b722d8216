"""Tables printed among other output: a line of names, then lines of as many values.

epoch     train_loss  valid_loss  accuracy  time                     (fastai; Ultralytics and skorch alike)
0         0.613278    0.492154    0.790000  00:05

      Epoch    GPU_mem   box_loss   cls_loss  Instances       Size
        1/3      1.39G     0.0231     0.0186         12        640: 100%|##########| 4/4 [00:01<00:00]
                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%|#####| 2/2
                   all          4         17      0.613      0.512      0.551      0.312

E    #       LOSS TEXTCAT  CATS_SCORE  SCORE                         (spaCy)
---  ------  ------------  ----------  ------
  0       0          0.25      100.00    1.00

| Training Loss | Epoch | Step | Validation Loss |                   (model cards, tabulate, rich)
|:-------------:|:-----:|:----:|:---------------:|
| No log        | 1.0   | 40   | 0.6931          |

[1500/1500 12:34, Epoch 3/3]                                         (copied from a notebook: between tabs)
Step	Training Loss	Validation Loss
500	0.6931	0.6012

A measure without a word for its data, behind a column of the validation loss, was measured where that was.
spaCy's losses are sums over the steps since the row above, and its scores are those of the development set.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np

from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import NUMBER
from stethoscope.logs._tables.table import EPOCH_COLUMNS, STEP_COLUMNS
from stethoscope.logs._text.counting import ALL, EPOCH, STEP, assembled
from stethoscope.logs._text.grammar import Place, Span, StepLine
from stethoscope.logs._text.rows import Assembled, RowReading, Rows, joined
from stethoscope.logs._text.unnamed_losses import losses_by_numbers
from stethoscope.run import Aggregation
from stethoscope.run.names import canonical, known, validated

FORMAT = "printed table"

FEWEST_NAMES, FEWEST_DRAWN, MOST_CELLS = 3, 2, 40  # two words with a blank between are no table
FEWEST_CELLS = 2  # of a row that must be numbers
TELLING = 2  # names of a header that training logs have
LONGEST_ROW = 2_000  # characters
AT_MOST_A_SUMMARY = 0.35  # sureness of a table in a log whose lines name their losses themselves
_CELL = "\0cell"  # the place of a cell in its row, and how many the row has
_HEADER = "header "
_BETWEEN, _OR = "\x1f", "\x1e"  # the names of a header in a mark, and the ways it may be cut

_NAME = re.compile(r"[A-Za-z_][\w@/().%-]{0,60}\)?|#")
_NAMES = re.compile(r"(?:[^\W\d]|#)[\w@/().%# :+-]{0,60}")  # of a cell that is set off by more than one blank
_VALUE = re.compile(rf"\**(?P<value>-?{NUMBER})\**(?:/(?P<total>\d{{1,9}})|[GMkK%]B?|\s?%|s)?\**")
_NAMED = re.compile(rf"loss\W{{1,3}}{NUMBER}", re.IGNORECASE)
_CLOCK = re.compile(r"\d+:\d\d(?::\d\d)?")
_WORD = re.compile(r"[A-Za-z]\w{0,30}")
_BARS = re.compile("[|\u2502\u2503\u2551\u2506\u250a]")
_PROGRESS = re.compile(r":?\s*\d{1,3}%\|[^|]{0,400}(?:\||$).*")
_APART = re.compile(r"\S+(?: \S+)*")  # words with a single blank between them
_WORDS = re.compile(r"\S+")
_TRAINED = re.compile(r"tra?i?n", re.IGNORECASE)
_HELD_OUT = frozenset({"Class", "all"})
_NUMBERED = "(row)"
_NO_SIGNALS = frozenset({_NUMBERED, "Images", "Instances", "Labels", "Size", "img_size", "labels", "time"})
_SPACY = ["E", "#"]  # the first names of its table
_PASSED_BACK = re.compile(
    r"tok2vec|transformer", re.IGNORECASE
)  # the size of gradients, no loss of their own
_NOTHING = frozenset({"No log", "-", "--", "None", "N/A", "n/a"})
_SPOKEN = {"P": "precision", "R": "recall"}
_COUNTS_STEPS, _COUNTS_EPOCHS = (*STEP_COLUMNS, "#"), (*EPOCH_COLUMNS, "e")
_DOCUMENTS = (".md", ".markdown")


def recognise(head: Head) -> float:
    """A line of names that training logs have, with lines of as many values below it."""
    if head.binary or (head.prose and not (head.named and head.name.lower().endswith(_DOCUMENTS))):
        return 0.0
    names = [names for line, _ in head.shapes for names in _headers(line)]
    widths = {len(one) for one in names if any(map(_is_measured, one)) and _counter_at(one) is not None}
    if not widths:
        return 0.0
    rows = sum(times for line, times in head.shapes if len(_cells(line)) in widths)
    lines = sum(times for line, times in head.shapes if _NAMED.search(line) and "%|" not in line)
    if lines > rows:  # a table that sums up what lines told step by step
        return AT_MOST_A_SUMMARY if rows else 0.0
    return 0.62 if rows > 1 else 0.5 if rows else 0.0


def begin(head: Head) -> RowReading:
    """Every row below a header."""
    reading = RowReading(head, FORMAT, _step_line, Aggregation.WINDOW_MEAN, mark=_mark)
    reading.assemble = lambda rows: _assembled(rows, reading.marks)
    return reading


def _is_measured(name: str) -> bool:
    return canonical(name).startswith(("loss", "val/", "train/"))


def _headers(line: str) -> list[list[str]]:
    """The names of a header, in the ways it may be cut; nothing for a line that is none."""
    if len(line) > LONGEST_ROW:
        return []
    bare = _without_bar(line)
    drawn = [line[start:end] for start, end in _drawn(line)]
    words = bare.split()
    ways = [(drawn, _NAMES)] if drawn else [(_APART.findall(bare), _NAMES), (words, _NAME)]
    fewest = FEWEST_DRAWN if drawn else FEWEST_NAMES
    found = [cells for cells, pattern in ways if len(cells) >= fewest and _is_header(cells, pattern)]
    found = found[:1] if found[1:] == found[:1] else found
    # pandas prints the number of each row in front of it, below no name.
    return found + [[_NUMBERED, *cells] for cells in found if not drawn and line.startswith("  ")]


def _is_header(cells: list[str], pattern: re.Pattern[str]) -> bool:
    if len(cells) > MOST_CELLS or not all(map(pattern.fullmatch, cells)):
        return False
    return sum(known(cell.rstrip(")")) or _counts(cell) is not None for cell in cells) >= TELLING


def _counts(name: str) -> str | None:
    """What a column of this name counts; None for one that does not."""
    spoken = name.strip().lower()
    return STEP if spoken in _COUNTS_STEPS else EPOCH if spoken in _COUNTS_EPOCHS else None


def _drawn(line: str) -> list[Span]:
    """The cells between bars or tabs, without their blanks; nothing for a line that has none."""
    bare = _without_bar(line)
    cuts = [one.start() for one in _BARS.finditer(bare)]
    if cuts:
        edges = [-1, *cuts, len(bare)]
    elif "\t" in bare.strip():
        edges = [-1, *(at for at, letter in enumerate(bare) if letter == "\t"), len(bare)]
    else:
        return []
    cells = [(before + 1, behind) for before, behind in pairwise(edges)]
    if cuts and not bare[: cuts[0]].strip():
        cells = cells[1:]
    if cuts and not bare[cuts[-1] + 1 :].strip():
        cells = cells[:-1]
    return [_stripped(bare, *cell) for cell in cells] if FEWEST_DRAWN <= len(cells) <= MOST_CELLS else []


def _stripped(line: str, start: int, end: int) -> Span:
    text = line[start:end]
    return start + len(text) - len(text.lstrip()), end - len(text) + len(text.rstrip())


def _without_bar(line: str) -> str:
    """A line up to the progress bar at its end."""
    found = None if _BARS.match(line.lstrip()) else _PROGRESS.search(line)
    return line[: found.start()].rstrip() if found else line


def _counter_at(names: list[str]) -> tuple[int, str] | None:
    """The column that counts: steps before epochs."""
    counting = [(place, axis) for place, name in enumerate(names) if (axis := _counts(name))]
    return min(counting, key=lambda one: (one[1] != STEP, one[0]), default=None)


def _cells(line: str) -> list[re.Match[str] | None]:
    """The cells of a row, None for a clock or a word; nothing for a line that is no row."""
    if len(line) > LONGEST_ROW or not any(map(str.isdigit, line)):
        return []
    drawn = _drawn(line)
    found: list[re.Match[str] | None] = [_VALUE.fullmatch(line, *cell) for cell in drawn]
    if not drawn:
        found = list(_between_blanks(line, _WORDS)) or list(_between_blanks(line, _APART))
    return found if sum(cell is not None for cell in found) >= FEWEST_CELLS else []


def _between_blanks(line: str, pattern: re.Pattern[str]) -> Iterator[re.Match[str] | None]:
    """The cells of a row that is set with blanks; nothing where one of them is no cell."""
    bare = _without_bar(line)
    tokens = [token.span() for token in pattern.finditer(bare)]
    values = [_VALUE.fullmatch(bare, *token) for token in tokens]
    others = [
        _CLOCK.fullmatch(bare, *token)
        or ((at == 0 or bare[slice(*token)] in _NOTHING) and _WORD.match(bare, *token))
        for at, (token, value) in enumerate(zip(tokens, values, strict=True))
        if value is None
    ]
    if len(tokens) <= MOST_CELLS and all(others):
        yield from values


def _mark(line: str) -> str | None:
    headers = _headers(line)
    return _HEADER + _OR.join(map(_BETWEEN.join, headers)) if headers else None


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
        (at, cells.split(_BETWEEN))
        for mark, places in marks.items()
        for cells in mark.removeprefix(_HEADER).split(_OR)
        for at in places
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
    columns = {name: joined(held) for name, held in parts.items()}
    notes: tuple[str, ...] = ()
    if any(names[: len(_SPACY)] == _SPACY for _, names in headers):
        columns, notes = _since_the_first(columns)
    found = assembled(columns, {EPOCH: "epoch", STEP: "step"})
    names = _lone_loss(columns) | losses_by_numbers(found.points)
    return replace(found, notes=(*notes, *found.notes), names=names)


def _since_the_first(columns: Mapping[str, Rows]) -> tuple[dict[str, Rows], tuple[str, ...]]:
    """The columns without the losses of step 0, which are of one step: all others are sums over many."""
    first = columns[STEP].at[columns[STEP].values == 0] if STEP in columns else np.empty(0, dtype=np.int64)
    kept = {
        name: held.select(~np.isin(held.at, first)) if canonical(name).startswith("loss") else held
        for name, held in columns.items()
    }
    said = "losses are sums over the steps since the row above; those of step 0, of one step, are left out"
    return kept, (said,) if len(first) else ()


def _lone_loss(columns: Mapping[str, Rows]) -> dict[str, str]:
    """The name "loss" for the one column that holds a part of it, where none holds all."""
    parts = [name for name in columns if canonical(name).startswith("loss")]
    minimised = [name for name in parts if not _PASSED_BACK.search(name)]
    if len(minimised) != 1 or any(canonical(name) == "loss" for name in parts):
        return {}
    return {minimised[0]: "loss"}


def _column(names: list[str], place: int) -> str:
    counter = _counter_at(names)
    if counter is not None and counter[0] == place:
        return counter[1]
    name = names[place].replace("Box(", "").strip()
    name = name if name.count("(") == name.count(")") else name.strip("()")
    if name in _NO_SIGNALS:
        return ""
    if names[: len(_SPACY)] == _SPACY:
        return "epoch" if place == 0 else name if "LOSS" in name else f"val/{name.lower()}"
    if names[0] in _HELD_OUT or _measured_with_validation(names, place):
        return f"val {_SPOKEN.get(name, name)}"
    return name


def _measured_with_validation(names: list[str], place: int) -> bool:
    """Whether a measure that does not say so belongs to the validation: it stands behind its loss."""
    spoken = [canonical(name.strip("()")) for name in names]
    if not spoken[place].startswith("train/") or "val/loss" not in spoken[:place]:
        return False
    return not _TRAINED.search(names[place]) and validated(spoken[place]) not in spoken
