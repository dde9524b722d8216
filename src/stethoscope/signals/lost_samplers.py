"""The samplers that do not arrive where their network was trained to take them."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.objective.rehearsed_samplers import LostSampler, lost_samplers
from stethoscope.run import Run
from stethoscope.signals.minimised_objective import objective_of
from stethoscope.signals.missing import Missing


@dataclass(frozen=True, slots=True, eq=False)
class LostSamplers:
    """What was found among the samplers of a program that trains a denoiser."""

    found: tuple[LostSampler, ...]


def measure(run: Run) -> LostSamplers | Missing:
    """Rehearse each sampler with the best network that the run's objective could give."""
    objective = objective_of(run)
    return objective if isinstance(objective, Missing) else LostSamplers(lost_samplers(*objective))
