"""Processes that do one job at a time. A job that fails, dies or takes too long is an answer, too.

Each process is looked after by a thread of the server, which waits for its answer and starts another one
where it is lost. Runs come from strangers: whatever a reader does with one of them, the server lives on.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import queue
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from typing import Any

from stethoscope.errors import StethoscopeError

PRELOADED = ["stethoscope.dashboard.jobs"]  # in the process that all others are forked from
KINDER = 5  # how much nicer than a training these processes are
LAST = (float("inf"), 0)


class Lost(StethoscopeError):
    """A process ended, or was ended, before it had an answer."""


def context() -> ForkServerContext | SpawnContext:
    """How processes are started: from one that has imported everything and holds no thread."""
    if not hasattr(os, "fork"):
        return multiprocessing.get_context("spawn")
    chosen = multiprocessing.get_context("forkserver")
    chosen.set_forkserver_preload(PRELOADED)
    return chosen


@dataclass(order=True, slots=True)
class _Job:
    rank: tuple[float, int]
    work: tuple[Callable[..., Any], tuple[Any, ...]] | None = field(compare=False)
    answer: Future[Any] = field(compare=False)
    seconds: float = field(compare=False, default=0.0)


class Crew:
    """So many processes, which take the most urgent job first; `close` ends them at once."""

    def __init__(self, processes: int, niceness: int = KINDER) -> None:
        self._context = context()
        self._niceness = niceness
        self._jobs: queue.PriorityQueue[_Job] = queue.PriorityQueue()
        self._counter = itertools.count()
        self._lock = threading.Lock()
        self._processes: set[BaseProcess] = set()
        self._closed = False
        self._threads = [threading.Thread(target=self._look_after, daemon=True) for _ in range(processes)]
        for thread in self._threads:
            thread.start()

    def ask(
        self, function: Callable[..., Any], *given: Any, seconds: float, rank: float = 0.0
    ) -> Future[Any]:
        """Have `function(*given)` done by a process; smaller ranks are done before larger ones."""
        answer: Future[Any] = Future()
        self._jobs.put(_Job((rank, next(self._counter)), (function, given), answer, seconds))
        return answer

    def close(self) -> None:
        """End every process, whatever it is doing."""
        with self._lock:
            self._closed = True
            processes = list(self._processes)
        for process in processes:
            ended(process)
        for _ in self._threads:
            self._jobs.put(_Job(LAST, None, Future()))

    def _look_after(self) -> None:
        process, line = None, None
        while True:
            job = self._jobs.get()
            if job.work is None or self._closed:
                job.answer.cancel()
                return
            if not job.answer.set_running_or_notify_cancel():
                continue
            try:
                if process is None or line is None or not process.is_alive():
                    process, line = self._started()
                line.send(job.work)
                is_answer, said = _answered(line, job.seconds)
            except (EOFError, OSError, Lost) as problem:
                if process is not None:
                    ended(process)
                    self._processes.discard(process)
                process = line = None
                why = str(problem) if isinstance(problem, Lost) else "its process died"
                job.answer.set_exception(Lost(why))
                continue
            except Exception as problem:  # what cannot be sent
                job.answer.set_exception(problem)
                continue
            if is_answer:
                job.answer.set_result(said)
            else:
                job.answer.set_exception(said)

    def _started(self) -> tuple[BaseProcess, Connection]:
        line, other = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(other, self._niceness), daemon=True)
        with self._lock:
            if self._closed:
                raise Lost("the dashboard is closing")
            process.start()
            self._processes.add(process)
        other.close()
        return process, line


def _answered(line: Connection, seconds: float) -> tuple[bool, Any]:
    if not line.poll(seconds):
        raise Lost(f"it took longer than {seconds:g} seconds")
    answer: tuple[bool, Any] = line.recv()
    return answer


def _serve(line: Connection, niceness: int) -> None:
    """Do what is asked until nobody asks any more."""
    prepare(niceness)
    with suppress(EOFError, OSError, KeyboardInterrupt):
        while True:
            function, given = line.recv()
            line.send(_outcome(function, given))


def _outcome(function: Callable[..., Any], given: tuple[Any, ...]) -> tuple[bool, Any]:
    try:
        return True, function(*given)
    except StethoscopeError as problem:
        return False, StethoscopeError(str(problem))
    except MemoryError:
        return False, StethoscopeError("it needs more memory than there is")
    except Exception as bug:
        return False, StethoscopeError(
            f"this is a fault of stethoscope, not of your run: {type(bug).__name__}: {bug}"
        )


def prepare(niceness: int = KINDER) -> None:
    """Make this process one that only the server ends, and that a training does not notice."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with suppress(OSError, AttributeError):
        os.nice(niceness)


def ended(process: BaseProcess) -> None:
    """End a process now."""
    with suppress(OSError, ValueError, AssertionError):
        process.kill()
