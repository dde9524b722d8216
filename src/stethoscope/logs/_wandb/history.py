"""The values of W&B's history records, decoded many records at a time.

A record holds items, each a name (one string, or the path of a nested value) and a value as JSON text; the
program that writes them shuffles the items, so that two records of the same names rarely look the same:

    0a 10 | 12 0a train/loss | 82 01 03 2.5        item, 16 bytes | nested_key, 10 bytes | value_json, 3 bytes

Every value stands behind the two bytes 82 01. From all of those at once the ends of the values, and with
them the beginnings of the items, are computed, and the lengths written in the items must then agree: the
chain of items is proved without walking it. A record that does not agree is parsed field by field.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from stethoscope.logs._reading.digits import decimals
from stethoscope.logs._reading.numbers import number
from stethoscope.logs._reading.points import MAX_SERIES
from stethoscope.logs._tables.json_values import numbers_of
from stethoscope.logs._tables.table import Table
from stethoscope.logs._wandb import wire

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]

MOST_NAMES_MET = 4 * MAX_SERIES  # spellings of names kept to know them again; their numbers fit 16 bits
LONGEST_NAME = 512  # bytes; longer keys are data
_PADDING = bytes(LONGEST_NAME + 64)  # lying lengths point at most so far behind the end
_ITEM, _STEP, _VALUE_JSON = 0x0A, 0x12, b"\x82\x01"
# Odd 64-bit numbers without a pattern; a name is known again by the sum of its words, each times its own.
_MULTIPLIERS: Words = np.random.default_rng(20_260).integers(
    1 << 62, 1 << 63, LONGEST_NAME // 8 + 2, dtype=np.uint64
) | np.uint64(1)


@dataclass(slots=True)
class History:
    """The rows of a run by name. `passed_over` are the names whose values are no numbers."""

    rows: int = 0
    places: dict[str, list[Integers]] = field(default_factory=dict)
    values: dict[str, list[Floats]] = field(default_factory=dict)
    passed_over: dict[str, int] = field(default_factory=dict)
    damaged: int = 0
    refused: bool = False
    _names: list[str | None] = field(default_factory=list)
    _known: Words = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    _ids: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def add(self, records: list[bytes]) -> None:
        """Append history records, one row each."""
        if not records:
            return
        first = self.rows
        self.rows += len(records)
        odd = self._add_chained(records, first) if len(records) > 1 else range(len(records))
        for at in odd:
            self._add_one(records[at], first + at)

    def table(self, names: Mapping[str, str]) -> Table:
        """The rows as a table, columns renamed by `names`."""
        table = Table(self.rows, refused=self.refused)
        for name in self.names():
            for places, values in zip(self.places[name], self.values[name], strict=True):
                table.add_block(names.get(name, name), places, values)
        return table

    def names(self) -> list[str]:
        """The names of all columns, parts of media objects left out."""
        objects = self._objects()
        return [name for name in self.places if not _within(name, objects)]

    def media(self) -> list[str]:
        """The names under which something other than numbers was logged."""
        objects = self._objects()
        others = [name for name in self.passed_over if not _within(name, objects)]
        return sorted({*objects, *(name for name in others if not name.startswith("_"))})

    def _objects(self) -> set[str]:
        """The names of images, tables and the like, which are logged as objects that say their type."""
        return {name.removesuffix("/_type") for name in self.passed_over if name.endswith("/_type")}

    # --- many records at once ---------------------------------------------------------------------------

    def _add_chained(self, records: list[bytes], first: int) -> Iterable[int]:
        """Add the records whose items are proved to be a chain; gives the numbers of the others."""
        raw = b"".join((*records, _PADDING))
        buffer = np.frombuffer(raw, dtype=np.uint8)
        ends = np.cumsum(np.fromiter(map(len, records), dtype=np.int64, count=len(records)))
        starts = np.concatenate(([0], ends[:-1]))
        # Behind the two bytes of the field's number: a value cannot begin in the padding.
        marks = np.flatnonzero((buffer[:-1] == _VALUE_JSON[0]) & (buffer[1:] == _VALUE_JSON[1]))
        if not len(marks):
            return range(len(records))
        lengths, widths = _lengths(buffer, marks + 2)
        value_starts = marks + 2 + widths
        value_ends = np.minimum(value_starts + lengths, len(raw) - len(_PADDING) + 1)
        firsts = np.searchsorted(marks, starts)
        counts = np.diff(np.append(firsts, len(marks)))
        items = np.empty_like(marks)
        items[1:] = value_ends[:-1]
        held = counts > 0
        items[firsts[held]] = starts[held]
        item_lengths, item_widths = _lengths(buffer, items + 1)
        names = items + 1 + item_widths
        fits = (buffer[items] == _ITEM) & (names + item_lengths == value_ends) & (names < marks)
        fits &= (marks - names <= LONGEST_NAME) & (lengths >= 0) & (item_lengths >= 0)
        rows = np.repeat(np.arange(len(records)), counts)
        good = held.copy()
        good[rows[~fits]] = False
        lasts = value_ends[np.maximum(firsts + counts - 1, 0)]
        good &= _is_step(buffer, lasts, ends)
        chosen = np.flatnonzero(good[rows])
        ids = self._identified(buffer, raw, names[chosen], marks[chosen])
        counted = np.zeros(len(records), dtype=bool)
        counted[rows[chosen[ids == self._id_of("_step")]]] = True
        good &= counted  # else the step stands beside the items
        good[rows[chosen[ids < 0]]] = False
        keep = good[rows[chosen]]
        chosen, ids = chosen[keep], ids[keep]
        self._add_values(raw, ids, rows[chosen] + first, value_starts[chosen], value_ends[chosen])
        return [int(at) for at in np.flatnonzero(~good)]

    def _identified(
        self, buffer: npt.NDArray[np.uint8], raw: bytes, starts: Integers, ends: Integers
    ) -> Integers:
        """The number of the name that stands at each place; -1 where none does."""
        sums = _fingerprints(buffer, starts, ends - starts)
        met = self._met(sums)
        unmet = np.flatnonzero(met < 0)
        if len(unmet) and len(self._names) < MOST_NAMES_MET:
            fresh, where = np.unique(sums[unmet], return_index=True)
            fresh = fresh[: MOST_NAMES_MET - len(self._names)]
            examples = unmet[where[: len(fresh)]]
            for begin, end in zip(starts[examples].tolist(), ends[examples].tolist(), strict=True):
                self._names.append(_name_of(raw[begin:end]))
            numbers = np.arange(len(self._names) - len(fresh), len(self._names))
            known, order = np.concatenate((self._known, fresh)), np.concatenate((self._ids, numbers))
            by_sum = np.argsort(known)
            self._known, self._ids = known[by_sum], order[by_sum]
            met = self._met(sums)
        named = np.array([name is not None for name in self._names], dtype=bool)
        return np.where(named[met], met, -1) if len(named) and not named.all() else met

    def _id_of(self, name: str) -> int:
        return self._names.index(name) if name in self._names else -2

    def _met(self, sums: Words) -> Integers:
        """The number of the name with this fingerprint; -1 for one not met before."""
        if not len(self._known):
            return np.full(len(sums), -1, dtype=np.int64)
        at = np.minimum(np.searchsorted(self._known, sums), len(self._known) - 1)
        return np.where(self._known[at] == sums, self._ids[at], -1)

    def _add_values(
        self, raw: bytes, ids: Integers, rows: Integers, starts: Integers, ends: Integers
    ) -> None:
        """Put the values where their names say."""
        order = np.argsort(ids.astype(np.uint16), kind="stable")  # sixteen bits are sorted in linear time
        ids, rows, starts, ends = ids[order], rows[order], starts[order], ends[order]
        values, good = decimals(np.frombuffer(raw, dtype=np.uint8), starts, ends)
        bounds = np.flatnonzero(np.diff(ids, prepend=-1, append=-1)).tolist()
        for low, high in pairwise(bounds):
            name = self._names[ids[low]]
            assert name is not None
            part = slice(low, high)
            if good[part].all():
                self._append(name, rows[part], values[part])
                continue
            self._append(name, rows[part][good[part]], values[part][good[part]])
            for at in (low + np.flatnonzero(~good[part])).tolist():
                self._add_value(name, int(rows[at]), value_in(raw[starts[at] : ends[at]]))

    # --- one record -------------------------------------------------------------------------------------

    def _add_one(self, record: bytes, row: int) -> None:
        """Add a record by parsing its fields."""
        try:
            items = [value for key, value in wire.fields(record) if key == 1 and isinstance(value, bytes)]
            held = [(name, value) for item in items for name, value in _item(item)]
            if not any(name == "_step" for name, _ in held):
                held += [("_step", step) for step in _step_beside(record)]
        except wire.BadMessage:
            self.damaged += 1
            return
        for name, value in held:
            self._add_value(name, row, value)

    def _add_value(self, name: str, row: int, value: object) -> None:
        if isinstance(value, Mapping) and "_type" in value:  # an image, a table, a histogram
            self._pass_over(name)
            return
        found = False
        for path, held in numbers_of({name: value}):
            self._append(path, np.array([row]), np.array([held]))
            found = True
        if not found:
            self._pass_over(name)

    def _pass_over(self, name: str) -> None:
        if name in self.passed_over or len(self.passed_over) < MAX_SERIES:
            self.passed_over[name] = self.passed_over.get(name, 0) + 1

    def _append(self, name: str, rows: Integers, values: Floats) -> None:
        if not len(rows):
            return
        places = self.places.get(name)
        if places is None:
            if len(self.places) >= MAX_SERIES:
                self.refused = True
                return
            places = self.places[name] = []
            self.values[name] = []
        places.append(rows)
        self.values[name].append(values)


def _within(name: str, objects: set[str]) -> bool:
    """Whether a name is that of a part of one of these objects."""
    return bool(objects) and any(name[:at] in objects for at, held in enumerate(name) if held == "/")


def _lengths(buffer: npt.NDArray[np.uint8], at: Integers) -> tuple[Integers, Integers]:
    """The varints of one or two bytes at these places, and how many bytes each has; -1 for longer ones."""
    lengths = buffer[at].astype(np.int64)
    widths = np.ones(len(at), dtype=np.int64)
    longer = np.flatnonzero(lengths >= 0x80)
    if len(longer):
        seconds = buffer[at[longer] + 1].astype(np.int64)
        lengths[longer] = np.where(seconds < 0x80, (lengths[longer] & 0x7F) | seconds << 7, -1)
        widths[longer] = 2
    return lengths, widths


def _is_step(buffer: npt.NDArray[np.uint8], at: Integers, ends: Integers) -> npt.NDArray[np.bool_]:
    """Whether a record ends here, or with nothing but its own count of steps."""
    nothing = at == ends
    step = (at + 2 <= ends) & (buffer[at] == _STEP) & (at + 2 + buffer[at + 1].astype(np.int64) == ends)
    return np.asarray(nothing | step)


def _fingerprints(buffer: npt.NDArray[np.uint8], starts: Integers, lengths: Integers) -> Words:
    """One number for each string; equal for equal strings, and as good as never for others."""
    words = np.ndarray((len(buffer) - 7,), dtype="<u8", buffer=buffer, strides=(1,))
    sums: Words = lengths.astype(np.uint64) * _MULTIPLIERS[-1]
    for at in range(int(lengths.max(initial=0) + 7) // 8):
        left = lengths - 8 * at
        here = np.flatnonzero(left > 0)
        held = words[starts[here] + 8 * at]
        unused = (8 * np.maximum(8 - left[here], 0)).astype(np.uint64)
        sums[here] += ((held << unused) >> unused) * _MULTIPLIERS[at]
    return sums


def _name_of(keys: bytes) -> str | None:
    """The name in the bytes before a value: a string, or the parts of a path; None where it is no name."""
    try:
        return _joined(wire.fields(keys))
    except wire.BadMessage:
        return None


def _joined(keys: Iterable[wire.Field]) -> str | None:
    parts = []
    for key, value in keys:
        if key not in (1, 2) or not isinstance(value, bytes):
            return None
        parts.append(wire.text(value))
    return "/".join(parts) or None


def _item(item: bytes) -> Iterator[tuple[str, object]]:
    """The name and value of one item; a value may be JSON text or a field of its own type."""
    held = list(wire.fields(item))
    name = _joined((key, value) for key, value in held if key in (1, 2))
    values = [value_of(key, value) for key, value in held if key not in (1, 2)]
    if name is not None and len(name) <= LONGEST_NAME and values:
        yield name, values[-1]


def value_of(key: int, value: int | bytes) -> object:
    """A field of an item as a value; None for what is no value."""
    if isinstance(value, bytes):
        return value_in(value) if key in (8, 16) else number(wire.text(value)) if key == 7 else None
    if key == 4:
        return bool(value)
    if key == 5:
        return wire.zigzag(value)
    return wire.double(value) if key == 6 else None


def _step_beside(record: bytes) -> list[int]:
    """The step that a history record carries beside its items, if it does."""
    beside = [value for key, value in wire.fields(record) if key == 2 and isinstance(value, bytes)]
    told = [number for key, number in wire.fields(beside[-1]) if key == 1] if beside else []
    return [wire.signed(number) for number in told if isinstance(number, int)] or [0] * len(beside[:1])


def value_in(text: bytes) -> object:
    """The value of a JSON text; None where it holds none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
