"""The scores that a trial is judged on: those of the runs, and what a run counts that has none.

A run that failed is worth no more than one that never began: the bar that was given, else the worst first
value of any run, or the worst last one where that is worse. A run that exploded and is still finite would
outweigh all others in a mean, so no score counts as further down from there than the best is up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from stethoscope.trials.trial import Ending, Outcome, Trial

Scores = Mapping[str, Mapping[int, float]]  # arm -> seed -> score, counted so that more is better


def scores_of(trial: Trial, outcomes: Sequence[Outcome], own: bool = False) -> Scores:
    """The score of every arm on every seed; `own` are those of the runs' own logs."""
    sign = _sign(trial)
    failed, bound = _floor(trial, outcomes, own)
    broken = broken_arms(outcomes)
    scores: dict[str, dict[int, float]] = {}
    for one in outcomes:
        value = one.own if own else one.score
        if one.ending.failed or (one.ending is Ending.BROKEN and one.arm in broken):
            counted = failed
        else:
            counted = max(sign * value, bound) if value is not None else None
        if counted is not None:
            scores.setdefault(one.arm, {})[one.seed] = counted
    return scores


def score_of_failures(trial: Trial, outcomes: Sequence[Outcome]) -> float | None:
    """What a run that failed counts, in the metric's own direction; None where nothing says it."""
    failed, _ = _floor(trial, outcomes, own=False)
    return _sign(trial) * failed if failed is not None else None


def broken_arms(outcomes: Sequence[Outcome]) -> frozenset[str]:
    """The arms of which every run failed, some before they measured anything, while others have scores.

    A single run that breaks so may have met a full disk; an arm that always does is broken by its changes.
    """
    ended: dict[str, set[Ending]] = {}
    for one in outcomes:
        if one.ending.conclusive:
            ended.setdefault(one.arm, set()).add(one.ending)
    broken = {arm for arm, ends in ended.items() if Ending.BROKEN in ends and Ending.SCORED not in ends}
    return frozenset(broken) if len(broken) < len(ended) else frozenset()


def _floor(trial: Trial, outcomes: Sequence[Outcome], own: bool) -> tuple[float | None, float]:
    """What a failed run counts, and the least that any run does."""
    sign = _sign(trial)
    last = [sign * value for one in outcomes if (value := one.own if own else one.score) is not None]
    # A frozen evaluator has a scale of its own, on which the run's own curve is no value.
    first = (
        [sign * one.first for one in outcomes if one.first is not None] if own or not trial.evaluate else []
    )
    start = sign * trial.metric.bar if trial.metric.bar is not None else min(first or last, default=None)
    if start is None:
        return None, -math.inf
    bound = start - abs(max(last, default=start) - start)
    if trial.metric.bar is not None:
        return start, bound
    return min([start, *(max(value, bound) for value in last)]), bound


def _sign(trial: Trial) -> float:
    return 1.0 if trial.metric.goal == "max" else -1.0
