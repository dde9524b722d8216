"""Runs of several processes: each has a port of its own, and what only waits is given up."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path

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


def test_a_console_names_no_folder_of_the_bench(tmp_path: Path) -> None:
    console = tmp_path / making.CONSOLE
    console.write_text(f"{tmp_path}/springs/trainer.py:118: UserWarning\nepoch 1\n", encoding="utf-8")
    making._without_folder(tmp_path)
    assert console.read_text(encoding="utf-8") == "springs/trainer.py:118: UserWarning\nepoch 1\n"


def _poll() -> None:
    while True:
        time.sleep(0.2)
