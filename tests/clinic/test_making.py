"""Runs of several processes: each has a port of its own, and what only waits is given up."""

from __future__ import annotations

import multiprocessing
import time

import pytest

from stethoscope.clinic.faultbench import making


def test_no_port_is_given_twice() -> None:
    ports = [making._free_port() for _ in range(200)]
    assert len(set(ports)) == len(ports)


def test_a_process_that_polls_for_ever_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "STALLED", 2.0)
    waiting = multiprocessing.get_context("spawn").Process(target=_poll)
    waiting.start()
    try:
        assert not making._ended([waiting])
    finally:
        waiting.kill()


def _poll() -> None:
    while True:
        time.sleep(0.2)
