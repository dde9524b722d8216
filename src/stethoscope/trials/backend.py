"""Where runs are made: `start` a job, `wait` for what is done, `stop` everything."""

from __future__ import annotations

from typing import Protocol

from stethoscope.trials.projects import Snapshot
from stethoscope.trials.running import Job
from stethoscope.trials.trial import Outcome


class Backend(Protocol):
    """Somewhere that runs are made, several at a time."""

    @property
    def slots(self) -> int:
        """How many runs may go on at the same time."""
        ...

    def prepare(self, snapshot: Snapshot) -> None:
        """Get ready to make runs of this snapshot."""
        ...

    def start(self, job: Job) -> None:
        """Begin a run."""
        ...

    def wait(self, seconds: float) -> list[Outcome]:
        """What was done since the last call; waits at most so long where nothing was."""
        ...

    def stop(self) -> None:
        """End whatever still runs."""
        ...
