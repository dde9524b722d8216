"""Long work says so on a terminal, and leaves nothing behind."""

from __future__ import annotations

import io
import time

import pytest

from stethoscope.cli import _patience


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
