"""The verdict on a run: one of four words."""

from __future__ import annotations

from enum import StrEnum

from stethoscope.causes.cause import Explanation, RankedCause
from stethoscope.findings import Found, Severity
from stethoscope.run import Run

# Where harm shows. A learning rate is what was asked for, not what came of it.
HARMED = frozenset({"numerics", "amp", "loss", "validation"})

ENOUGH_POINTS = 5  # fewer values of a loss or metric say nothing about health


class Verdict(StrEnum):
    """healthy; at-risk: a fault in code or settings that has not visibly hurt; sick; unknown."""

    HEALTHY = "healthy"
    AT_RISK = "at-risk"
    SICK = "sick"
    UNKNOWN = "unknown"


def judge(run: Run, explanation: Explanation) -> Verdict:
    """Say how the run is: sick needs a cause that stands and a curve that shows its harm."""
    standing = [cause for cause in explanation.causes if stands(cause)]
    if standing:
        return Verdict.SICK if shows_harm(explanation) else Verdict.AT_RISK
    if explanation.symptoms or not _was_watched(run):
        return Verdict.UNKNOWN
    return Verdict.HEALTHY


def stands(cause: RankedCause) -> bool:
    """Whether a cause is at least supported."""
    return cause.stands


def shows_harm(explanation: Explanation) -> bool:
    """Whether a metric, a loss, the updates or the end of the run show that something is wrong."""
    return any(found.rule.family in HARMED or _died(found) for found in explanation.symptoms)


def _died(found: Found) -> bool:
    """Whether the run came to a bad end; one that was told to stop did not."""
    return found.rule.family == "ending" and found.severity is Severity.CRITICAL


def _was_watched(run: Run) -> bool:
    judged = (s for name, s in run.series.items() if name.startswith(("loss", "val/", "train/")))
    return any(len(series) >= ENOUGH_POINTS for series in judged)
