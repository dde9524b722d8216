"""Why the run ended; always answered."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.run import Run, Where


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended, in a word and in a sentence, with the line that says so."""

    how: str
    why: str
    where: Where | None = None


def measure(run: Run) -> Ending:
    """Say how the run ended."""
    return Ending("unknown", "nothing in the logs says how the run ended")
