"""Change the learning-rate schedule."""

from __future__ import annotations

import numpy as np

from stethoscope.prescription.case import Case
from stethoscope.prescription.remedy import NotRecommended

_BASELINE_FIRST = "the best score is no better than doing nothing, which no schedule explains"
CHANGED = 0.01  # a relative change of the rate below this is rounding in the log


def consider(case: Case) -> NotRecommended | None:
    """Not where the best score is no better than doing nothing, nor where the rate stood still."""
    nothing = case.finding("below-trivial-baseline")
    if nothing is not None and not _points_at_rate(case):
        return NotRecommended("another learning-rate schedule", _BASELINE_FIRST, nothing.places)
    decline = case.finding("peak-then-decline")
    rate = case.run.series.get("lr")
    if decline is None or rate is None or decline.onset is None or _points_at_rate(case):
        return None
    changes = _changes_before(rate.steps, rate.values, decline.onset)
    if changes:
        return None
    return NotRecommended(
        "another learning-rate schedule",
        f"the decline begins at step {decline.onset:,}, before the schedule first lowers the rate",
        (rate.where(int(rate.steps[0]), decline.onset),),
    )


def _points_at_rate(case: Case) -> bool:
    return any(case.finding(rule) for rule in ("divergence", "learning-rate-jump"))


def _changes_before(steps: np.ndarray, values: np.ndarray, onset: int) -> bool:
    """Whether the rate fell before the onset; a warm-up only raises it."""
    before = values[(steps <= onset) & np.isfinite(values)]
    if len(before) < 2:
        return True
    return bool((before[1:] < before[:-1] * (1 - CHANGED)).any())
