"""The training source as it is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.run import Program, Run, Source
from stethoscope.signals.missing import NO_SOURCE, Missing


@dataclass(frozen=True, slots=True, eq=False)
class Sources:
    """The source files that a run used."""

    program: Program

    def __iter__(self) -> Iterator[Source]:
        return iter(self.program.sources)

    def mention(self, *words: str) -> bool:
        """Whether any file holds one of these words."""
        return any(word in source.text for source in self for word in words)


def measure(run: Run) -> Sources | Missing:
    """Give the run's program, where it was found."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    return Sources(run.program)
