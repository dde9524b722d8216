"""A run that grows is read as `read` would, whatever happens to its files."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from stethoscope.errors import NothingToRead
from stethoscope.read import read
from stethoscope.run import Run
from stethoscope.watching.followed_run import FollowedRun, Unwatchable
from tests.logs.reading import RECORDED
from tests.watching.runs import HEADER, append, begun, rows


def settled(path: Path) -> FollowedRun:
    """A run that was read, and its followers, too."""
    followed = FollowedRun(str(path))
    assert followed.poll() is not None
    assert followed.poll() is None
    return followed


def assert_same(one: Run | None, other: Run) -> None:
    assert one is not None
    assert [log.file for log in one.logs] == [log.file for log in other.logs]
    assert one.series.keys() == other.series.keys()
    for name, series in other.series.items():
        np.testing.assert_array_equal(one.series[name].steps, series.steps)
        np.testing.assert_array_equal(one.series[name].values, series.values)
    assert one.segments == other.segments


def test_only_what_was_added_makes_a_difference(tmp_path: Path) -> None:
    log = begun(tmp_path / "run")
    followed = settled(log.parent)
    assert followed.poll() is None
    append(log, rows(40, 50))
    assert_same(followed.poll(), read(log.parent))
    assert followed.poll() is None


def test_a_log_can_be_followed_by_its_own_name(tmp_path: Path) -> None:
    log = begun(tmp_path / "run")
    followed = settled(log)
    append(log, rows(40, 50))
    assert_same(followed.poll(), read(log))


def test_a_run_that_is_not_there_yet_is_found_when_it_is(tmp_path: Path) -> None:
    followed = FollowedRun(str(tmp_path / "run"))
    with pytest.raises(NothingToRead, match="no such file"):
        followed.poll()
    (tmp_path / "run").mkdir()
    with pytest.raises(NothingToRead, match="no log, settings or code"):
        followed.poll()
    begun(tmp_path / "run")
    assert followed.poll() is not None


def test_settings_may_be_there_before_the_log(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("lr: 0.1\nmax_steps: 100\n")
    followed = FollowedRun(str(tmp_path))
    first = followed.poll()
    assert first is not None
    assert first.logs == ()
    assert followed.poll() is None
    begun(tmp_path)
    assert_same(followed.poll(), read(tmp_path))


def test_settings_that_are_edited_are_read_again(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("lr: 0.1\nmax_steps: 100\n")
    begun(tmp_path)
    followed = settled(tmp_path)
    config.write_text("lr: 0.25\nmax_steps: 100\n")
    run = followed.poll()
    assert run is not None
    assert run.recipe is not None
    assert [setting.value for setting in run.recipe.named("lr")] == [0.25]


def test_a_second_log_joins_the_first(tmp_path: Path) -> None:
    begun(tmp_path)
    followed = settled(tmp_path)
    (tmp_path / "val.csv").write_text("step,loss\n" + "".join(f"{step},0.5\n" for step in range(0, 40, 5)))
    assert_same(followed.poll(), read(tmp_path))


def test_a_log_that_is_cut_and_begins_again_is_read_from_its_beginning(tmp_path: Path) -> None:
    log = begun(tmp_path)
    followed = settled(tmp_path)
    os.truncate(log, 0)
    run = followed.poll()
    assert run is None or run.steps == (0, 39)
    append(log, HEADER + rows(0, 12))
    assert_same(followed.poll(), read(tmp_path))


def test_a_log_that_is_replaced_is_read_from_its_beginning(tmp_path: Path) -> None:
    log = begun(tmp_path)
    followed = settled(tmp_path)
    other = tmp_path / "other.tmp"
    other.write_text(HEADER + rows(0, 20))
    other.replace(log)
    assert_same(followed.poll(), read(tmp_path))


def test_logs_that_are_gone_are_said_and_found_again(tmp_path: Path) -> None:
    log = begun(tmp_path)
    (tmp_path / "config.yaml").write_text("lr: 0.1\n")
    followed = settled(tmp_path)
    log.rename(tmp_path.parent / "elsewhere.csv")
    with pytest.raises(NothingToRead, match="holds no log any more"):
        followed.poll()
    begun(tmp_path, 60)
    run = followed.poll()
    assert run is not None
    assert run.steps == (0, 59)


def test_what_is_no_log_does_no_harm(tmp_path: Path) -> None:
    log = begun(tmp_path)
    (tmp_path / "noise.bin").write_bytes(bytes(range(256)) * 400)
    (tmp_path / "model.safetensors").write_bytes(b"\0" * 100)
    (tmp_path / "empty.log").write_bytes(b"")
    locked = tmp_path / "locked.log"
    locked.write_text("step 1 loss 2\n")
    locked.chmod(0)
    (tmp_path / "link.log").symlink_to(tmp_path / "nowhere")
    followed = settled(tmp_path)
    (tmp_path / "noise.bin").write_bytes(bytes(range(256)) * 500)
    append(log, rows(40, 50))
    run = followed.poll()
    assert run is not None
    assert run.steps == (0, 49)


def test_a_flight_record_is_followed(tmp_path: Path) -> None:
    source = RECORDED / "flight_record"
    (record,) = source.glob("*.frec")
    data = record.read_bytes()
    copy = tmp_path / record.name
    copy.write_bytes(data[: len(data) // 2])
    followed = settled(tmp_path)
    copy.write_bytes(data)
    for events in source.glob("*.jsonl"):
        shutil.copy(events, tmp_path)
    assert_same(followed.poll(), read(tmp_path))


def test_a_last_word_between_the_first_look_and_the_second_is_not_lost(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("".join(f"step {step} | loss {2 / (step + 1):.4f}\n" for step in range(40)))
    followed = FollowedRun(str(tmp_path))
    followed.poll()
    append(log, "Traceback (most recent call last):\ntorch.OutOfMemoryError: CUDA out of memory.\n")
    run = followed.poll()
    assert run is not None
    assert [event.message for event in run.events] == ["torch.OutOfMemoryError: CUDA out of memory."]


def test_growth_is_seen_without_reading(tmp_path: Path) -> None:
    log = begun(tmp_path)
    followed = settled(tmp_path)
    assert not followed.has_grown()
    append(log, rows(40, 41))
    assert followed.has_grown()
    assert not followed.has_grown()


def test_what_never_grows_under_a_name_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in ("-", str(tmp_path / "pipe"), os.devnull):
        with pytest.raises(Unwatchable, match="tee"):
            FollowedRun(path).poll()
