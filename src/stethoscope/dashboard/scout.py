"""The process that finds the runs below the folder, and sees them appear, change and vanish."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from stethoscope.dashboard.crew import context, ended, prepare
from stethoscope.dashboard.houses import House
from stethoscope.dashboard.joined.finding import Found, Memory, find
from stethoscope.triage.cache_folder import cache_folder
from stethoscope.triage.index import Index

EVERY_SECONDS = 1.0
SHARE = 1 / 20  # of one core, at most, that looking takes
AGAIN_SECONDS = 2.0  # before another scout is sent where one was lost


class Scout:
    """Tells `found` whenever something changed, or `trouble` where the folder cannot be looked at."""

    def __init__(self, house: House, found: Callable[[Found], None], trouble: Callable[[str], None]) -> None:
        self._house, self._found, self._trouble = house, found, trouble
        self._closed = threading.Event()
        self._process: BaseProcess | None = None
        threading.Thread(target=self._listen, daemon=True).start()

    def close(self) -> None:
        """End the process."""
        self._closed.set()
        if self._process is not None:
            ended(self._process)

    def _listen(self) -> None:
        while not self._closed.is_set():
            try:
                self._hear()
            except (EOFError, OSError):
                self._closed.wait(AGAIN_SECONDS)

    def _hear(self) -> None:
        chosen = context()
        line, other = chosen.Pipe(duplex=False)
        process = chosen.Process(target=_scout, args=(self._house, other), daemon=True)
        process.start()
        self._process = process
        other.close()
        if self._closed.is_set():
            ended(process)
        while True:
            told = line.recv()
            if isinstance(told, Found):
                self._found(told)
            else:
                self._trouble(str(told))


def _scout(house: House, line: Connection) -> None:
    prepare()
    home = os.getppid()
    memory, last = Memory(Index(cache_folder())), None
    with suppress(OSError, KeyboardInterrupt):
        while True:
            began = time.process_time()
            told = _look(house, memory)
            if told != last:
                line.send(told)
                last = told
            time.sleep(max(EVERY_SECONDS, (time.process_time() - began) / SHARE))
            if os.getppid() != home:  # nobody listens any more
                return


def _look(house: House, memory: Memory) -> Found | str:
    try:
        os.listdir(house.root)
        return find(house.root, house.shown, memory)
    except OSError as problem:
        return (problem.strerror or str(problem)).lower()
