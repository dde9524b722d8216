"""Runs as processes of this machine, a few at a time, the cores divided among them."""

from __future__ import annotations

import os
import queue
import threading
from pathlib import Path

from stethoscope.trials.projects import Snapshot
from stethoscope.trials.running import Job, perform
from stethoscope.trials.trial import Ending, Outcome

MEMORY_SHARE = 0.9  # of what is free, for all runs together


class LocalProcesses:
    """Processes on this machine. `work` is where the copies of the project are made."""

    def __init__(self, slots: int, work: Path) -> None:
        self.slots = slots
        self._work = work
        self._snapshot = Path()
        self._stop = threading.Event()
        self._done: queue.Queue[Outcome] = queue.Queue()
        self._threads: list[threading.Thread] = []

    def prepare(self, snapshot: Snapshot) -> None:
        """Remember the folder that copies are made of."""
        self._snapshot = snapshot.folder

    def start(self, job: Job) -> None:
        """Begin a run in a thread of its own, which only waits."""
        thread = threading.Thread(
            target=self._perform, args=(job,), name=f"{job.arm} {job.seed}", daemon=True
        )
        self._threads.append(thread)
        thread.start()

    def wait(self, seconds: float) -> list[Outcome]:
        """What was done since the last call."""
        found = []
        try:
            found.append(self._done.get(timeout=seconds))
            while True:
                found.append(self._done.get_nowait())
        except queue.Empty:
            return found

    def stop(self) -> None:
        """End whatever runs, and wait until it has."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _perform(self, job: Job) -> None:
        try:
            outcome = perform(job, self._snapshot, self._work, self._stop)
        except Exception as bug:
            # A fault of ours in one run must not lose the others.
            why = f"a fault of stethoscope: {type(bug).__name__}: {bug}"
            outcome = Outcome(job.arm, job.seed, Ending.NOT_RUN, why=why, key=job.key)
        self._done.put(outcome)


def usual_slots() -> int:
    """One run for every two cores; one where there is a GPU, which they would fight for."""
    return 1 if os.path.exists("/dev/nvidia0") else max(1, cores() // 2)


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory_for(slots: int) -> int | None:
    """The bytes that each of so many runs may use, of what is free; None where that is not known."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            free = next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return None
    return int(MEMORY_SHARE * free / slots)
