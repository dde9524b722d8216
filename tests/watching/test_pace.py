"""Watching takes a few per cent of one core, however long a judgement takes."""

from __future__ import annotations

import pytest

from stethoscope.watching.pace import SHARE, rest


def test_a_quick_look_is_taken_as_often_as_asked_for() -> None:
    assert rest(0.001, 0.001, every=2.0) == 2.0


@pytest.mark.parametrize("worked", [0.5, 2.0, 60.0])
def test_a_look_that_takes_long_is_followed_by_a_long_rest(worked: float) -> None:
    pause = rest(worked, worked, every=2.0)
    assert worked / (worked + pause) <= SHARE


def test_a_slow_file_system_is_left_alone_as_long_as_it_was_asked() -> None:
    assert rest(0.01, 30.0, every=2.0) == 30.0
