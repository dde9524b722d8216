"""A loss that goes up at once and stays there while nothing seen explains it: the task has changed."""

from __future__ import annotations

import numpy as np

from stethoscope.detectors.step_up import AFTER, BEFORE, step_up
from stethoscope.guard.happening import Happening, Kind, Severity
from stethoscope.guard.judges.around import Around
from stethoscope.guard.judges.trace import BLOCK, Trace, risen_part
from stethoscope.guard.observation import Observation

GAIN_LOST = 0.1  # of what was learned, as for a lasting spike
SAME_RATE = 1.05  # a learning rate that grew by more explains a higher loss


def look(trace: Trace, clock: int, seen: Observation, around: Around) -> Happening | None:
    """Look for a step up at the end of a block."""
    if trace.is_game or len(trace.medians) < AFTER + BEFORE or not _may_step(trace.medians):
        return None
    step = step_up(np.array(trace.medians, dtype=np.float64))
    onset = clock - AFTER * BLOCK
    if step is None or not around.is_quiet(onset - BLOCK) or _rate_grew(trace.rates):
        return None
    learned = 0.0 if trace.first is None else max(trace.first - step.before, 0.0)
    if step.after - step.before < GAIN_LOST * learned:
        return None
    return shifted(seen, AFTER * BLOCK, step.before, step.after, risen_part(trace, seen.values))


def shifted(
    seen: Observation, steps: int, before: float, after: float, part: tuple[str, float, float] | None
) -> Happening:
    """Tell of a shift from one level to another, so many steps ago."""
    onset = seen.step - steps
    where = "" if part is None else f", mostly in {part[0]} ({part[1]:.4g} before, {part[2]:.4g} here)"
    facts: dict[str, object] = {"before": before, "after": after}
    if part is not None:
        facts |= {"part": part[0], "part_before": part[1], "part_after": part[2]}
    return Happening(
        Kind.LEVEL_SHIFT,
        seen.step,
        Severity.WARNING,
        f"The loss rose from {before:.4g} near step {onset:,} and stands at {after:.4g} {steps} steps later"
        f"{where}.",
        "The gradients before it were ordinary and the learning rate did not grow, so what the batches hold, "
        "or how the loss counts it, has more likely changed than the weights. Candidates are labels that no "
        "longer match their inputs, another source of data, and a changed weight of a loss term; a task made "
        "harder on purpose looks the same and is harmless.",
        "compare a batch from before with one from after, labels too; see whether an epoch begins there.",
        facts,
        onset=onset,
    )


def _may_step(medians: tuple[float, ...]) -> bool:
    """A cheap look first: the last blocks stand above all before them."""
    return min(medians[-AFTER:]) > max(medians[-AFTER - BEFORE : -AFTER])


def _rate_grew(rates: tuple[float, ...]) -> bool:
    return max(rates[-AFTER - 1 :]) > SAME_RATE * min(rates[-AFTER - 3 : -AFTER])
