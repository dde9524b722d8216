"""The loaders that training draws from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from stethoscope.program.data.own_batches import OrderedBatches, ordered_batches
from stethoscope.program.data.training_data import TrainingLoader, training_loaders
from stethoscope.program.index import Index, index
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.run import Recipe, Run, Where
from stethoscope.signals.missing import NO_SOURCE, Missing


@dataclass(frozen=True, slots=True, eq=False)
class TrainingLoaders:
    """Every DataLoader that training draws from, and batches the code itself makes in a fixed order.

    `left_off` are the flags that the script which starts the run could set and does not, with their places.
    """

    index: Index
    loaders: tuple[TrainingLoader, ...]
    in_order: tuple[OrderedBatches, ...] = ()
    left_off: Mapping[str | int, Where] = field(default_factory=dict)

    def __iter__(self) -> Iterator[TrainingLoader]:
        return iter(self.loaders)


def measure(run: Run) -> TrainingLoaders | Missing:
    """Find the loaders of the run's program."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    names = index(run.program)
    settings = settings_tree(run.recipe)
    found, in_order = training_loaders(names, settings), ordered_batches(names, settings)
    if not found and not in_order:
        return Missing("no DataLoader of the training data was found")
    return TrainingLoaders(names, found, in_order, _left_off(run.recipe))


def _left_off(recipe: Recipe | None) -> dict[str | int, Where]:
    if recipe is None or not any(file.origin == "launcher" for file in recipe.files):
        return {}
    return {one.key[-1]: one.where for one in recipe.defaults if one.value is False}
