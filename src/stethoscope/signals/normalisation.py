"""The chains of transforms for training and for evaluation, read from the source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import index
from stethoscope.program.normalisation import Pipeline, pipelines
from stethoscope.run import Run
from stethoscope.signals.missing import NO_SOURCE, Missing


@dataclass(frozen=True, slots=True, eq=False)
class Transforms:
    """Chains whose purpose is known."""

    pipelines: tuple[Pipeline, ...]

    def pairs(self) -> Iterator[tuple[Pipeline, Pipeline]]:
        """A chain for training beside each chain for evaluation in the same file."""
        for judged in (one for one in self.pipelines if one.purpose == "eval"):
            beside = [
                one
                for one in self.pipelines
                if one.purpose == "train" and one.site.source is judged.site.source
            ]
            if beside:
                yield beside[0], judged


def measure(run: Run) -> Transforms | Missing:
    """Find the transforms of the run's program."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    found = pipelines(index(run.program))
    return Transforms(found) if found else Missing("no normalising transforms were found in the source")
