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
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from stethoscope.errors import UnreadableFile
from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import number
from stethoscope.logs._reading.points import MAX_SERIES
from stethoscope.logs._tables.blocks import Blocks
from stethoscope.logs._tables.cells import Cells, Mask, Values, cells_of, numbers_in, split
from stethoscope.logs._tables.csv_header import (
    RULE,
    held_out_names,
    is_header,
    is_value,
    runs_in,
    separator_in,
    signal_names,
    uncommented,
    with_cells,
)
from stethoscope.logs._tables.decimal_commas import has_decimal_commas, with_points
from stethoscope.logs._tables.fast_columns import FILLED, Columns, fast_columns
from stethoscope.logs._tables.named_cells import cell_value, long_form, long_values, values_in
from stethoscope.logs._tables.no_logs import refuse_labels, refuse_others
from stethoscope.logs._tables.table import (
    AXIS_COLUMNS,
    Table,
    is_message_key,
    is_role_key,
    looks_like_log,
    says_held_out,
    spoken,
    tells_of_held_out,
)
from stethoscope.logs._tables.worded_columns import UNIT, WordedColumns, is_time
from stethoscope.run import Log

FORMAT = "CSV table"
CHUNK = 4 << 20  # bytes read at once: a parser that is called seldom is faster
DECISIVE = 0.8  # sureness that no other format can have of the same file

_NAME = re.compile(r"[^\x00-\x08\x0b-\x1f{}=<>]{0,200}")
HALF = 0.5
LINES_LOOKED_AT = 20
AT_ONCE = 1 << 20  # bytes of a block whose cells are found together; they stay in the cache
LONGEST_ROW = 1 << 20  # bytes; a longer one is cut at the last name that is kept

Rows = npt.NDArray[np.int64]


def recognise(head: Head) -> float:
    """A header of names, some of them a training log's, above rows of as many cells, mostly numbers."""
    if head.binary or head.prose:
        return 0.0
    lines = head.text.replace("\0", "").splitlines()[:LINES_LOOKED_AT]
    separator = separator_in(lines)
    filled_lines = [*with_cells(lines)]
    below = "\n".join(filled_lines[1:]).encode()
    if has_decimal_commas(below, separator):
        filled_lines[1:] = with_points(below).decode().split("\n")
    rows = [split(line, separator) for line in filled_lines]
    header = rows[0] if rows else []
    if len(header) < 2:
        return 0.0
    if _counts_without_header(rows, head):
        return 0.4
    named = all(_NAME.fullmatch(cell) for cell in header) and not any(is_value(cell) for cell in header)
    if not named:
        return 0.0
    if len(rows) == 1:  # a header longer than the head
        return 0.5 if head.end and looks_like_log(header) else 0.0
    first = rows[1]
    if abs(len(first) - len(header)) > 1:
        return 0.0
    filled = [cell for cell in first if cell.strip()]
    numeric = [cell for cell in filled if cell_value(cell) is not None or UNIT.fullmatch(cell.strip())]
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
    worded: WordedColumns = field(default_factory=WordedColumns)

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
        refuse_labels(self.head.file, self.table, self.worded.words)
        found = self.table.reading(self.head.file)
        refuse_others(self.head.file, self.names, found)
        notes = [*found.notes]
        if self.ragged:
            notes.append(f"{self.ragged} of {self.table.rows} rows have more or fewer cells than the header")
        runs = runs_in(self.names)
        if len(runs) > 1:
            notes.append(f"{len(runs)} runs stand side by side: {', '.join(sorted(runs)[:3])} ...")
        clock = next(iter(self.worded.clocks.values()), (None, None))
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
            text = uncommented(line)
            if text.strip():
                self.separator = separator_in([text])
                row = split(text, self.separator)
                if any(is_value(cell) for cell in row) and len(row) == 2:
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
        self.long_form = long_form(self.names)
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
        self.decimal_commas = has_decimal_commas(rows[:LONGEST_ROW], self.separator)

    def _rewritten(self, block: bytes) -> bytes:
        """The block with its numbers written as everywhere else."""
        if self.decimal_commas:
            block = with_points(block)
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
        if len(block) > LONGEST_ROW and b"\n" not in block[:LONGEST_ROW]:
            self._take_long_row(block, self.blocks.line)
            self.blocks.line += 1
            return
        cells = cells_of(block, self.separator.encode() if self.separator else None)
        values, good = numbers_in(cells)
        comments = cells.buffer[cells.line_starts] == ord("#")
        empty = _all_empty(cells)
        wanted = ~(empty | comments)
        begin, end = 0, len(empty)
        # A line without a number may be a header again: a logger that was started anew writes another.
        for at in _without_number(cells, good, empty, comments):
            text = uncommented(cells.text(at))
            row = split(text, self.separator)
            wanted[at] &= RULE.fullmatch(text) is None
            if is_header(row):
                self._take_rows(cells, values, good, begin, at, wanted)
                self._name(row)
                begin = at + 1
        self._take_rows(cells, values, good, begin, end, wanted)
        self.blocks.line += end

    def _take_rows(
        self, cells: Cells, values: Values, good: Mask, begin: int, end: int, wanted: Mask
    ) -> None:
        """Read the wanted lines from one to before another; they all stand under one header."""
        lines = np.flatnonzero(wanted[begin:end]) + begin
        if len(lines) == 0:
            return
        rows = np.arange(self.table.rows, self.table.rows + len(lines), dtype=np.int64)
        self._note_lines(rows, lines)
        width = 0 if self.long_form else len(self.names)
        regular = (np.diff(cells.first)[lines] == width) & ~cells.quoted[lines] & (width > 0)
        for at in np.flatnonzero(~regular).tolist():
            self.table.rows = int(rows[at])
            self._take_row(cells.row(int(lines[at])))
        self.table.rows = int(rows[-1]) + 1
        if regular.all() and len(lines) == end - begin:
            grid = slice(int(cells.first[begin]), int(cells.first[end]))
            self._take_grid(
                cells, rows, lines, values[grid].reshape(-1, width), good[grid].reshape(-1, width)
            )
        elif regular.any():
            which = cells.first[lines[regular]][:, None] + np.arange(width)
            self._take_grid(cells, rows[regular], lines[regular], values[which], good[which])

    def _note_lines(self, rows: Rows, lines: Rows) -> None:
        breaks = np.flatnonzero(np.diff(lines) != 1) + 1
        for at in (0, *breaks.tolist()):
            self.table.stands_at(int(rows[at]), self.blocks.line + int(lines[at]))

    def _take_grid(self, cells: Cells, rows: Rows, lines: Rows, values: Values, good: Mask) -> None:
        """Read rows that all have a cell for every name."""
        held_out = self._held_out(cells, lines)
        if held_out.any():
            names = held_out_names(self.names)
            self._add_block(rows[held_out], values[held_out], good[held_out], names)
        if not held_out.all():
            self._add_block(rows[~held_out], values[~held_out], good[~held_out], self.names)
        self.worded.look(self.table, self.names, cells, rows, lines, good)

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
            self.table.add(long_values(self.names, row, *self.long_form))
            return
        kept = len(row)
        if kept != len(self.names):
            # A cut line may end in half a number; a row with a cell too few is read up to it.
            self.ragged += 1
            kept = min(len(row) - 1, len(self.names))
        role = row[self.role] if self.role is not None and self.role < len(row) else ""
        names = held_out_names(self.names) if role and self._says_held_out(role) else self.names
        self.table.add(values_in(names, row[:kept]))

    def _take_long_row(self, block: bytes, line: int) -> None:
        """Read a row of more cells than are kept."""
        text = block.rstrip(b"\n")[: 64 * LONGEST_ROW].decode("utf-8", errors="replace")
        row = text.split(self.separator, MAX_SERIES)
        self.table.stands_at(self.table.rows, line)
        self.table.add(values_in(self.names, row[:MAX_SERIES]))
        if len(row) < len(self.names):
            self.ragged += 1


def _parts(block: bytes) -> Iterator[bytes]:
    """The block in pieces of whole lines."""
    at = 0
    while at < len(block):
        end = block.rfind(b"\n", at, at + AT_ONCE) + 1
        if end == 0:
            end = block.find(b"\n", at + AT_ONCE - 1) + 1 or len(block)
        yield block[at:end]
        at = end


def _without_number(cells: Cells, good: Mask, empty: Mask, comments: Mask) -> list[int]:
    """The lines that hold words only: comments, and what has more than one cell."""
    sums = np.concatenate([[0], np.cumsum(good)])
    numeric = sums[cells.first[1:]] - sums[cells.first[:-1]]
    several = np.diff(cells.first) > 1
    found: list[int] = np.flatnonzero((numeric == 0) & ~empty & ~cells.quoted & (several | comments)).tolist()
    return found


def _all_empty(cells: Cells) -> Mask:
    """Which lines hold nothing but blanks."""
    filled = np.concatenate([[0], np.cumsum(cells.ends > cells.starts)])
    lonely = np.diff(cells.first) <= 1
    empty: Mask = lonely & (filled[cells.first[1:]] == filled[cells.first[:-1]])
    return empty


# How far of how many: 3/100.
_OF = re.compile(r"\s*\d{1,15}/\d{1,15}\s*")
_OF_CELL = re.compile(rb"(?<![^,;\t|\s])(\d{1,15})/(\d{1,15})(?![^,;\t|\s])")


def _times(cells: Sequence[str]) -> int:
    return sum(is_time(cell) or _OF.fullmatch(cell) is not None for cell in cells)


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
