"""Runs examined by several processes; one that ends its process, or never comes back, is a line, too."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing.context import BaseContext

from stethoscope.triage.examining import Outcome, Patient, examined, failed

GRACE_SECONDS = 5.0  # beyond its limit, in which a run may still end by itself
LOOK_EVERY = 1.0
PRELOADED = ["stethoscope.triage.preloaded"]
CRASHED = "its reader ended the whole process; `stethoscope logs` shows which files it has"

Examined = tuple[Patient, Outcome]
Examine = Callable[[Patient, float], Outcome]


def cores() -> int:
    """The cores this process may use."""
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except AttributeError:
        return max(1, os.cpu_count() or 1)


def examined_by_processes(
    patients: Sequence[Patient], jobs: int, seconds: float, examine: Examine = examined
) -> Iterator[Examined]:
    """The outcome of each run, as it is done; other runs that are met on the way come after."""
    waiting = deque(patients)
    seen = {patient.path for patient in patients}
    while waiting:
        lost: list[Patient] = []
        for patient, outcome in _with_one_pool(waiting, min(jobs, len(waiting)), seconds, examine, lost):
            yield patient, outcome
            waiting.extend(Patient(path) for path in outcome.others if path not in seen)
            seen.update(outcome.others)
        for patient in lost:
            yield patient, _in_a_process_of_its_own(patient, seconds, examine)


def _with_one_pool(
    waiting: deque[Patient], jobs: int, seconds: float, examine: Examine, lost: list[Patient]
) -> Iterator[Examined]:
    """Work until nothing waits or the pool breaks; `lost` are then the runs that were going on."""
    pool = ProcessPoolExecutor(jobs, mp_context=_context())
    going: dict[Future[Outcome], tuple[Patient, float]] = {}
    try:
        while waiting or going:
            while waiting and len(going) < jobs:
                patient = waiting.popleft()
                going[pool.submit(examine, patient, seconds)] = patient, time.monotonic()
            done, _ = wait(going, timeout=LOOK_EVERY, return_when=FIRST_COMPLETED)
            for one in done:
                if isinstance(one.exception(), BrokenProcessPool):
                    raise BrokenProcessPool
                patient, _ = going.pop(one)
                yield patient, one.result()
            overdue = time.monotonic() - seconds - GRACE_SECONDS
            if any(begun < overdue for _, begun in going.values()):
                raise BrokenProcessPool
    except BrokenProcessPool:
        lost += [patient for patient, _ in going.values()]
        _end(pool)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _in_a_process_of_its_own(patient: Patient, seconds: float, examine: Examine) -> Outcome:
    pool = ProcessPoolExecutor(1, mp_context=_context())
    try:
        return pool.submit(examine, patient, seconds).result(timeout=seconds + GRACE_SECONDS)
    except TimeoutError:
        _end(pool)
        return failed(patient.path, f"it took longer than {seconds:g} s and could not be interrupted")
    except BrokenProcessPool:
        return failed(patient.path, CRASHED)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _end(pool: ProcessPoolExecutor) -> None:
    for process in list((pool._processes or {}).values()):
        with suppress(Exception):
            process.kill()


def _context() -> BaseContext:
    """Processes that begin with the rules loaded already, where the platform can."""
    methods = multiprocessing.get_all_start_methods()
    made = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    if "forkserver" in methods:
        made.set_forkserver_preload(PRELOADED)
    return made
