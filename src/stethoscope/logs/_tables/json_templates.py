"""JSON lines read by template: what differs between two lines of a log is mostly the numbers.

{"step": 10, "loss": 2.31, "lr": 1e-4}    a line
{"step": _, "loss": _, "lr": _}           its template: cells between commas, each a prefix, a value, a suffix

The names are found once for each template; that a line fits is proved by comparing the bytes around its
values, for all lines together. A line that fits no template is left to the JSON parser.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from stethoscope.logs._reading.digits import decimals
from stethoscope.logs._tables.json_values import KIMG_IN_NAME, numbers_of
from stethoscope.logs._tables.table import ROLE_KEYS, TAG_KEYS

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Values = npt.NDArray[np.float64]

MOST_TEMPLATES = 64  # remembered
TRIED = 12  # fresh templates for one block
FEWEST_LINES = 16  # of a block that a fresh template must fit to be worth its making
LONGEST_TEMPLATE = 1 << 17  # bytes of a line; a longer one is read apart
IN_CACHE = 1 << 17  # bytes looked through at once
_WORD = 8

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')


@dataclass(frozen=True, slots=True)
class Template:
    """What stands before and after the value of each cell, and the value's name; "" for one not wanted."""

    prefixes: tuple[bytes, ...]
    suffixes: tuple[bytes, ...]
    names: tuple[str, ...]
    varies: tuple[bool, ...]  # whether a cell has a value; if not, all of it is prefix


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a block, and their cells between commas; line k has the cells first[k] to first[k + 1]."""

    block: bytes
    buffer: Bytes
    line_starts: Offsets
    line_ends: Offsets
    starts: Offsets
    ends: Offsets
    first: Offsets


@dataclass(frozen=True, slots=True)
class Fitting:
    """The lines of a block that fit one template, and the columns of their values."""

    lines: Offsets
    names: tuple[str, ...]
    values: Values


@dataclass(slots=True)
class Templates:
    """The templates met so far in a log."""

    known: list[Template] = field(default_factory=list)

    def plain_names(self) -> tuple[str, ...] | None:
        """The names of the template met first, where its lines are flat: a number under every name."""
        return _plain_names(self.known[-1]) if self.known else None

    def fit(self, lines: Lines) -> list[Fitting]:
        """Read what fits a template, making new ones from the lines that fit none."""
        counts = np.diff(lines.first)
        left = lines.buffer[lines.line_starts] == ord("{")
        found: list[Fitting] = []
        for known in self.known:
            self._take(known, lines, counts, left, found)
        for _ in range(TRIED):
            rest = np.flatnonzero(left)
            if len(rest) < FEWEST_LINES:
                break
            sample = int(rest[len(rest) // 2])
            template = template_of(lines.block[lines.line_starts[sample] : lines.line_ends[sample]])
            if template is None:
                break
            taken = self._take(template, lines, counts, left, found)
            if taken >= FEWEST_LINES:
                self.known = [template, *self.known][:MOST_TEMPLATES]
            if taken * TRIED < len(rest):  # every line is different
                break
        return found

    def _take(
        self, template: Template, lines: Lines, counts: Offsets, left: Mask, found: list[Fitting]
    ) -> int:
        candidates = np.flatnonzero(left & (counts == len(template.prefixes)))
        if len(candidates) == 0:
            return 0
        fitting = _fitting(template, lines, candidates)
        if len(fitting.lines):
            found.append(fitting)
            left[fitting.lines] = False
        return len(fitting.lines)


def lines_of(block: bytes) -> Lines:
    """The lines of a block and their cells."""
    if not block.endswith(b"\n"):
        block += b"\n"
    buffer = np.frombuffer(block, np.uint8)
    cuts = _cuts(buffer)
    last = np.flatnonzero(buffer[cuts] == ord("\n"))
    line_ends = cuts[last]
    return Lines(
        block,
        buffer,
        np.concatenate([[0], line_ends[:-1] + 1]),
        line_ends,
        np.concatenate([[0], cuts[:-1] + 1]),
        cuts,
        np.concatenate([[0], last + 1]),
    )


def _cuts(buffer: Bytes) -> Offsets:
    """Where the commas and the ends of lines stand."""
    found = []
    for at in range(0, len(buffer), IN_CACHE):
        part = buffer[at : at + IN_CACHE]
        marks = part == ord(",")
        marks |= part == ord("\n")
        found.append(np.flatnonzero(marks) + at)
    return np.concatenate(found)


_PLAIN_PREFIX = re.compile(rb'[{ ]\s*"([^"\\]+)"\s*:\s*')


def _plain_names(template: Template) -> tuple[str, ...] | None:
    found = [_PLAIN_PREFIX.fullmatch(prefix) for prefix in template.prefixes]
    keys = tuple(one[1].decode("utf-8", errors="replace") for one in found if one)
    return keys if keys == template.names and len({*keys}) == len(found) else None


# --- the template of a line -----------------------------------------------------------------------------


def template_of(line: bytes) -> Template | None:
    """The template of one line; None where its cells cannot be told by commas."""
    if len(line) > LONGEST_TEMPLATE or not line.rstrip().endswith(b"}"):
        return None
    spans = _value_spans(line)
    names = _names(line, spans) if spans is not None else None
    if spans is None or names is None:
        return None
    prefixes, suffixes, named, varies = [], [], [], []
    at, used = 0, 0
    for cell in line.split(b","):
        end = at + len(cell)
        inside = [span for span in spans[used : used + 2] if at <= span[0] < end]
        if len(inside) > 1 or (inside and inside[0][1] > end):
            return None  # a comma within a string, or a value that no comma follows
        if inside:
            (start, stop), used = inside[0], used + 1
            prefixes.append(line[at:start])
            suffixes.append(line[stop:end])
            named.append(names.get(used - 1, ""))
        else:  # nothing that varies: an empty list, or a word that decides the names
            prefixes.append(cell)
            suffixes.append(b"")
            named.append("")
        varies.append(bool(inside))
        at = end + 1
    if used != len(spans):
        return None
    return Template(tuple(prefixes), tuple(suffixes), tuple(named), tuple(varies))


def _value_spans(line: bytes) -> list[tuple[int, int]] | None:
    """Where the values stand that may differ from line to line; not the words that decide the names."""
    tokens = [(found.group(), found.span()) for found in _TOKEN.finditer(line)]
    spans = []
    key = b""
    for index, (token, span) in enumerate(tokens):
        if token in b"{}[]:,":
            continue
        if index + 1 < len(tokens) and tokens[index + 1][0] == b":" and token.startswith(b'"'):
            key = token.strip(b'"')
            if key in _SPEAKING_NAMES:
                return None
        elif not (token.startswith(b'"') and key in _DECIDING):
            spans.append(span)
    return spans


_DECIDING = frozenset(key.encode() for key in (*ROLE_KEYS, *TAG_KEYS))
_SPEAKING_NAMES = frozenset({KIMG_IN_NAME.encode()})  # the value of this key counts, though it is a word


def _names(line: bytes, spans: list[tuple[int, int]]) -> dict[int, str] | None:
    """The name of each value: the line is read as JSON with every value replaced by its number."""
    parts, at = [], 0
    for index, (start, end) in enumerate(spans):
        parts += [line[at:start], b"%d" % index]
        at = end
    try:
        record = json.loads(b"".join([*parts, line[at:]]))
    except (ValueError, RecursionError):
        return None
    return {int(value): name for name, value in numbers_of(record)} if isinstance(record, dict) else None


# --- lines that fit -------------------------------------------------------------------------------------


def _fitting(template: Template, lines: Lines, candidates: Offsets) -> Fitting:
    width = len(template.prefixes)
    all_starts, all_ends = _grid(lines, candidates, width)
    fits = np.ones(len(candidates), np.bool_)
    wanted = [at for at, name in enumerate(template.names) if name]
    starts, ends = (np.empty((len(wanted), len(candidates)), np.int64) for _ in range(2))
    row = 0
    for at, (prefix, suffix) in enumerate(zip(template.prefixes, template.suffixes, strict=True)):
        start, end = all_starts[:, at] + len(prefix), all_ends[:, at]
        fits &= _ends_with(lines.buffer, start, prefix)
        if suffix:
            end = end - len(suffix)
            fits &= _ends_with(lines.buffer, end + len(suffix), suffix)
        fits &= (start <= end) if template.varies[at] else (start == end)
        if template.names[at]:
            starts[row], ends[row] = start, end
            row += 1
    if not fits.all():
        starts, ends = starts[:, fits], ends[:, fits]
    first = lines.buffer[starts]
    quoted, strange = first == ord('"'), (first == ord(".")) | (first == ord("+"))  # .5 is no JSON
    if quoted.any():
        quoted &= ends - starts >= 2
        starts, ends = starts + quoted, ends - quoted
    values, good = decimals(lines.buffer, starts.ravel(), ends.ravel())
    names = tuple(template.names[at] for at in wanted)
    sound: Mask = (good.reshape(starts.shape) & ~strange).all(axis=0)  # any other line is read with care
    return Fitting(candidates[fits][sound], names, values.reshape(starts.shape)[:, sound])


def _grid(lines: Lines, candidates: Offsets, width: int) -> tuple[Offsets, Offsets]:
    """Where the cells of these lines begin and end, a row for each line."""
    if len(candidates) == len(lines.line_ends):
        return lines.starts.reshape(-1, width), lines.ends.reshape(-1, width)
    which = lines.first[candidates][:, None] + np.arange(width)
    return lines.starts[which], lines.ends[which]


def _ends_with(buffer: Bytes, ends: Offsets, text: bytes) -> Mask:
    """Whether the text stands before each of these places."""
    size = -(-len(text) // _WORD) * _WORD
    same = np.ones(len(ends), np.bool_)
    if not text:
        return same
    if size > len(buffer):
        return ~same
    kind = np.dtype(f"V{size}")
    windows = np.ndarray((len(buffer) - size + 1,), kind, buffer, strides=(1,))
    # A text that would begin before the buffer does not stand there; the cell is then read apart.
    taken = windows[np.clip(ends - size, 0, len(buffer) - size)].view("<u8").reshape(-1, size // _WORD)
    padded, mask = text.rjust(size, b"\0"), (b"\xff" * len(text)).rjust(size, b"\0")
    for at in range(0, size, _WORD):
        word, bits = (np.uint64(int.from_bytes(whole[at : at + _WORD], "little")) for whole in (padded, mask))
        same &= taken[:, at // _WORD] & bits == word
    same &= (ends >= size) & (ends <= len(buffer))
    return same
