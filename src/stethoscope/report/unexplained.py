"""What no named cause accounts for: the candidate "unknown", as every report shows it."""

from __future__ import annotations

from stethoscope.causes import Explanation, Standing, accounted_for
from stethoscope.causes.verdict import stands
from stethoscope.findings import Found

UNKNOWN = "unknown"
UNKNOWN_TITLE = "something is wrong that no cause known here accounts for"
CONFIRM_UNKNOWN = "open the findings at their addresses; log what is missing and run again"


def unexplained(explanation: Explanation) -> tuple[Found, ...]:
    """The findings above a note that neither a benign explanation nor a cause that stands uses."""
    standing = [cause for cause in explanation.causes if stands(cause)]
    used = {
        finding for cause in standing for argument in cause.arguments_for for finding in argument.findings
    }
    accounted = accounted_for(standing)
    return tuple(
        found
        for found in explanation.symptoms
        if found.finding not in used and found.rule.name not in accounted
    )


def rank_of_unknown(explanation: Explanation) -> int:
    """The place of "unknown" among the causes: behind those that stand, then by probability."""
    ahead = [
        position
        for position, cause in enumerate(explanation.causes)
        if stands(cause)
        or (cause.standing is Standing.PLAUSIBLE and cause.probability >= explanation.unknown)
    ]
    return ahead[-1] + 1 if ahead else 0
