"""The precision that each training loop of the source runs in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import index
from stethoscope.program.precision.loop_precision import LoopPrecision, loop_precisions
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.run import Run
from stethoscope.signals.missing import NO_SOURCE, Missing


@dataclass(frozen=True, slots=True, eq=False)
class LoopPrecisions:
    """How every loop that trains runs."""

    loops: tuple[LoopPrecision, ...]

    def __iter__(self) -> Iterator[LoopPrecision]:
        return iter(self.loops)


def measure(run: Run) -> LoopPrecisions | Missing:
    """Look at the training loops of the run's program."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    found = loop_precisions(index(run.program), settings_tree(run.recipe))
    if not found:
        return Missing(
            "no backward pass was found in the source", log_this="stethoscope RUN --code PATH_TO_SOURCE"
        )
    return LoopPrecisions(found)
