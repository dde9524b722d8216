"""Where the source measures its network on held-out data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from stethoscope.program.evaluation.evaluations import Evaluation, Walk, hook_walks, walks
from stethoscope.program.index import Index, index
from stethoscope.program.settings.settings_tree import SettingsTree, settings_tree
from stethoscope.run import Run
from stethoscope.signals.missing import NO_SOURCE, Missing


@dataclass(frozen=True, slots=True, eq=False)
class Evaluations:
    """The walks through the training source, each with the runs of networks on held-out data.

    `hooks` are the walks of what frameworks call for every batch; `settings` is what all of them were told.
    """

    index: Index
    walks: tuple[Walk, ...]
    hooks: tuple[Walk, ...] = ()
    settings: SettingsTree = field(default_factory=SettingsTree)

    def __iter__(self) -> Iterator[Evaluation]:
        return (evaluation for walk in self.walks for evaluation in walk.evaluations)


def measure(run: Run) -> Evaluations | Missing:
    """Find the evaluations of the run's program."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    known = index(run.program)
    settings = settings_tree(run.recipe)
    return Evaluations(known, walks(known, settings), hook_walks(known, settings), settings)
