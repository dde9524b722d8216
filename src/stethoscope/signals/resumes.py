"""Where the source goes on with an earlier training, and what it gets back."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.evaluation.evaluations import Walk, walks
from stethoscope.program.index import Index, index
from stethoscope.program.resume.checkpointing import Resumption, resumptions
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.run import Run
from stethoscope.signals.missing import NO_SOURCE, Missing


@dataclass(frozen=True, slots=True, eq=False)
class Resumes:
    """The walks through the training source, and the resumptions in them."""

    index: Index
    walks: tuple[Walk, ...]
    resumptions: tuple[Resumption, ...]


def measure(run: Run) -> Resumes | Missing:
    """Find where the run's program resumes."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    known = index(run.program)
    found = walks(known, settings_tree(run.recipe))
    return Resumes(known, found, tuple(one for walk in found for one in resumptions(walk)))
