"""The loaders that training draws from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Index, index
from stethoscope.program.settings_tree import settings_tree
from stethoscope.program.training_data import TrainingLoader, training_loaders
from stethoscope.run import Run
from stethoscope.signals.missing import NO_SOURCE, Missing


@dataclass(frozen=True, slots=True, eq=False)
class TrainingLoaders:
    """Every DataLoader that training draws batches from."""

    index: Index
    loaders: tuple[TrainingLoader, ...]

    def __iter__(self) -> Iterator[TrainingLoader]:
        return iter(self.loaders)


def measure(run: Run) -> TrainingLoaders | Missing:
    """Find the loaders of the run's program."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    names = index(run.program)
    found = training_loaders(names, settings_tree(run.recipe))
    return TrainingLoaders(names, found) if found else Missing("no DataLoader of the training data was found")
