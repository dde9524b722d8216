"""Tables of comma-, semicolon- or tab-separated values: one row per step, one column per signal.

step,loss,lr                      an ordinary table
step;loss;lr                      with decimal commas below: 1.200;0,4471;1,5e-4
,0.099,0,,49,,0.147               sparse rows (Lightning): an empty cell is a value that was not logged
epoch,   train/box_loss,   ...    padded headers (Ultralytics)
"Step","run - loss","run - loss__MIN"   a download from W&B: every cell quoted, its range beside each value
# step loss                       a header as a comment, cells between blanks
1 8.0491                          steps and losses without a header (torchtitan's reference curves)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from stethoscope.errors import UnreadableFile
from stethoscope.logs._reading.clock import stamp_of
from stethoscope.logs._reading.digits import decimals
from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import number
from stethoscope.logs._reading.points import MAX_SERIES
from stethoscope.logs._tables.blocks import Blocks
from stethoscope.logs._tables.cells import Cells, Mask, Values, cells_of, numbers_in, split
from stethoscope.logs._tables.fast_columns import FILLED, Columns, fast_columns
from stethoscope.logs._tables.table import (
    AXIS_COLUMNS,
    TAG_KEYS,
    TIME_COLUMNS,
    Reading,
    Table,
    is_message_key,
    is_role_key,
    looks_like_log,
    of_validation,
    says_held_out,
    spoken,
    tells_of_held_out,
)
from stethoscope.run import Log
from stethoscope.run.names import known

FORMAT = "CSV table"
CHUNK = 4 << 20  # bytes read at once: a parser that is called seldom is faster
DECISIVE = 0.8  # sureness that no other format can have of the same file

SEPARATORS = (",", "\t", ";", "|")
_NAME = re.compile(r"[^\x00-\x08\x0b-\x1f{}=<>]{0,200}")
_TAG = re.compile(r"tag-(?P<tag>.+)\.csv$")  # TensorBoard's "download CSV": run-x-tag-loss.csv
HALF = 0.5
LINES_LOOKED_AT = 20
AT_ONCE = 1 << 20  # bytes of a block whose cells are found together; they stay in the cache
LONGEST_ROW = 1 << 20  # bytes; a longer one is cut at the last name that is kept
FEWEST_LABELS = 3  # rows before a column of words is called labels


Rows = npt.NDArray[np.int64]


def recognise(head: Head) -> float:
    """A header of names, some of them a training log's, above rows of as many cells, mostly numbers."""
    if head.binary or head.prose:
        return 0.0
    lines = head.text.replace("\0", "").splitlines()[:LINES_LOOKED_AT]
    separator = _separator(lines)
    with_cells = [*_with_cells(lines)]
    below = "\n".join(with_cells[1:]).encode()
    if _has_decimal_commas(below, separator):
        with_cells[1:] = _with_points(below).decode().split("\n")
    rows = [split(line, separator) for line in with_cells]
    header = rows[0] if rows else []
    if len(header) < 2:
        return 0.0
    if _counts_without_header(rows, head):
        return 0.4
    named = all(_NAME.fullmatch(cell) for cell in header) and not any(_is_value(cell) for cell in header)
    if not named:
        return 0.0
    if len(rows) == 1:  # a header longer than the head
        return 0.5 if head.end and looks_like_log(header) else 0.0
    first = rows[1]
    if abs(len(first) - len(header)) > 1:
        return 0.0
    filled = [cell for cell in first if cell.strip()]
    numeric = [cell for cell in filled if _cell_value(cell) is not None or _UNIT.fullmatch(cell.strip())]
    if not numeric or len(numeric) + _times(filled) < HALF * len(filled) or not looks_like_log(header):
        return 0.0
    return 0.8


def begin(head: Head) -> CsvReading:
    """Each column against the column that counts steps."""
    return CsvReading(head, Blocks(head.encoding))


@dataclass(slots=True)
class CsvReading:
    """A table being read."""

    head: Head
    blocks: Blocks
    table: Table = field(default_factory=Table)
    separator: str | None = ""  # "" until a header is seen
    names: list[str] = field(default_factory=list)
    long_form: tuple[int, int] | None = None
    learned: bool = False  # whether rows were seen
    role: int | None = None  # the column that says what a row was measured on
    decimal_commas: bool = False
    of_how_many: bool = False  # whether the counter is written as 3/100
    total: int | None = None
    ragged: int = 0
    clocks: dict[str, tuple[float, float]] = field(default_factory=dict)
    words: dict[str, set[str]] = field(default_factory=dict)
    units: dict[str, bytes] = field(default_factory=dict)  # of columns whose numbers are followed by one

    def take(self, data: bytes, last: bool) -> int:
        """Read the whole lines among these bytes."""
        taken, block = self.blocks.cut(data, last)
        if block and self.separator == "":
            block = self._after_header(block)
        if not self.learned and block and not block.isspace():
            self.learned = True
            self._learn(block)
        if block and (self.decimal_commas or self.of_how_many):
            block = self._rewritten(block)
        if block and not self._take_fast(block):
            for part in _parts(block):
                self._take_part(part)
        return taken

    def log(self) -> Log:
        """What was read so far."""
        if self.table.rows == 0 or not self.table.places:
            raise UnreadableFile(f"{self.head.file}: a table with a header and no numbers")
        self._refuse_labels()
        found = self.table.reading(self.head.file)
        self._refuse_others(found)
        notes = [*found.notes]
        if self.ragged:
            notes.append(f"{self.ragged} of {self.table.rows} rows have more or fewer cells than the header")
        runs = runs_in(self.names)
        if len(runs) > 1:
            notes.append(f"{len(runs)} runs stand side by side: {', '.join(sorted(runs)[:3])} ...")
        clock = next(iter(self.clocks.values()), (None, None))
        return Log(
            self.head.file,
            FORMAT,
            found.series,
            started=found.started or clock[0],
            last_written=found.last_written or clock[1] or self.head.changed,
            total_steps=found.total_steps or self.total,
            notes=tuple(notes),
        )

    # --- the header -----------------------------------------------------------------------------------

    def _after_header(self, block: bytes) -> bytes:
        """Take the header, and give what follows it."""
        at = 0
        while at < len(block):
            end = block.find(b"\n", at)
            end = len(block) if end < 0 else end
            line = block[at:end].decode("utf-8", errors="replace")
            text = _uncommented(line)
            if text.strip():
                self.separator = _separator([text])
                row = split(text, self.separator)
                if any(_is_value(cell) for cell in row) and len(row) == 2:
                    self._name(["step", _value_name(self.head)])
                    return block[at:]
                self._name(row)
                self.blocks.line += 1
                return block[end + 1 :]
            self.blocks.line += 1
            at = end + 1
        return b""

    def _name(self, row: Sequence[str]) -> None:
        self.names = signal_names(row, self.head.path.name)
        if len(self.names) > MAX_SERIES:
            self.table.refused = True
        self.long_form = _long_form(self.names)
        roles = [at for at, name in enumerate(self.names) if is_role_key(name)]
        messages = [at for at, name in enumerate(self.names) if is_message_key(name)]
        self.role = next(iter((*roles, *messages)), None)

    def _learn(self, rows: bytes) -> None:
        """Learn from the first rows how numbers are written, and which column the header leaves out."""
        line = rows[:LONGEST_ROW].lstrip(b"\n").split(b"\n", 1)[0]
        row = split(line.decode("utf-8", errors="replace"), self.separator)
        if len(row) == len(self.names) + 1:
            # R writes row numbers without a name before the others; a separator at the end adds nothing.
            self._name([*self.names, ""] if not row[-1].strip() else ["", *self.names])
        named = zip(self.names, row, strict=False)
        self.of_how_many = any(spoken(name) in AXIS_COLUMNS and _OF.fullmatch(cell) for name, cell in named)
        self.decimal_commas = _has_decimal_commas(rows[:LONGEST_ROW], self.separator)

    def _rewritten(self, block: bytes) -> bytes:
        """The block with its numbers written as everywhere else."""
        if self.decimal_commas:
            block = _with_points(block)
        if self.of_how_many:
            totals = _OF_CELL.findall(block)
            self.total = int(totals[-1][1]) if totals else self.total
            block = _OF_CELL.sub(rb"\1", block)
        return block

    # --- rows -----------------------------------------------------------------------------------------

    def _take_fast(self, block: bytes) -> bool:
        """Read a block with the parser of the [fast] extra, if it is there and this block is plain."""
        if self.long_form or self.role is not None or not self.separator or len(self.names) > MAX_SERIES:
            return False
        columns = fast_columns(block, self.separator, len(self.names))
        if columns is None:
            return False
        self._add_columns(columns, self.blocks.line)
        self.blocks.line += columns.rows
        return True

    def _add_columns(self, columns: Columns, line: int) -> None:
        first = self.table.rows
        places = np.arange(first, first + columns.rows, dtype=np.int64)
        self.table.stands_at(first, line)
        self.table.rows += columns.rows
        for name, (values, filled) in zip(self.names, columns.columns, strict=True):
            if name:
                self.table.add_block(name, places if filled is FILLED else filled + first, values)

    def _take_part(self, block: bytes) -> None:
        line = self.blocks.line
        if len(block) > LONGEST_ROW and b"\n" not in block[:LONGEST_ROW]:
            self._take_long_row(block, line)
            self.blocks.line += 1
            return
        cells = cells_of(block, self.separator.encode() if self.separator else None)
        values, good = numbers_in(cells)
        counts = np.diff(cells.first)
        sums = np.concatenate([[0], np.cumsum(good)])
        numeric = sums[cells.first[1:]] - sums[cells.first[:-1]]
        empty = _all_empty(cells)
        # A line without a number may be a header again: a logger that was started anew writes another.
        bare = np.flatnonzero((numeric == 0) & ~empty & ~cells.quoted)
        comments = cells.buffer[cells.line_starts] == ord("#")
        begin = 0
        wanted = ~(empty | comments)
        for at in bare[(counts[bare] > 1) | comments[bare]].tolist():
            text = _uncommented(cells.text(at))
            row = split(text, self.separator)
            wanted[at] &= _RULE.fullmatch(text) is None
            if _is_header(row):
                self._take_rows(cells, values, good, begin, at, wanted)
                self._name(row)
                begin = at + 1
        self._take_rows(cells, values, good, begin, len(counts), wanted)
        self.blocks.line += len(counts)

    def _take_rows(
        self, cells: Cells, values: Values, good: Mask, begin: int, end: int, wanted: Mask
    ) -> None:
        """Read the wanted lines from one to before another; they all stand under one header."""
        lines = np.flatnonzero(wanted[begin:end]) + begin
        if len(lines) == 0:
            return
        width = len(self.names)
        counts = np.diff(cells.first)[lines]
        regular = (counts == width) & ~cells.quoted[lines]
        rows = np.arange(self.table.rows, self.table.rows + len(lines), dtype=np.int64)
        breaks = np.flatnonzero(np.diff(lines) != 1) + 1
        for at in (0, *breaks.tolist()):
            self.table.stands_at(int(rows[at]), self.blocks.line + int(lines[at]))
        if self.long_form:
            regular[:] = False
        for at in np.flatnonzero(~regular).tolist():
            self.table.rows = int(rows[at])
            self._take_row(cells.row(int(lines[at])))
        self.table.rows = int(rows[-1]) + 1
        if regular.any():
            if regular.all() and len(lines) == end - begin:
                grid = slice(int(cells.first[begin]), int(cells.first[end]))
                block, filled = values[grid].reshape(-1, width), good[grid].reshape(-1, width)
            else:
                which = cells.first[lines[regular]][:, None] + np.arange(width)
                block, filled = values[which], good[which]
            held_out = self._held_out(cells, lines[regular])
            if held_out.any():
                self._add_block(
                    rows[regular][held_out], block[held_out], filled[held_out], held_out_names(self.names)
                )
            if not held_out.all():
                self._add_block(rows[regular][~held_out], block[~held_out], filled[~held_out], self.names)
            self._look_at_words(cells, rows[regular], lines[regular], filled)

    def _held_out(self, cells: Cells, lines: Rows) -> Mask:
        """Which rows say that they were measured on held-out data."""
        if self.role is None:
            return np.zeros(len(lines), np.bool_)
        said = (cells.cell(int(cells.first[line]) + self.role) for line in lines)
        return np.fromiter((self._says_held_out(text) for text in said), np.bool_, len(lines))

    def _says_held_out(self, text: str) -> bool:
        of_role = self.role is not None and is_role_key(self.names[self.role])
        return says_held_out(text) if of_role else tells_of_held_out(text)

    def _add_block(self, rows: Rows, block: Values, good: Mask, names: list[str]) -> None:
        kept = min(len(names), MAX_SERIES)
        columns, filled = np.ascontiguousarray(block[:, :kept].T), np.ascontiguousarray(good[:, :kept].T)
        whole: list[bool] = np.all(filled, axis=1).tolist()
        for name, column, is_whole, mask in zip(names, columns, whole, filled, strict=False):
            if name:
                self.table.add_block(name, *((rows, column) if is_whole else (rows[mask], column[mask])))

    def _take_row(self, row: list[str]) -> None:
        """Read one row that is not like the others."""
        if self.long_form and len(row) == len(self.names):
            self.table.add(_long_values(self.names, row, *self.long_form))
            return
        kept = len(row)
        if kept != len(self.names):
            # A cut line may end in half a number; a row with a cell too few is read up to it.
            self.ragged += 1
            kept = min(len(row) - 1, len(self.names))
        role = row[self.role] if self.role is not None and self.role < len(row) else ""
        names = held_out_names(self.names) if role and self._says_held_out(role) else self.names
        self.table.add(_values(names, row[:kept]))

    def _take_long_row(self, block: bytes, line: int) -> None:
        """Read a row of more cells than are kept."""
        text = block.rstrip(b"\n")[: 64 * LONGEST_ROW].decode("utf-8", errors="replace")
        row = text.split(self.separator, MAX_SERIES)
        self.table.stands_at(self.table.rows, line)
        self.table.add(_values(self.names, row[:MAX_SERIES]))
        if len(row) < len(self.names):
            self.ragged += 1

    # --- words: times and labels ------------------------------------------------------------------------

    def _look_at_words(self, cells: Cells, rows: Rows, lines: Rows, good: Mask) -> None:
        """Note what the columns hold that are no numbers: the time of day, numbers with a unit, or labels."""
        if good[:, :MAX_SERIES].all():
            return
        which = cells.first[lines][:, None] + np.arange(min(good.shape[1], MAX_SERIES))
        said = ~good[:, :MAX_SERIES] & (cells.ends[which] > cells.starts[which])
        for column in np.flatnonzero(said.any(axis=0)).tolist():
            name = self.names[column]
            worded, standing = lines[said[:, column]], rows[said[:, column]]
            ends = [cells.cell(int(cells.first[line]) + column) for line in (worded[0], worded[-1])]
            stamps = [_stamp(text) for text in ends]
            if stamps[0] is not None and stamps[1] is not None:
                self.clocks[name] = (self.clocks.get(name, stamps)[0] or stamps[0], stamps[1])
            elif name and self._has_unit(cells, cells.first[worded] + column, name):
                self._add_with_unit(cells, standing, cells.first[worded] + column, name, self.units[name])
            elif len(self.words.setdefault(name, set())) < FEWEST_LABELS:
                self.words[name].update(text for text in ends if text and not _is_time(text))

    def _has_unit(self, cells: Cells, which: Rows, name: str) -> bool:
        """Whether a column's numbers have a unit: the first one that any of its cells has."""
        if name not in self.units:
            first, last = cells.buffer[cells.starts[which]], cells.buffer[cells.ends[which] - 1]
            for at in which[((first <= ord("9")) & (last > ord("9"))) | (last == ord("%"))].tolist():
                if unit := _UNIT.fullmatch(cells.cell(at).strip()):
                    self.units[name] = unit[1].encode()
                    break
        return name in self.units

    def _add_with_unit(self, cells: Cells, rows: Rows, which: Rows, name: str, unit: bytes) -> None:
        """Read a column whose numbers are all followed by one unit: 12ms, 1.2 GB."""
        starts, ends = cells.starts[which], cells.ends[which]
        fits = ends - starts > len(unit)
        for back, character in enumerate(reversed(unit), 1):
            fits &= cells.buffer[ends - back] == character
        values, good = decimals(cells.buffer, starts[fits], ends[fits] - len(unit))
        self.table.add_block(name, rows[fits][good], values[good])

    def _refuse_labels(self) -> None:
        """A table of examples, each with a label, is no log, though its columns are called as a log's."""
        labels = [name for name in self.words if _LABEL.fullmatch(spoken(name)) and self.words[name]]
        columns = self.table.columns()
        counters = [name for name in columns if spoken(name) in AXIS_COLUMNS]
        runs = [name for name in self.words if _RUN.fullmatch(spoken(name)) and len(self.words[name]) > 1]
        if runs and not counters:
            raise UnreadableFile(
                f"{self.head.file}: a table of runs, not the log of one: '{runs[0]}' names one in each row"
            )
        if not labels or not counters or self.table.rows < FEWEST_LABELS:
            return
        if all(_counts_nothing(columns[name][1]) for name in counters):
            raise UnreadableFile(
                f"{self.head.file}: a table of labelled examples, not a log: '{counters[0]}' does not count "
                f"its rows and '{labels[0]}' names a class for each"
            )

    def _refuse_others(self, found: Reading) -> None:
        """A table without a counter is a log only where its rows can be steps: not examples, not seconds."""
        if any(series.axis != "row" for series in found.series):
            return
        columns = [spoken(name) for name in self.names if name]
        about = next((name for name in columns if _OF_AN_EXAMPLE.fullmatch(name)), None)
        if about is not None:
            raise UnreadableFile(
                f"{self.head.file}: a table of examples, not a log: nothing counts steps, and '{about}' "
                "belongs to one example"
            )
        if {"precision", "recall", "support"} <= {*columns}:
            raise UnreadableFile(f"{self.head.file}: a classification report, with a row for each class")
        named = {series.name.split("/")[0] for series in found.series if known(series.logged_as)}
        if named and named <= _OF_THE_MACHINE:
            raise UnreadableFile(
                f"{self.head.file}: no log of training: it counts no steps and tells of the machine only"
            )


# What a model said about one example, and what was true of it.
_OF_AN_EXAMPLE = re.compile(
    r"(?:.*[_/])?(?:y_?(?:true|pred|hat|prob)|pred(?:s|icted|ictions?)?|(?:ground_?)?truth|gt|gold|actual"
    r"|true_label|logits?|file_?name|image_?(?:id|path|file)|(?:sample|example)_?id)(?:_(?:label|class|prob))?"
)
_OF_THE_MACHINE = frozenset({"mem", "throughput", "mfu", "runtime", "step_time", "data_time"})

# Columns that say what a row is an example of.
_LABEL = re.compile(
    r"(?:.*[_/])?(?:label|class|category|target|fault|fault_type|bug|bug_type|y|outcome|verdict)s?"
)

_RUN = re.compile(
    r"(?:.*[_/])?(?:run|run_name|run_id|experiment|exp|trial|model|model_name|method|config|name|id)"
)


def _counts_nothing(values: Values) -> bool:
    """Whether a column named as a counter holds fractions, one value over and over, or no order at all."""
    steps = np.diff(values)
    if len(steps) == 0:
        return False
    return bool((values != np.floor(values)).mean() > HALF or (steps <= 0).mean() > HALF)


def _parts(block: bytes) -> Iterator[bytes]:
    """The block in pieces of whole lines."""
    at = 0
    while at < len(block):
        end = block.rfind(b"\n", at, at + AT_ONCE) + 1
        if end == 0:
            end = block.find(b"\n", at + AT_ONCE - 1) + 1 or len(block)
        yield block[at:end]
        at = end


def _all_empty(cells: Cells) -> Mask:
    """Which lines hold nothing but blanks."""
    filled = np.concatenate([[0], np.cumsum(cells.ends > cells.starts)])
    lonely = np.diff(cells.first) <= 1
    empty: Mask = lonely & (filled[cells.first[1:]] == filled[cells.first[:-1]])
    return empty


_OF = re.compile(r"\s*\d{1,15}/\d{1,15}\s*")
_OF_CELL = re.compile(rb"(?<![^,;\t|\s])(\d{1,15})/(\d{1,15})(?![^,;\t|\s])")
# 1,5 or 0,001: a comma that separates no thousands.
_DECIMAL_COMMA = re.compile(rb"(?<![\d,.])(?:0,\d|\d{1,15},(?:\d{1,2}|\d{4,17})(?![\d,]))")
# Whole cells: 1,234 between semicolons; 1.234,5 with points for thousands; 12.75 with a decimal point.
_BEFORE, _AFTER = rb"(?<![^;\t|\s\"])", rb"(?:[eE][-+]?\d{1,3})?%?(?![^;\t|\s\"])"
_COMMA_CELL = re.compile(_BEFORE + rb"[-+]?\d{1,15},\d{1,17}" + _AFTER)
_GROUPED_CELL = re.compile(_BEFORE + rb"[-+]?\d{1,3}(?:\.\d{3}){1,4},\d{1,17}" + _AFTER)
_POINT_CELL = re.compile(_BEFORE + rb"[-+]?(?:\d{1,3}(?:,\d{3})+|\d{0,15})\.(?:\d{1,2}|\d{4,17})" + _AFTER)
_GERMAN_CELL = re.compile(
    _BEFORE + rb"([-+]?(?:\d{1,3}(?:\.\d{3}){1,4}|\d{1,15}))(,\d{1,17})?(" + _AFTER + rb")"
)


def _has_decimal_commas(rows: bytes, separator: str | None) -> bool:
    """Whether numbers are written as 0,5 or 1.234,5: no cell has a decimal point then."""
    if separator == "," or b"," not in rows or _POINT_CELL.search(rows):
        return False
    marks = (_COMMA_CELL, _GROUPED_CELL) if separator == ";" else (_DECIMAL_COMMA, _GROUPED_CELL)
    return any(mark.search(rows) for mark in marks)


def _with_points(block: bytes) -> bytes:
    """A block of numbers with decimal commas, with decimal points."""
    if b"." not in block:
        return block.replace(b",", b".")
    return _GERMAN_CELL.sub(_with_point, block)


def _with_point(cell: re.Match[bytes]) -> bytes:
    return cell[1].replace(b".", b"") + (cell[2] or b"").replace(b",", b".") + cell[3]


# --- headers ------------------------------------------------------------------------------------------


def _separator(lines: Sequence[str]) -> str | None:
    """What separates the cells, by the first line that holds any; None for blanks."""
    text = _uncommented(next((line for line in lines if line.strip("# \t\r\n")), ""))
    bare = re.sub(r'"[^"]*"', "", text)  # a quoted name may hold a comma
    most = max(SEPARATORS, key=bare.count)
    return most if most in bare else None


def _with_cells(lines: Sequence[str]) -> Iterator[str]:
    """The lines that hold cells: the header may be a comment, what follows may not."""
    first = True
    for line in lines:
        text = _uncommented(line) if first else line
        if text.strip() and not text.startswith("#") and not _RULE.fullmatch(text):
            first = False
            yield text.rstrip("\r\n")


_RULE = re.compile(r"[-=+|: \t]*[-=][-=+|: \t]*")  # a line drawn under a header


def _uncommented(line: str) -> str:
    """A header that NumPy and others write as a comment, as a line."""
    return line.lstrip("# \t") if line.lstrip().startswith("#") else line


def _is_value(cell: str) -> bool:
    return number(cell) is not None and not cell.strip().lower().startswith(("nan", "inf"))


def _is_header(row: list[str]) -> bool:
    filled = [cell for cell in row if cell.strip()]
    return len(filled) > 1 and not any(_is_value(cell) for cell in filled) and sum(map(_speaks, filled)) > 1


def _speaks(cell: str) -> bool:
    return known(cell) or spoken(cell) in AXIS_COLUMNS


def _counts_without_header(rows: list[list[str]], head: Head) -> bool:
    """Whether there are two columns of numbers, the first of which counts, in a file named for its values."""
    if len(rows) < LINES_LOOKED_AT // 4 or any(len(row) != 2 for row in rows[:-1]):
        return False
    if _value_name(head) == "value":
        return False
    pairs = [(number(row[0]), number(row[1])) for row in rows[:-1]]
    steps = [step for step, value in pairs if step is not None and value is not None]
    whole = all(step == int(step) for step in steps if abs(step) < 2**53)
    return len(steps) == len(pairs) and whole and all(a < b for a, b in pairwise(steps))


def _value_name(head: Head) -> str:
    """What the one column of a file without a header holds, by the names of the file and its folder."""
    said = f"{head.path.parent.name} {head.path.name}".lower()
    return next((name for name in ("loss", "accuracy", "lr", "psnr", "reward") if name in said), "value")


def signal_names(row: Sequence[str], file: str) -> list[str]:
    """One name for each column; a column that only repeats another has none."""
    names: list[str] = []
    taken: set[str] = set()
    for cell in row:
        name = cell.strip().strip('"').strip()
        names.append(f"{name} (column {len(names) + 1})" if name and name in taken else name)
        taken.add(name)
    tag = _TAG.search(file)
    if tag and [name.lower() for name in names] == ["wall time", "step", "value"]:
        return [*names[:2], tag["tag"].replace("_", "/", 1)]
    return _without_run(names)


_RANGE = re.compile(r"(.+)__(?:MIN|MAX)")
_OF_RUN = re.compile(r"(?P<run>.+?) - (?P<name>.+)")


def _without_run(names: list[str]) -> list[str]:
    """The names of a table downloaded from W&B, without the one run's name and without ranges."""
    whole = set(names)
    kept = ["" if (r := _RANGE.fullmatch(name)) and r[1] in whole else name for name in names]
    if len(runs_in(kept)) != 1:
        return kept
    return [part["name"] if (part := _OF_RUN.fullmatch(name)) else name for name in kept]


def runs_in(names: Sequence[str]) -> set[str]:
    """The runs that a table downloaded from W&B compares; none for any other table."""
    parts = [_OF_RUN.fullmatch(name) for name in names if name and spoken(name) not in _OWN_COLUMNS]
    return {part["run"] for part in parts if part} if parts and all(parts) else set()


_OWN_COLUMNS = AXIS_COLUMNS | {*TIME_COLUMNS, "relative_time_(wall)", "relative_time_(process)"}


def held_out_names(names: list[str]) -> list[str]:
    """The names of a row that was measured on held-out data."""
    return [name if spoken(name) in _OWN_COLUMNS else of_validation(name) for name in names]


# --- long tables: one value per row ---------------------------------------------------------------------


def _long_form(names: list[str]) -> tuple[int, int] | None:
    """Where the name and the value stand in a table of one value per row; None for any other table."""
    lowered = [name.lower() for name in names]
    tag = next((lowered.index(name) for name in TAG_KEYS if name in lowered), None)
    return (tag, lowered.index("value")) if tag is not None and "value" in lowered else None


def _long_values(names: list[str], cells: list[str], tag: int, value: int) -> Iterator[tuple[str, float]]:
    named = [*names]
    named[value] = cells[tag].strip()
    yield from ((name, number_) for name, number_ in _values(named, cells) if name != names[tag])


def _values(names: list[str], cells: list[str]) -> Iterator[tuple[str, float]]:
    for name, cell in zip(names, cells, strict=False):
        if cell and name:
            value = _cell_value(cell)
            if value is not None:
                yield name, value


def _cell_value(cell: str) -> float | None:
    value = number(cell)
    return number(cell.strip().removesuffix("%")) if value is None else value


_UNIT = re.compile(r"[-+]?\d[\d.]*(?:[eE][-+]?\d+)?(\s?[A-Za-z]{1,3}(?:/[A-Za-z]{1,5})?)")


# --- times ----------------------------------------------------------------------------------------------

_TIME = re.compile(r"\d{1,3}:\d\d(?::\d\d)?(?:[.,]\d+)?")


def _times(cells: Sequence[str]) -> int:
    return sum(_is_time(cell) or _OF.fullmatch(cell) is not None for cell in cells)


def _is_time(cell: str) -> bool:
    """Whether a cell tells a time: a date, or hours and minutes."""
    return bool(_TIME.fullmatch(cell.strip())) or _stamp(cell) is not None


def _stamp(cell: str) -> float | None:
    text = cell.strip()
    if not text[:1].isdigit() or not {"-", "/"} & {*text}:
        return None
    try:
        return stamp_of(text) or datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
