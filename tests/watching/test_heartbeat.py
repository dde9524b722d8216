"""How far, how fast, and whether it stands still."""

from __future__ import annotations

import numpy as np
import pytest

from stethoscope.run import Log, Run, Series
from stethoscope.watching.heartbeat import (
    LONGEST_PATIENCE,
    QUIET_SECONDS,
    WARM_SECONDS,
    Pulse,
    began,
    duration,
    grown,
    heartbeat,
    reached,
)


def run(step: int, total: int | None = None) -> Run:
    series = Series("loss", "loss", np.array([0, step]), np.array([1.0, 0.5]), "train.csv")
    log = Log("train.csv", "CSV", (series,), total_steps=total)
    return Run("run", "run", (log,), {"loss": series})


def beating(pauses: list[float], steps_per_second: float = 10.0) -> tuple[Pulse, float]:
    """A pulse after growing with these pauses, and the moment of the last growth."""
    now = 1000.0
    pulse = reached(began(now, now), run(0), now)
    for pause in pauses:
        now += pause
        pulse = reached(grown(pulse, now), run(int((now - 1000.0) * steps_per_second)), now)
    return pulse, now


def test_the_speed_is_that_seen_while_watching_and_tells_how_long_is_left() -> None:
    pulse, now = beating([2.0] * 10)
    beat = heartbeat(pulse, run(200, total=1200), now + 1.0, over=False)
    assert beat.rate == pytest.approx(10.0)
    assert beat.left == pytest.approx(100.0)
    assert (beat.step, beat.total, beat.silent, beat.stalled) == (200, 1200, 1.0, False)


def test_a_run_stands_still_when_it_pauses_much_longer_than_ever() -> None:
    pulse, now = beating([2.0, 2.0, 100.0, 2.0])
    assert not heartbeat(pulse, run(100), now + 290.0, over=False).stalled
    assert heartbeat(pulse, run(100), now + 310.0, over=False).stalled


def test_a_quick_log_may_pause_for_a_while() -> None:
    pulse, now = beating([2.0] * 5)
    assert not heartbeat(pulse, run(100), now + QUIET_SECONDS - 1, over=False).stalled
    assert heartbeat(pulse, run(100), now + QUIET_SECONDS + 1, over=False).stalled


def test_one_night_of_silence_does_not_teach_to_wait_for_three() -> None:
    pulse, now = beating([2.0, 40_000.0, 2.0])
    assert heartbeat(pulse, run(100), now + LONGEST_PATIENCE + 1, over=False).stalled


def test_a_run_that_is_over_does_not_stand_still() -> None:
    pulse, now = beating([2.0] * 5)
    assert not heartbeat(pulse, run(100), now + 1e6, over=True).stalled


def test_a_log_that_was_silent_before_the_watching_began_is_not_called_running() -> None:
    pulse = reached(began(1000.0, 5000.0), run(100), 5000.0)
    beat = heartbeat(pulse, run(100), 5000.0, over=False)
    assert (beat.silent, beat.stalled) == (4000.0, True)
    assert not heartbeat(pulse, run(100), 1000.0 + WARM_SECONDS - 1, over=False).stalled


def test_a_clock_that_is_ahead_makes_no_negative_age() -> None:
    pulse = reached(began(9000.0, 5000.0), run(100), 5000.0)
    assert heartbeat(pulse, run(100), 5000.0, over=False).silent == 0.0


def test_a_run_that_begins_again_has_no_speed_below_zero() -> None:
    pulse, now = beating([2.0] * 5)
    pulse = reached(grown(pulse, now + 2), run(1), now + 2)
    assert heartbeat(pulse, run(1), now + 2, over=False).rate is None
    pulse = reached(grown(pulse, now + 4), run(21), now + 4)
    assert heartbeat(pulse, run(21), now + 4, over=False).rate == pytest.approx(10.0)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.4, "0 s"), (59, "59 s"), (61, "1 min"), (3700, "1 h 1 min"), (90_000, "1 d 1 h")],
)
def test_times_are_said_in_two_units(seconds: float, said: str) -> None:
    assert duration(seconds) == said
