"""The options for resuming that nothing acts on."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.evaluation.evaluations import walks
from stethoscope.program.index import index
from stethoscope.program.resume.resume_options import IdleOption, dropped_loads, idle_options
from stethoscope.program.resume.trainer_resumes import UntoldStart, untold_starts
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.program.walk.events import Call
from stethoscope.run import Run
from stethoscope.signals.missing import NO_SOURCE, Missing


@dataclass(frozen=True, slots=True, eq=False)
class ResumeOptions:
    """Options that reach no checkpoint, checkpoints that are read and dropped, and trainers that are started
    without the one that was asked for."""

    idle: tuple[IdleOption, ...]
    dropped: tuple[Call, ...]
    untold: tuple[UntoldStart, ...] = ()


def measure(run: Run) -> ResumeOptions | Missing:
    """Follow the options for resuming through the run's program."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    found = walks(index(run.program), settings_tree(run.recipe))
    dropped = tuple(call for walk in found for call in dropped_loads(walk))
    written = _written(run)
    untold = tuple(untold_starts(index(run.program), written))
    return ResumeOptions(tuple(idle_options(run.program, tuple(run.recipe or ()))), dropped, untold)


def _written(run: Run) -> frozenset[str]:
    """The names in the settings files, as all settings are followed with."""
    keys = (setting.key for setting in run.recipe or ())
    return frozenset(part for key in keys for part in key if isinstance(part, str))
