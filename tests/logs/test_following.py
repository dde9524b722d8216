"""A log that grows is read on from where its reader stopped, whatever happens to the file."""

from __future__ import annotations

import gzip
import os
import random
from pathlib import Path

import numpy as np
import pytest

from stethoscope.errors import UnreadableFile
from stethoscope.logs import formats, read_log
from stethoscope.logs._text.reading import TextReading
from stethoscope.logs.following import FolderFollower, Follower
from stethoscope.run import Log
from tests.fixtures.logs.make import HERE

FIXTURES = sorted(
    path
    for path in HERE.rglob("*")
    if path.is_file() and path.suffix not in {".py", ".md"} and path.stat().st_size < 200_000
)


def points(log: Log) -> dict[str, list[tuple[int, float]]]:
    return {series.name: list(series) for series in log.series}


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as stream:
        stream.write(data)


def assert_same_series(one: Log, other: Log) -> None:
    by_name = {series.name: series for series in other.series}
    assert sorted(series.name for series in one.series) == sorted(by_name)
    for mine in one.series:
        theirs = by_name[mine.name]
        np.testing.assert_array_equal(mine.steps, theirs.steps, err_msg=mine.name)
        np.testing.assert_array_equal(mine.values, theirs.values, err_msg=mine.name)


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda path: str(path.relative_to(HERE)))
def test_a_growing_log_ends_up_as_if_read_at_once(fixture: Path, tmp_path: Path) -> None:
    data = fixture.read_bytes()
    try:
        read_log(fixture)
    except UnreadableFile:
        pytest.skip("no log by itself")
    home = tmp_path / fixture.parent.name
    home.mkdir()
    path, chance, at, last = home / fixture.name, random.Random(0), 0, None
    follower = Follower(path, "x")
    while at < len(data):
        size = chance.randint(1, max(2, len(data) // 7))
        append(path, data[at : at + size])
        at += size
        last = follower.poll() or last
    if not data.endswith(b"\n") and b"\0" not in data:
        append(path, b"\n")
        last = follower.poll() or last
    whole = read_log(path, "x")
    assert last is not None
    assert last.format == whole.format
    assert_same_series(last, whole)


def test_only_what_was_added_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "train.log"
    append(path, b"".join(b"iter %d: loss 2.5, time 3ms\n" % step for step in range(5000)))
    follower = Follower(path)
    log = follower.poll()
    assert log is not None
    assert len(log.series[0]) == 5000
    handed: list[int] = []
    take = TextReading.take

    def counted(self: TextReading, data: bytes, last: bool) -> int:
        handed.append(len(data))
        return take(self, data, last)

    monkeypatch.setattr(TextReading, "take", counted)
    append(path, b"iter 5000: loss 2.25, time 3ms\n")
    log = follower.poll()
    assert log is not None
    assert list(log.series[0])[-1] == (5000, 2.25)
    assert sum(handed) < 200
    assert follower.poll() is None


def test_half_a_line_waits_for_its_end(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    append(path, b"iter 1: loss 2.5, time 3ms\niter 2: loss 2.3, time 3ms\niter 3: loss 1.")
    follower = Follower(path)
    log = follower.poll()
    assert log is not None
    assert points(log)["loss"] == [(1, 2.5), (2, 2.3)]
    append(path, b"75, time 3ms\n")
    log = follower.poll()
    assert log is not None
    assert points(log)["loss"][-1] == (3, 1.75)


def test_a_file_that_was_replaced_cut_or_overwritten_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "train.csv"
    path.write_text("step,loss\n0,5\n1,4\n2,3\n")
    follower = Follower(path)
    assert follower.poll() is not None
    other = tmp_path / "other"
    other.write_text("step,loss\n0,9\n1,8\n2,7\n3,6\n")
    os.replace(other, path)
    log = follower.poll()
    assert log is not None
    assert points(log)["loss"] == [(0, 9), (1, 8), (2, 7), (3, 6)]
    path.write_text("step,loss\n0,1\n1,2\n")
    log = follower.poll()
    assert log is not None
    assert points(log)["loss"] == [(0, 1), (1, 2)]
    with path.open("r+") as stream:  # in place, and longer than before
        stream.write("step,loss\n0,3\n1,4\n2,5\n3,6\n")
    log = follower.poll()
    assert log is not None
    assert points(log)["loss"] == [(0, 3), (1, 4), (2, 5), (3, 6)]


def test_a_rotated_log_is_followed_under_its_new_name(tmp_path: Path) -> None:
    append(tmp_path / "train.log", b"iter 1: loss 2.5, time 3ms\niter 2: loss 2.3, time 3ms\n")
    follower = FolderFollower(tmp_path, "run")
    assert follower.poll() is not None
    os.rename(tmp_path / "train.log", tmp_path / "train.log.1")
    append(tmp_path / "train.log.1", b"iter 3: loss 2.1, time 3ms\n")
    append(tmp_path / "train.log", b"iter 4: loss 2.0, time 3ms\niter 5: loss 1.9, time 3ms\n")
    logs = follower.poll()
    assert logs is not None
    assert sorted(point for log in logs for point in points(log)["loss"]) == [
        (1, 2.5),
        (2, 2.3),
        (3, 2.1),
        (4, 2.0),
        (5, 1.9),
    ]
    assert follower.poll() is None


def test_a_file_that_is_no_log_yet_becomes_one(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("loading data\n")
    follower = Follower(path)
    assert follower.poll() is None
    append(path, b"iter 1: loss 2.5, time 3ms\niter 2: loss 2.3, time 3ms\n")
    assert follower.poll() is not None


def test_a_file_that_vanished_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    follower = Follower(path)
    assert follower.poll() is None
    path.write_text("iter 1: loss 2.5, time 3ms\niter 2: loss 2.3, time 3ms\n")
    assert follower.poll() is not None
    path.unlink()
    assert follower.poll() is None


def test_a_compressed_log_is_read_whole_when_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv.gz"
    path.write_bytes(gzip.compress(b"step,loss\n0,5\n1,4\n"))
    follower = Follower(path)
    assert follower.poll() is not None
    path.write_bytes(gzip.compress(b"step,loss\n0,5\n1,4\n2,3\n"))
    log = follower.poll()
    assert log is not None
    assert len(log.series[0]) == 3


def test_formats_that_are_appended_to_can_be_followed() -> None:
    streaming = {module.FORMAT for module in formats() if hasattr(module, "begin")}
    assert {
        "BasicSR text log",
        "nanoGPT log",
        "CSV table",
        "JSON lines",
        "TensorBoard event file",
    } <= streaming
