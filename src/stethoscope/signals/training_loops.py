"""The loops of the source that train."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import index
from stethoscope.program.loop.training_loop import TrainingLoop, training_loops
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.run import Run
from stethoscope.signals.missing import NO_SOURCE, Missing


@dataclass(frozen=True, slots=True, eq=False)
class TrainingLoops:
    """Every loop that trains, with its moves in order."""

    loops: tuple[TrainingLoop, ...]

    def __iter__(self) -> Iterator[TrainingLoop]:
        return iter(self.loops)


def measure(run: Run) -> TrainingLoops | Missing:
    """Find the training loops of the run's program."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    if not run.is_followed:
        return Missing("the source was followed under other settings: there are too many for its size")
    loops = training_loops(index(run.program), settings_tree(run.recipe))
    if not loops:
        return Missing(
            "no backward pass was found in the source", log_this="stethoscope RUN --code PATH_TO_SOURCE"
        )
    return TrainingLoops(loops)
