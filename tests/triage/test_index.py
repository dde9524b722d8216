"""The index keeps what was found out, and never stands in the way."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest

from stethoscope.triage.cache_folder import cache_folder
from stethoscope.triage.index import FILE, Index
from stethoscope.triage.summary import Summary, SummaryCause, as_json, from_json

SICK = Summary(
    "runs/a",
    "a",
    "sick",
    (SummaryCause("loss-sign-inverted", "A sign", 0.97, "proved"),),
    ("LOS101",),
    0,
    99,
    1.5,
)


def test_a_summary_comes_back_as_it_was() -> None:
    assert from_json(as_json(SICK)) == SICK
    assert from_json("{}") is None
    assert from_json('{"path": 1') is None


def test_what_is_put_is_known_in_its_state_only(tmp_path: Path) -> None:
    with Index(tmp_path) as index:
        index.put([("/runs/a", "s1", SICK)])
    with Index(tmp_path) as index:
        assert index.get("/runs/a", "s1") == SICK
        assert index.get("/runs/a", "s2") is None
        assert index.get("/runs/b", "s1") is None


def test_what_changed_since_a_time_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Index(tmp_path) as index:
        for moment, name in ((100.0, "a"), (200.0, "b")):
            monkeypatch.setattr("stethoscope.triage.index.time.time", lambda now=moment: now)
            index.put([(f"/runs/{name}", "s", Summary(name, name, "healthy"))])
        assert [one.name for one in index.changed()] == ["a", "b"]
        assert [one.name for one in index.changed(150.0)] == ["b"]


def test_a_damaged_file_is_begun_anew(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"this is no database" * 100)
    with Index(tmp_path) as index:
        assert "damaged" in index.note
        index.put([("/runs/a", "s", SICK)])
        assert index.get("/runs/a", "s") == SICK


def test_a_file_that_is_damaged_while_it_is_open_is_begun_anew(tmp_path: Path) -> None:
    with Index(tmp_path) as index:
        index.put([(f"/runs/{n}", "s", SICK) for n in range(500)])
        with (tmp_path / FILE).open("r+b") as stream:
            stream.seek(0)
            stream.write(b"\0" * 20_000)
        assert index.get("/runs/7", "s") is None
        index.put([("/runs/a", "s", SICK)])
        assert index.get("/runs/a", "s") == SICK


def test_a_folder_that_cannot_be_made_leaves_an_index_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with Index(tmp_path / "file" / "cache") as index:
        assert "nothing is remembered" in index.note
        index.put([("/runs/a", "s", SICK)])
        assert index.get("/runs/a", "s") == SICK


def test_a_file_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Index(tmp_path):
        pass
    monkeypatch.setattr("stethoscope.triage.index.PATIENCE_SECONDS", 0.05)
    holder = sqlite3.connect(tmp_path / FILE)
    with Index(tmp_path) as index:
        holder.execute("BEGIN EXCLUSIVE")
        index.put([("/runs/a", "s", SICK)])
        assert "cannot be written" in index.note
        holder.rollback()
    holder.close()


def test_two_at_once_lose_nothing(tmp_path: Path) -> None:
    def fill(name: str) -> None:
        with Index(tmp_path) as index:
            for number in range(20):
                index.put([(f"/{name}/{number}", "s", SICK)])

    threads = [threading.Thread(target=fill, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Index(tmp_path) as index:
        assert len(index.paths_below("/a")) == len(index.paths_below("/b")) == 20


def test_an_index_of_another_layout_is_begun_anew(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / FILE)
    connection.execute("CREATE TABLE runs (other TEXT)")
    connection.execute("PRAGMA user_version = 99")
    connection.commit()
    connection.close()
    with Index(tmp_path) as index:
        index.put([("/runs/a", "s", SICK)])
        assert index.get("/runs/a", "s") == SICK


def test_the_cache_folder_follows_the_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_folder() == Path("/somewhere/stethoscope")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/x")
    assert cache_folder() == Path("/home/x/.cache/stethoscope")
    monkeypatch.setattr("sys.platform", "darwin")
    assert cache_folder() == Path("/home/x/Library/Caches/stethoscope")
