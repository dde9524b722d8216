"""The chains of transforms for training and for evaluation, read from the source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.data.fitted_again import fitted_again
from stethoscope.program.data.normalisation import Pipeline, pipelines
from stethoscope.program.data.told_statistics import ToldApart, told_apart
from stethoscope.program.data.untold_statistics import untold_apart
from stethoscope.program.index import index
from stethoscope.run import Run
from stethoscope.signals.missing import NO_SOURCE, Missing


@dataclass(frozen=True, slots=True, eq=False)
class Transforms:
    """Chains whose purpose is known."""

    pipelines: tuple[Pipeline, ...]
    told: tuple[ToldApart, ...] = ()

    def pairs(self) -> Iterator[tuple[tuple[Pipeline, ...], Pipeline]]:
        """The chains for training that stand nearest to each chain for evaluation in the same file.

        A file may hold chains for several data sets, a pair in each function or table.
        """
        for judged in (one for one in self.pipelines if one.purpose == "eval"):
            beside = [
                one
                for one in self.pipelines
                if one.purpose == "train" and one.site.source is judged.site.source
            ]
            for holder in judged.around:
                nearest = tuple(one for one in beside if holder in one.around)
                if nearest:
                    yield nearest, judged
                    break


def measure(run: Run) -> Transforms | Missing:
    """Find the transforms of the run's program."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    names = index(run.program)
    found, told = pipelines(names), (*told_apart(names), *fitted_again(names), *untold_apart(names))
    if not found and not told:
        return Missing("no normalising transforms were found in the source")
    return Transforms(found, told)
