"""Channels that data sets fill with zeros, read from the source."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.data.made_channels import MadeChannels, empty_channels
from stethoscope.program.data.sample_functions import sample_functions
from stethoscope.program.index import index
from stethoscope.run import Run
from stethoscope.signals.missing import NO_SOURCE, Missing


@dataclass(frozen=True, slots=True, eq=False)
class EmptyChannels:
    """Every place where samples get channels of zeros."""

    found: tuple[MadeChannels, ...]


def measure(run: Run) -> EmptyChannels | Missing:
    """Look at the functions of the run's program that make samples."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    known = index(run.program)
    if not sample_functions(known):
        return Missing("no data set or transform was found in the source")
    return EmptyChannels(empty_channels(known))
