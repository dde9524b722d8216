"""Clips of the source that do not see the gradients of all ranks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import index
from stethoscope.program.ranks.partial_clips import PartialClip, partial_clips
from stethoscope.run import Run
from stethoscope.signals.missing import NO_SOURCE, Missing


@dataclass(frozen=True, slots=True)
class PartialClips:
    """Each of them; none in a source whose clips are whole."""

    clips: tuple[PartialClip, ...]

    def __iter__(self) -> Iterator[PartialClip]:
        return iter(self.clips)


def measure(run: Run) -> PartialClips | Missing:
    """Look through the run's program."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    if not any("clip_grad" in source.text for source in run.program):
        return Missing("the source clips no gradients by hand")
    return PartialClips(tuple(partial_clips(index(run.program))))
