"""The validation path, read from the source."""

from __future__ import annotations

from dataclasses import dataclass, replace

from stethoscope.program.evaluation.curricula_over_data import curricula_over_data
from stethoscope.program.evaluation.growing_inputs import growing_inputs
from stethoscope.program.evaluation.measured_ramps import measured_ramps
from stethoscope.program.evaluation.moving_difficulty import moving_difficulties
from stethoscope.program.evaluation.ramps_in_evaluation import ramps_in_evaluation
from stethoscope.program.evaluation.validation_path import ValidationPath, validation_path
from stethoscope.program.index import index
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.run import Run
from stethoscope.signals.missing import NO_SOURCE, Missing


@dataclass(frozen=True, slots=True, eq=False)
class Yardstick:
    """What validation does to what it measures."""

    path: ValidationPath


def measure(run: Run) -> Yardstick | Missing:
    """Follow the functions that validate."""
    if run.program is None or not run.program.sources:
        return NO_SOURCE
    path = validation_path(run.program, run.recipe)
    known = {following.where for following in path.followings}
    names = index(run.program)
    walked = (
        *moving_difficulties(names, settings_tree(run.recipe)),
        *ramps_in_evaluation(names),
        *curricula_over_data(names),
        *measured_ramps(names, settings_tree(run.recipe)),
        *growing_inputs(names, settings_tree(run.recipe)),
    )
    more = tuple({f.where: f for f in reversed(walked) if f.where not in known}.values())
    path = replace(path, followings=(*path.followings, *more))
    if not path.functions and not path.followings:
        return Missing(
            "no validation was found in the source", log_this="stethoscope RUN --code PATH_TO_SOURCE"
        )
    if path.compared == 0 and not path.shrinkings and not path.followings:
        return Missing(
            f"no comparison of a prediction with a target was found in {', '.join(path.functions[:3])}",
            log_this="stethoscope RUN --code PATH_TO_SOURCE",
        )
    return Yardstick(path)
