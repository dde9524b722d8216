"""Processes that fail, die or hang are answers; closing ends all of them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import pytest

from stethoscope.dashboard.crew import Crew, Lost
from stethoscope.errors import StethoscopeError

PATIENCE = 120.0  # of a test on a machine that is busy


@pytest.fixture(scope="module")
def crew() -> Iterator[Crew]:
    made = Crew(1)
    yield made
    made.close()


def double(number: int) -> int:
    return 2 * number


def die(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def stumble(_: int) -> None:
    raise ZeroDivisionError("of a reader")


def refuse(_: int) -> None:
    raise StethoscopeError("there is no log.")


def hang(_: int) -> None:
    time.sleep(PATIENCE)


def test_a_job_is_done_elsewhere(crew: Crew) -> None:
    assert crew.ask(double, 21, seconds=PATIENCE).result(PATIENCE) == 42
    assert crew.ask(os.getpid, seconds=PATIENCE).result(PATIENCE) != os.getpid()


def test_whatever_happens_to_a_job_the_next_one_is_done(crew: Crew) -> None:
    with pytest.raises(Lost, match="its process died"):
        crew.ask(die, 0, seconds=PATIENCE).result(PATIENCE)
    with pytest.raises(StethoscopeError, match="ZeroDivisionError: of a reader"):
        crew.ask(stumble, 0, seconds=PATIENCE).result(PATIENCE)
    with pytest.raises(StethoscopeError, match="there is no log"):
        crew.ask(refuse, 0, seconds=PATIENCE).result(PATIENCE)
    with pytest.raises(Lost, match=r"took longer than 0\.2 seconds"):
        crew.ask(hang, 0, seconds=0.2).result(PATIENCE)
    assert crew.ask(double, 1, seconds=PATIENCE).result(PATIENCE) == 2


def test_the_most_urgent_job_comes_first(crew: Crew) -> None:
    done: list[int] = []
    first = crew.ask(time.sleep, 0.3, seconds=PATIENCE)
    later = [crew.ask(double, rank, seconds=PATIENCE, rank=rank) for rank in (3, 1, 2)]
    for answer, rank in zip(later, (3, 1, 2), strict=True):
        answer.add_done_callback(lambda _, rank=rank: done.append(rank))
    for answer in (first, *later):
        answer.result(PATIENCE)
    assert done == [1, 2, 3]


def test_closing_ends_what_is_going_on() -> None:
    crew = Crew(1)
    pid = crew.ask(os.getpid, seconds=PATIENCE).result(PATIENCE)
    busy = crew.ask(hang, 0, seconds=PATIENCE)
    time.sleep(0.1)
    crew.close()
    with pytest.raises(Lost):
        busy.result(PATIENCE)
    until = time.monotonic() + PATIENCE
    while _lives(pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert not _lives(pid)


def _lives(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stream:
            return stream.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
