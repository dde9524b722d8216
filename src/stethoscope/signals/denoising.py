"""Denoising objectives, read from the source."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.index import index
from stethoscope.program.objective.denoising import Denoising, denoising
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.run import Run
from stethoscope.signals.missing import NO_SOURCE, Missing


@dataclass(frozen=True, slots=True, eq=False)
class DenoisingObjective:
    """What networks with noisy input return, are held to and are told."""

    seen: Denoising


def measure(run: Run) -> DenoisingObjective | Missing:
    """Look for networks that are trained on noisy input."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    seen = denoising(index(run.program), settings_tree(run.recipe))
    if not (seen.passes or seen.held or seen.unsolved):
        return Missing("no network with noisy input was found in training")
    return DenoisingObjective(seen)
