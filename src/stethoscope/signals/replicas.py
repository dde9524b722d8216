"""Copies of a channel that get noise of their own, read from the source."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.data.replicas import Replicas, noisy_replicas
from stethoscope.program.index import index
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.run import Run
from stethoscope.signals.missing import NO_SOURCE, Missing


@dataclass(frozen=True, slots=True, eq=False)
class ChannelReplicas:
    """The copies that were found."""

    seen: Replicas


def measure(run: Run) -> ChannelReplicas | Missing:
    """Look at the noisy inputs of the networks that the run's program trains."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    seen = noisy_replicas(index(run.program), settings_tree(run.recipe))
    return (
        ChannelReplicas(seen) if seen.passes else Missing("no network with noisy input was found in training")
    )
