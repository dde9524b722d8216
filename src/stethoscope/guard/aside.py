"""Work that is done beside the training, in moments in which it does not need the interpreter.

A step that launches many small kernels is as slow as the host is, and judging a window takes as long as a
few of these launches. While a backward pass is under way, its own thread launches kernels and the loop waits:
what is pure Python costs nothing then.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

PAUSE = 0.0003  # seconds from the loss to the backward pass: before it the loop needs the interpreter itself

Result = TypeVar("Result")


class Aside(Generic[Result]):
    """One piece of work at a time: for a thread of its own, or for the loop where that comes first."""

    def __init__(self) -> None:
        self._work: Callable[[], Result] | None = None
        self._under_way: Future[Result] | None = None
        self._thread: ThreadPoolExecutor | None = None

    def put(self, work: Callable[[], Result]) -> None:
        """Have something done before long; what was put before must have been taken."""
        self._work = work

    def begin(self) -> None:
        """Begin what was put; called where a backward pass is about to begin."""
        if self._work is not None and self._under_way is None:
            if self._thread is None:
                self._thread = ThreadPoolExecutor(1, "stethoscope-guard")
            self._under_way = self._thread.submit(_after_pause, self._work)

    @property
    def is_done(self) -> bool:
        """Whether there is something to take without waiting."""
        return self._under_way is not None and self._under_way.done()

    def take(self) -> Result | None:
        """What came of the work, which is done here and now where nobody has begun it; None without work."""
        work, under_way = self._work, self._under_way
        self._work = self._under_way = None
        if work is None:
            return None
        return work() if under_way is None or under_way.cancel() else under_way.result()

    def close(self) -> None:
        """End the thread."""
        if self._thread is not None:
            self._thread.shutdown()


def _after_pause(work: Callable[[], Result]) -> Result:
    time.sleep(PAUSE)
    return work()
