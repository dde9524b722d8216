"""TensorBoard event files: events.out.tfevents.1689000000.host.1234.0

    length, CRC | wall_time: 1689000000.2  file_version: "brain.Event:2" | CRC
    length, CRC | wall_time: 1689000003.5  step: 10  summary: [tag: "train/loss"  simple_value: 2.31] | CRC
    length, CRC | wall_time: 1689000003.6  step: 10  summary: [tag: "epoch_loss"  tensor: float {2.31}] | CRC

The frames are found and the scalars decoded in bulk (`_tensorboard`). Every CRC is checked: a damaged record
is passed over and counted, and the records behind it are found again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from stethoscope.errors import UnreadableFile
from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.points import MAX_SERIES
from stethoscope.logs._tensorboard.columns import Decoded, Decoder
from stethoscope.logs._tensorboard.layouts import NotAnEventError, Text, layout_of
from stethoscope.logs._tensorboard.series import series_of
from stethoscope.logs._tensorboard.texts import documents_in
from stethoscope.logs._tensorboard.tfrecord import HEADER, Frames, frames, header_at, next_header
from stethoscope.run import Log
from stethoscope.run.series import Steps, Values

FORMAT = "TensorBoard event file"

LONGEST_TEXT = 1 << 20  # bytes of a text that may be settings
MOST_TEXTS = 1_000
NAMED_PLACES = 3  # damaged places that are told one by one


def recognise(head: Head) -> float:
    """A record with the right CRC that is an event; behind damage only where the name says so, too."""
    named = "tfevents" in head.name
    at: int | None = 0 if header_at(head.start, 0) is not None else None
    if at is None and named:
        at = next_header(head.start, 0)
    if at is None:
        return 0.0
    end = at + HEADER + (header_at(head.start, at) or 0)
    if end > len(head.start):
        return 0.8 if named else 0.0
    try:
        layout = layout_of(head.start[at + HEADER : end])
    except NotAnEventError:
        return 0.6 if named else 0.0
    if layout.version:
        return 0.99
    return 0.9 if layout.wall is not None else 0.6 if named else 0.0


def begin(head: Head) -> Reading:
    """Read the file's records as its bytes come."""
    return Reading(head)


@dataclass(slots=True)
class _Stretch:
    """Bytes that belong to no record."""

    first: int
    size: int
    zeros: bool


@dataclass(slots=True)
class Reading:
    """An event file being read."""

    head: Head
    decoder: Decoder = field(default_factory=Decoder)
    offset: int = 0
    lost: bool = False
    cut: int = 0
    pending: list[Decoded] = field(default_factory=list)  # not yet sorted by tag
    points: list[tuple[Steps, Values]] = field(default_factory=list)  # by the tag's number
    others: Counter[str] = field(default_factory=Counter)
    texts: dict[tuple[str, str], Text] = field(default_factory=dict)
    texts_dropped: int = 0
    damaged: int = 0
    damaged_at: list[int] = field(default_factory=list)
    stretches: list[_Stretch] = field(default_factory=list)
    more_stretches: int = 0  # between the first ones and the last
    more_bytes: int = 0

    def take(self, data: bytes, last: bool) -> int:
        """Read the whole records among these bytes."""
        found = frames(data, last, self.lost)
        decoded = self.decoder.decode(data, found)
        self._note_damage(data, found, decoded)
        for text in decoded.texts:
            self._keep(text)
        self.others.update(decoded.others)
        self.pending.append(decoded)
        self.offset, self.lost, self.cut = self.offset + found.done, found.lost, found.cut if last else 0
        return found.done

    def log(self) -> Log:
        """What was read so far."""
        self._sort()
        tags = [tag.decode("utf-8", "backslashreplace") for tag in self.decoder.tags.numbers]
        series = series_of(dict(zip(tags, self.points, strict=True)), self.head)
        documents, other_texts = documents_in(self.texts.values(), self.head.file)
        notes = self._notes(self.texts_dropped + other_texts)
        if not series and not documents:
            raise UnreadableFile("; ".join([f"{self.head.file}: a {FORMAT} without a scalar", *notes]))
        started, last_written = self.decoder.clock.span() or (None, self.head.changed)
        return Log(
            self.head.file,
            FORMAT,
            series,
            documents=documents,
            started=started,
            last_written=last_written,
            notes=tuple(notes),
        )

    def _keep(self, text: Text) -> None:
        """Keep a text that may hold settings: the last one under each tag."""
        key = text.plugin, text.tag
        self.texts_dropped += key in self.texts
        if len(text.content) <= LONGEST_TEXT and (key in self.texts or len(self.texts) < MOST_TEXTS):
            self.texts[key] = text
        else:
            self.texts_dropped += 1

    def _sort(self) -> None:
        """Sort the points that came since by tag."""
        if not self.pending:
            return
        tags = np.concatenate([some.tags for some in self.pending]).astype(np.uint16)
        order = np.argsort(tags, kind="stable")
        steps = np.concatenate([some.steps for some in self.pending])[order]
        values = np.concatenate([some.values for some in self.pending])[order]
        self.pending = []
        ends = np.cumsum(np.bincount(tags, minlength=len(self.decoder.tags.numbers))).tolist()
        for tag, (first, end) in enumerate(zip([0, *ends], ends, strict=False)):
            fresh = steps[first:end], values[first:end]
            if tag == len(self.points):
                self.points.append(fresh)
            elif end > first:
                before = self.points[tag]
                self.points[tag] = (
                    np.concatenate([before[0], fresh[0]]),
                    np.concatenate([before[1], fresh[1]]),
                )

    def _note_damage(self, data: bytes, found: Frames, decoded: Decoded) -> None:
        self.damaged += len(decoded.damaged)
        room = NAMED_PLACES - len(self.damaged_at)
        places = found.starts[decoded.damaged[:room]] - HEADER + self.offset
        self.damaged_at.extend(places.tolist())
        for first, size in found.passed_over:
            zeros = data.count(0, first, first + size) == size
            at = first + self.offset
            before = self.stretches[-1] if self.stretches else None
            if before and before.first + before.size == at:
                before.size, before.zeros = before.size + size, before.zeros and zeros
            else:
                self.stretches.append(_Stretch(at, size, zeros))
            if len(self.stretches) > NAMED_PLACES + 1:  # the last may grow on, and be a tail of zeros
                self.more_stretches += 1
                self.more_bytes += self.stretches.pop(NAMED_PLACES).size

    def _notes(self, texts: int) -> list[str]:
        """What was passed over, and why."""
        notes = []
        if self.damaged:
            places = _listed(self.damaged_at, self.damaged)
            notes.append(f"{_counted(self.damaged, 'damaged record')} skipped, at byte {places}")
        torn = list(self.stretches)
        if torn and torn[-1].zeros and torn[-1].first + torn[-1].size == self.offset + self.cut:
            notes.append(f"the last {torn.pop().size:,} bytes are zeros: the file was not written to its end")
        if torn:
            total = sum(stretch.size for stretch in torn) + self.more_bytes
            count = len(torn) + self.more_stretches
            places = _listed([stretch.first for stretch in torn[:NAMED_PLACES]], count)
            notes.append(f"{total:,} bytes that are no whole record skipped, at byte {places}")
        if self.cut:
            notes.append(f"the last record is cut short ({self.cut:,} bytes)")
        others = self.others + Counter(text=texts)
        if others:
            kinds = sorted(others.items(), key=lambda kind: (-kind[1], kind[0]))
            notes.append("not scalars, skipped: " + ", ".join(_counted(n, kind) for kind, n in kinds))
        if self.decoder.tags.refused:
            more = self.decoder.tags.refused
            notes.append(f"more than {MAX_SERIES} names; {_counted(more, 'value')} of the rest passed over")
        return notes


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 or noun.endswith(("s", "data")) else f"{number:,} {noun}s"


def _listed(places: list[int], count: int) -> str:
    shown = ", ".join(f"{place:,}" for place in places)
    return shown if count <= len(places) else f"{shown} and further on"
