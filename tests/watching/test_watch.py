"""One look after the other: what is shown and told follows the run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stethoscope.causes.verdict import Verdict
from stethoscope.watching.watch import Watch
from tests.watching.runs import append, begun, rows


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def test_a_loss_that_becomes_nan_is_told_once(tmp_path: Path) -> None:
    log = begun(tmp_path)
    watch = Watch(str(tmp_path))
    assert watch.look() == ()
    assert watch.state.diagnosis is not None
    assert watch.state.diagnosis.verdict is Verdict.HEALTHY
    told = []
    for first in range(40, 90, 10):
        append(log, rows(first, first + 10, broken_from=55))
        told += [(alert.sighting.code, alert.sighting.severity.value) for alert in watch.look()]
    assert told.count(("NUM101", "critical")) == 1
    assert watch.state.beat.step == 89
    assert [seen.code for seen in watch.state.found] == ["NUM101"]


def test_what_was_there_when_the_watching_began_is_told_but_not_listed_as_an_alert(tmp_path: Path) -> None:
    begun(tmp_path, 100, broken_from=50)
    watch = Watch(str(tmp_path))
    assert [alert.sighting.code for alert in watch.look()] == ["NUM101"]
    assert watch.state.alerts == ()


def test_a_run_that_stands_still_is_told_once_and_goes_on(tmp_path: Path) -> None:
    log = begun(tmp_path)
    clock = Clock(log.stat().st_mtime)
    watch = Watch(str(tmp_path), clock)
    watch.look()
    clock.now += 5000
    assert [alert.sighting.name for alert in watch.look()] == ["stalled"]
    assert watch.state.beat.stalled
    assert watch.look() == ()
    append(log, rows(40, 50))
    watch.look()
    assert not watch.state.beat.stalled
    assert watch.state.beat.silent == 0.0


def test_waiting_says_for_what_and_ends(tmp_path: Path) -> None:
    watch = Watch(str(tmp_path / "run"))
    assert watch.look() == ()
    assert "no such file" in watch.state.waiting
    log = begun(tmp_path / "run")
    watch.look()
    assert watch.state.waiting == ""
    os.rename(log.parent, tmp_path / "moved")
    watch.look()
    assert "no such file" in watch.state.waiting
    assert watch.state.diagnosis is not None  # what was known stays known


def test_a_fault_of_a_look_is_said_and_the_next_look_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = begun(tmp_path)
    watch = Watch(str(tmp_path))
    watch.look()
    append(log, rows(40, 50))
    with monkeypatch.context() as broken:
        broken.setattr("stethoscope.watching.watch.vital_signs", None)
        assert watch.look() == ()
    assert watch.state.problem.startswith("could not look: TypeError")
    append(log, rows(50, 60))
    watch.look()
    assert (watch.state.problem, watch.state.beat.step) == ("", 59)


def test_the_age_of_the_last_line_goes_on_between_looks(tmp_path: Path) -> None:
    log = begun(tmp_path)
    clock = Clock(log.stat().st_mtime)
    watch = Watch(str(tmp_path), clock)
    watch.look()
    clock.now += 30
    watch.refresh()
    assert watch.state.beat.silent == pytest.approx(30.0)
    append(log, rows(40, 41))
    watch.refresh()
    assert watch.state.beat.silent == 0.0
    assert watch.state.beat.step == 39  # not read yet
