"""The verdict on a run: one of four words."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum

from stethoscope.causes.cause import STRONG, Explanation, RankedCause
from stethoscope.causes.weighing import NEARLY, SUPPORTED_FROM
from stethoscope.findings import Found, Severity
from stethoscope.run import Run

# Where harm shows. A learning rate is what was asked for, not what came of it.
HARMED = frozenset({"numerics", "amp", "loss", "validation"})

# Rules that a run shows as well whose weights were good when it began.
STANDS_STILL = frozenset({"loss-plateau", "loss-never-falls", "validation-settles-at-once"})

ENOUGH_POINTS = 5  # fewer values of a loss or metric say nothing about health


class Verdict(StrEnum):
    """healthy; at-risk: a fault in code or settings that has not visibly hurt; sick; unknown."""

    HEALTHY = "healthy"
    AT_RISK = "at-risk"
    SICK = "sick"
    UNKNOWN = "unknown"


def judge(run: Run, explanation: Explanation) -> Verdict:
    """Say how the run is: sick needs a curve that shows harm, and a cause that stands or rivals for it.

    A run that is ruined is sick whatever the cause: a loss that is NaN to the end needs none. One in which
    nothing ever moved may be broken, or may go on with weights that have learned: no verdict.
    """
    standing = [cause for cause in explanation.causes if stands(cause)]
    if standing:
        return Verdict.SICK if shows_harm(explanation) else Verdict.AT_RISK
    if _is_ruined(explanation) or (_shows_change(explanation) and one_of_several(explanation.causes)):
        return Verdict.SICK
    if explanation.symptoms or explanation.standstill is not None or not _was_watched(run):
        return Verdict.UNKNOWN
    return Verdict.HEALTHY


def stands(cause: RankedCause) -> bool:
    """Whether a cause is at least supported."""
    return cause.stands


def one_of_several(causes: Iterable[RankedCause]) -> bool:
    """Whether rivals, one of them with strong evidence, leave little room for none of them to be there.

    What one curve shows may fit two causes as well; then neither is likely by itself, and one of them is.
    """
    rivals = tuple(causes)
    strong = any(argument.weight >= STRONG * NEARLY for cause in rivals for argument in cause.arguments_for)
    return strong and 1.0 - math.prod(1.0 - cause.probability for cause in rivals) >= SUPPORTED_FROM


def _shows_change(explanation: Explanation) -> bool:
    """Whether harm shows in more than that nothing moves: what was learned before does not move either."""
    symptoms = tuple(found for found in explanation.symptoms if found.rule.name not in STANDS_STILL)
    return shows_harm(replace(explanation, symptoms=symptoms))


def _is_ruined(explanation: Explanation) -> bool:
    """Whether a curve shows harm that is past doubt: nothing is learned behind it."""
    curves = (found for found in explanation.symptoms if found.rule.family in HARMED)
    return any(found.severity is Severity.CRITICAL for found in curves)


def shows_harm(explanation: Explanation) -> bool:
    """Whether a metric, a loss, the updates or the end of the run show that something is wrong."""
    return any(found.rule.family in HARMED or _died(found) for found in explanation.symptoms)


def _died(found: Found) -> bool:
    """Whether the run came to a bad end; one that was told to stop did not."""
    return found.rule.family == "ending" and found.severity is Severity.CRITICAL


def _was_watched(run: Run) -> bool:
    judged = (s for name, s in run.series.items() if name.startswith(("loss", "val/", "train/")))
    return any(len(series) >= ENOUGH_POINTS for series in judged)
