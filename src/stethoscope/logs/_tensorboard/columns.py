"""Decodes the scalars of very many events at once.

A run logs the same few tags over and over, so nearly all records of one length are the same but for the
time, the step, the value and the tag. One record is parsed (`layouts`); NumPy proves that the others
of its length have the same structure, and cuts the numbers out of all of them, column by column. The same
columns give the CRC of every record: that of the first, changed by the bytes in which the others differ.
Whatever fits no such template is parsed one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from stethoscope.logs._tables.table import EARLIEST_TIME
from stethoscope.logs._tensorboard.crc32c import crcs, unmasked
from stethoscope.logs._tensorboard.layouts import NotAnEventError, Text, layout_of
from stethoscope.logs._tensorboard.tags import Tags
from stethoscope.logs._tensorboard.templates import (
    Indices,
    Template,
    Words,
    columns_of,
    field_of,
    template_of,
    values_of,
)
from stethoscope.logs._tensorboard.tfrecord import Frames

FEW = 16  # records of one length for which parsing each is quicker than a template
LONGEST_TEMPLATE = 4096  # bytes of a record; longer ones hold many values or none
MOST_TEMPLATES = 512  # of one file, and
MOST_FAILURES = 4  # records of one length that give none, before the others are parsed one by one


@dataclass(frozen=True, slots=True)
class Decoded:
    """The scalars of a stretch of records in the order written, and what else was in it."""

    tags: npt.NDArray[np.int32]
    steps: Indices
    values: npt.NDArray[np.float64]
    damaged: Indices  # the records whose CRC is wrong, or that are no events
    others: Counter[str]
    texts: list[Text]


@dataclass(slots=True)
class Clock:
    """When the events were written. Some loggers write seconds since the start instead of Unix times."""

    first: float = np.inf
    last: float = -np.inf
    longest: float = -np.inf  # since the start

    def see(self, walls: npt.NDArray[np.float64]) -> None:
        """Note the times of some events."""
        told = walls[np.isfinite(walls)]
        times = told if len(told) and told.min() > EARLIEST_TIME else told[told > EARLIEST_TIME]
        since = told[told <= EARLIEST_TIME] if len(times) < len(told) else told[:0]
        self.first, self.last = times.min(initial=self.first), times.max(initial=self.last)
        self.longest = since.max(initial=self.longest)

    def span(self) -> tuple[float, float] | None:
        """The first and the last time, where any was told."""
        if self.first > self.last:
            return None
        return float(self.first), float(max(self.last, self.first + max(self.longest, 0.0)))


@dataclass(frozen=True, slots=True)
class _Piece:
    """Some of the scalars: the record each stands in, and which of the record's values it is."""

    records: Indices
    place: int | Indices
    tags: npt.NDArray[np.int32]
    steps: Indices
    values: npt.NDArray[np.float64]


@dataclass(slots=True)
class Decoder:
    """Decodes one file; keeps its tags and templates from one stretch of records to the next."""

    tags: Tags = field(default_factory=Tags)
    templates: dict[int, list[Template]] = field(default_factory=dict)
    made: int = 0  # templates so far
    clock: Clock = field(default_factory=Clock)

    def decode(self, data: bytes, found: Frames) -> Decoded:
        """The scalars of these records."""
        batch = _Batch(data, found, self.tags, self.clock)
        for length, records in _by_length(found.lengths):
            if length <= LONGEST_TEMPLATE and len(records) >= FEW:
                self._by_templates(batch, length, records)
            else:
                batch.left.append(records)
        batch.one_by_one()
        return batch.decoded()

    def _by_templates(self, batch: _Batch, length: int, records: Indices) -> None:
        """Decode what fits a template, known or made from one of the records, and leave the others."""
        known = self.templates.setdefault(length, [])
        columns = columns_of(batch.data, batch.starts[records], length)
        tried, failures = 0, 0
        while len(records):
            if tried == len(known):
                if len(records) < FEW or failures == MOST_FAILURES or self.made == MOST_TEMPLATES:
                    break
                template = template_of(batch.record(records[0]))
                if template is None:
                    batch.left.append(records[:1])
                    columns, records, failures = columns[:, 1:], records[1:], failures + 1
                    continue
                known.append(template)
                self.made += 1
            fits = known[tried].fits(columns)
            if fits.all():
                batch.by_template(known[tried], columns, records)
                return
            some, others = np.flatnonzero(fits), np.flatnonzero(~fits)
            batch.by_template(known[tried], columns.take(some, axis=1), records[some])
            columns, records, tried = columns.take(others, axis=1), records[others], tried + 1
        batch.left.append(records)


def _by_length(lengths: Indices) -> Iterator[tuple[int, Indices]]:
    """The records of each length, in the order written; all that are very long together."""
    short = np.minimum(lengths, 0xFFFF).astype(np.uint16)
    order = np.argsort(short, kind="stable")  # by radix, for numbers of 16 bits
    ends = np.flatnonzero(np.diff(short[order])) + 1
    for records in np.split(order, ends) if len(order) else ():
        yield int(short[records[0]]), records


@dataclass(slots=True)
class _Batch:
    """One stretch of records being decoded."""

    data: bytes
    found: Frames
    tags: Tags
    clock: Clock
    pieces: list[_Piece] = field(default_factory=list)
    left: list[Indices] = field(default_factory=list)  # records to be parsed one by one
    damaged: list[Indices] = field(default_factory=list)
    others: Counter[str] = field(default_factory=Counter)
    texts: list[Text] = field(default_factory=list)

    @property
    def starts(self) -> Indices:
        return self.found.starts

    def record(self, at: int) -> bytes:
        start = int(self.found.starts[at])
        return self.data[start : start + int(self.found.lengths[at])]

    def by_template(self, template: Template, columns: Words, records: Indices) -> None:
        """Decode records that fit a template."""
        if not len(records):
            return
        tags, known, good = template.check(columns, self.tags)
        if not good.all():
            self.damaged.append(records[known & ~good])
            self.left.append(records[~known])
            columns, records, tags = columns[:, good], records[good], tags[:, good]
        if not len(records):
            return
        if template.layout.wall is not None:
            self.clock.see(field_of(columns, template.length, template.layout.wall, 8).view(np.float64))
        steps = template.steps(columns)
        for place, scalar in enumerate(template.layout.scalars):
            values = values_of(columns, template.length, scalar.number)
            self.pieces.append(_Piece(records, place, tags[place], steps, values))

    def one_by_one(self) -> None:
        """Parse what fits no template."""
        if not self.left:
            return
        records = np.sort(np.concatenate(self.left))
        if not len(records):
            return
        starts, lengths = self.found.starts[records], self.found.lengths[records]
        stored = np.ndarray((len(self.data) - 3,), "<u4", self.data, 0, (1,))[starts + lengths]
        good = crcs(np.frombuffer(self.data, np.uint8), starts, lengths) == unmasked(stored)
        self.damaged.append(records[~good])
        rows: list[tuple[int, int, int, int, float]] = []
        walls = []
        for at in records[good].tolist():
            record = self.record(at)
            try:
                layout = layout_of(record)
            except NotAnEventError:
                self.damaged.append(np.array([at]))
                continue
            step, wall = layout.step_in(record), layout.wall_time(record)
            for place, scalar in enumerate(layout.scalars):
                tag = self.tags.number(record[scalar.tag])
                rows.append((at, place, tag, step, scalar.number.value(record)))
            self.others.update(layout.others)
            self.texts.extend(layout.texts)
            if wall is not None:
                walls.append(wall)
        self.clock.see(np.array(walls))
        self._add(rows)

    def _add(self, rows: list[tuple[int, int, int, int, float]]) -> None:
        if not rows:
            return
        records, places, tags, steps, values = zip(*rows, strict=True)
        self.pieces.append(
            _Piece(
                np.array(records, np.int64),
                np.array(places, np.int64),
                np.array(tags, np.int32),
                np.array(steps, np.int64),
                np.array(values, np.float64),
            )
        )

    def decoded(self) -> Decoded:
        """Everything, put back into the order written."""
        counts = np.zeros(len(self.starts), np.int64)
        for piece in self.pieces:
            counts[piece.records] = piece.place + 1  # of a record's values the last comes last
        firsts = np.cumsum(counts) - counts
        total = int(counts.sum())
        tags, steps, values = np.empty(total, np.int32), np.empty(total, np.int64), np.empty(total)
        for piece in self.pieces:
            at = firsts[piece.records] + piece.place
            tags[at], steps[at], values[at] = piece.tags, piece.steps, piece.values
        if (tags < 0).any():
            self.tags.refused += int((tags < 0).sum())
            tags, steps, values = tags[tags >= 0], steps[tags >= 0], values[tags >= 0]
        return Decoded(
            tags,
            steps,
            values,
            np.sort(np.concatenate([np.zeros(0, np.int64), *self.damaged])),
            self.others,
            self.texts,
        )
