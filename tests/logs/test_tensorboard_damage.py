"""Whatever happened to a TensorBoard file, what is whole in it is read, and what is not is told."""

from __future__ import annotations

import re
import struct
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stethoscope.errors import UnreadableFile
from stethoscope.logs import head_of, read_log, tensorboard
from stethoscope.logs._reading.stream import read_with
from stethoscope.logs._tensorboard.layouts import NotAnEventError, layout_of
from stethoscope.run import Log
from tests.logs.tensorboard_files import (
    NAME,
    RECORDED,
    VERSION,
    crc_of,
    event,
    framed,
    held,
    run_of,
    simple,
    slow_read,
    total,
)

RECORDS = run_of(8, 120)
WHOLE = b"".join(RECORDS)
POINTS = total(slow_read(WHOLE))
FILES = sorted(RECORDED.rglob("*tfevents*"))
# What may be lost at each wound: the records it touches and, where a length is hit, the one before.
LOST_BY_A_FLIP = 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damaged")


def read_bytes(folder: Path, data: bytes) -> Log:
    path = folder / NAME
    path.write_bytes(data)
    return read_log(path, NAME)


def points_of(log: Log) -> Counter[tuple[str, int, float]]:
    return Counter((s.logged_as, step, value) for s in log.series for step, value in s)


TRUE_POINTS = Counter(
    (tag, step, value) for tag, points in slow_read(WHOLE).items() for step, value in points
)


def only_true(log: Log) -> bool:
    return not points_of(log) - TRUE_POINTS


# --- cuts, holes and flips --------------------------------------------------------------------------


@settings(max_examples=60)
@given(cut=st.integers(200, len(WHOLE) - 1))
def test_a_file_cut_anywhere_gives_its_whole_records(folder: Path, cut: int) -> None:
    log = read_bytes(folder, WHOLE[:cut])
    ends = np.cumsum([len(record) for record in RECORDS])
    whole = int((ends <= cut).sum())
    assert log.points == whole - 1
    assert only_true(log)
    left = cut - int(ends[whole - 1])
    assert log.notes == ((f"the last record is cut short ({left} bytes)",) if left else ())


@settings(max_examples=60)
@given(at=st.integers(300, len(WHOLE) - 400), size=st.integers(1, 5000))
@example(at=20_000, size=5_000)
def test_a_hole_of_zeros_costs_what_it_covers(folder: Path, at: int, size: int) -> None:
    size = min(size, len(WHOLE) - at - 200)
    log = read_bytes(folder, WHOLE[:at] + bytes(size) + WHOLE[at + size :])
    ends = np.cumsum([len(record) for record in RECORDS])
    touched = int(((ends > at) & (ends - [len(r) for r in RECORDS] < at + size)).sum())
    assert POINTS - touched - 1 <= log.points <= POINTS
    assert only_true(log)
    assert log.notes or log.points == POINTS


@settings(max_examples=60)
@given(at=st.integers(300, len(WHOLE) - 3000), size=st.integers(1, 2000))
def test_missing_bytes_cost_the_records_they_touch(folder: Path, at: int, size: int) -> None:
    log = read_bytes(folder, WHOLE[:at] + WHOLE[at + size :])
    ends = np.cumsum([len(record) for record in RECORDS])
    touched = int(((ends > at) & (ends - [len(r) for r in RECORDS] < at + size)).sum())
    assert log.points >= POINTS - touched - 1
    assert only_true(log)


@settings(max_examples=60)
@given(
    flips=st.lists(st.tuples(st.integers(200, len(WHOLE) - 1), st.integers(0, 7)), min_size=1, max_size=50)
)
def test_flipped_bits_cost_the_records_they_touch(folder: Path, flips: list[tuple[int, int]]) -> None:
    data = bytearray(WHOLE)
    for at, bit in flips:
        data[at] ^= 1 << bit
    log = read_bytes(folder, bytes(data))
    assert log.points >= POINTS - LOST_BY_A_FLIP * len(flips)
    assert only_true(log)
    assert log.notes or bytes(data) == WHOLE


def test_damage_is_told_with_its_place(folder: Path) -> None:
    data = bytearray(WHOLE)
    starts = np.cumsum([0, *(len(record) for record in RECORDS)])
    for record in (5, 50, 51, 400):
        data[starts[record] + 20] ^= 0x10  # within the wall time
    log = read_bytes(folder, bytes(data))
    places = f"{starts[5]:,}, {starts[50]:,}, {starts[51]:,}"
    assert log.notes == (f"4 damaged records skipped, at byte {places} and further on",)
    assert log.points == POINTS - 4


def test_a_broken_length_is_told_with_its_place(folder: Path) -> None:
    data = bytearray(WHOLE)
    at = sum(len(record) for record in RECORDS[:7])
    data[at] ^= 1
    log = read_bytes(folder, bytes(data))
    assert log.notes == (f"{len(RECORDS[7])} bytes that are no whole record skipped, at byte {at:,}",)
    assert log.points == POINTS - 1


def test_a_tail_of_zeros_is_told(folder: Path) -> None:
    log = read_bytes(folder, WHOLE + bytes(9_000_000))
    assert log.points == POINTS
    assert log.notes == ("the last 9,000,000 bytes are zeros: the file was not written to its end",)


def test_a_file_whose_beginning_is_lost_is_known_by_its_name(folder: Path) -> None:
    log = read_bytes(folder, bytes(100) + WHOLE[3_000:])
    assert log.points > 0.9 * POINTS
    assert only_true(log)


@pytest.mark.parametrize("length", [100_000, 10**7, 2**40, 2**64 - 1])
def test_a_length_that_lies_hides_no_records(folder: Path, length: int) -> None:
    header = struct.pack("<Q", length)
    lie = header + struct.pack("<I", crc_of(header))
    at = sum(len(record) for record in RECORDS[:100])
    for place in (at, len(WHOLE) - 500):
        log = read_bytes(folder, WHOLE[:place] + lie + WHOLE[place:])
        assert log.points >= POINTS - 1
        assert only_true(log)


def test_records_within_a_record_are_not_read(folder: Path) -> None:
    inner = event(999, simple("not/mine", 1.0))
    outer = framed(b"\x09" + bytes(8) + held(4, inner * 20))
    log = read_bytes(folder, WHOLE[: len(VERSION)] + outer + WHOLE[len(VERSION) :] + outer)
    assert log.points == POINTS
    assert only_true(log)


def test_long_records_among_short_ones(folder: Path) -> None:
    graph = framed(b"\x09" + bytes(8) + held(4, np.random.default_rng(0).bytes(300_000)))
    middle = framed(b"\x09" + bytes(8) + held(4, bytes(700)))
    log = read_bytes(folder, graph + WHOLE + middle * 30 + WHOLE + graph)
    assert log.points == 2 * POINTS
    assert log.notes == ("not scalars, skipped: 32 graphs",)


# --- whatever the bytes -----------------------------------------------------------------------------


def read_or_refused(folder: Path, data: bytes) -> Log | None:
    path = folder / NAME
    path.write_bytes(data)
    try:
        return read_with(tensorboard, head_of(path, NAME))
    except UnreadableFile:
        return None


@settings(max_examples=200)
@given(data=st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(folder: Path, data: bytes) -> None:
    read_or_refused(folder, data)


@settings(max_examples=200)
@given(bodies=st.lists(st.binary(max_size=120), max_size=30), copies=st.integers(1, 30))
def test_any_records_with_right_checksums_are_read_or_refused(
    folder: Path, bodies: list[bytes], copies: int
) -> None:
    read_or_refused(folder, b"".join(framed(body) for body in bodies for _ in range(copies)))


@settings(max_examples=200)
@given(
    name=st.sampled_from(range(len(FILES))),
    edits=st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=20)), max_size=6),
    copies=st.integers(1, 20),
)
def test_recorded_events_with_bytes_changed_and_checksums_mended(
    folder: Path, name: int, edits: list[tuple[float, bytes]], copies: int
) -> None:
    bodies = [record[12:-4] for record in _records(FILES[name].read_bytes())]
    for where, bytes_there in edits:
        at = int(where * (len(bodies) - 1))
        inner = int(where * 997) % (len(bodies[at]) + 1)
        bodies[at] = bodies[at][:inner] + bytes_there + bodies[at][inner + len(bytes_there) :]
    read_or_refused(folder, b"".join(framed(body) for body in bodies for _ in range(copies)))


@settings(max_examples=100)
@given(
    name=st.sampled_from(range(len(FILES))),
    cut=st.floats(0, 1),
    flips=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), max_size=20),
)
def test_recorded_files_cut_and_flipped(
    folder: Path, name: int, cut: float, flips: list[tuple[float, int]]
) -> None:
    data = bytearray(FILES[name].read_bytes())
    for where, byte in flips:
        data[int(where * (len(data) - 1))] = byte
    read_or_refused(folder, bytes(data[: int(cut * len(data))]))


@settings(max_examples=100)
@given(data=st.binary(max_size=60))
def test_any_message_is_an_event_or_none(data: bytes) -> None:
    try:
        layout = layout_of(data)
    except NotAnEventError:
        return
    assert len(layout.structure) == len(data)


# --- chunks -----------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(sizes=st.lists(st.integers(5, 9_000), min_size=1, max_size=10), damaged=st.booleans())
def test_chunks_of_any_size_give_what_the_whole_gives(folder: Path, sizes: list[int], damaged: bool) -> None:
    data = WHOLE[:20_000]
    if damaged:
        data = (
            data[:4_000] + bytes(3_000) + data[7_000:12_000] + data[12_050:16_000] + bytes(7) + data[16_000:]
        )
    expected = read_bytes(folder, data)
    reading = tensorboard.begin(head_of(folder / NAME, NAME))
    done = seen = turn = 0
    while seen < len(data):
        seen = min(len(data), seen + sizes[turn % len(sizes)])
        turn += 1
        done += reading.take(data[done:seen], seen == len(data))
    log = reading.log()
    assert {s.logged_as: list(s) for s in log.series} == {s.logged_as: list(s) for s in expected.series}
    assert (log.started, log.last_written) == (expected.started, expected.last_written)
    assert _numbers(log) == _numbers(expected)


def _numbers(log: Log) -> list[int]:
    """The bytes and records that the notes speak of."""
    return [int(word.replace(",", "")) for note in log.notes for word in re.findall(r"\d[\d,]*(?= )", note)]


def _records(data: bytes) -> list[bytes]:
    records, at = [], 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        records.append(data[at : at + 16 + length])
        at += 16 + length
    return records
