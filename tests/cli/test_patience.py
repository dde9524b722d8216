"""Long work says so on a terminal, and leaves nothing behind."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from stethoscope.cli import _patience
from stethoscope.logs._reading import progress as _progress
from tests.cli.processes import surroundings


class Terminal(io.StringIO):
    """A stream somebody watches."""

    def isatty(self) -> bool:
        return True


def watched(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, seconds: float) -> str:
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(_patience, "LONG_SECONDS", 0.05)
    with _patience.patience("examining runs/nano"):
        time.sleep(seconds)
    return stream.getvalue()


def test_long_work_is_named_and_the_line_erased(monkeypatch: pytest.MonkeyPatch) -> None:
    told = watched(monkeypatch, Terminal(), 0.2)
    assert "examining runs/nano (0 s)" in told
    assert told.endswith(_patience.ERASE_LINE)


def test_short_work_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert watched(monkeypatch, Terminal(), 0.0) == ""


def test_nobody_watching_nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert watched(monkeypatch, io.StringIO(), 0.2) == ""


def test_the_reading_of_a_large_file_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(_patience, "LONG_SECONDS", 0.02)
    monkeypatch.setattr(_patience, "BETWEEN_SECONDS", 0.02)
    with _patience.patience("examining runs/nano"):
        for file, done in (("runs/nano/a.log", 10), ("runs/nano/train.log", 42), ("runs/nano/x.gz", 3 << 20)):
            _progress.tell(file, done, 100)
            time.sleep(0.1)
        _progress.tell("runs/nano/x.gz", 100, 100)
        time.sleep(0.1)
    told = stream.getvalue().split(_patience.ERASE_LINE)
    assert "reading a.log 10% (0 s)" in told
    assert "reading train.log 42%, file 2 (0 s)" in told
    assert "reading x.gz 3 MB, file 3 (0 s)" in told
    assert told[-2:] == ["examining runs/nano (0 s)", ""]


def test_progress_is_seen_on_a_terminal_and_erased(tmp_path: Path) -> None:
    """A real process, on a terminal of 40 columns, reading a log whose name is hostile and long."""
    log = tmp_path / ("\x1b[2J" + "n" * 80 + ".csv")
    log.write_text("step,loss\n" + "".join(f"{step},{1 / (step + 1)}\n" for step in range(1000)))
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, "logs", log],
        stdin=theirs,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env=surroundings(TERM="xterm"),
    )
    os.close(theirs)
    told = b""
    while select.select([ours], [], [], 60)[0]:
        try:
            told += os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
    os.close(ours)
    assert process.wait(timeout=30) == 0
    lines = told.decode().split(_patience.ERASE_LINE)
    assert any(line.startswith(r"reading \x1b[2Jnnn") for line in lines)
    assert max(map(len, lines)) < 40
    assert lines[-1] == ""


SLOW = """
import time
from stethoscope.cli import _patience, main
from stethoscope.logs._reading import progress as _progress
_patience.LONG_SECONDS = 0.05
tell = _progress.tell
def slowly(file, done, size):
    tell(file, done // 2, size)
    time.sleep(0.3)
_progress.tell = slowly
main()
"""
