"""The scores that a trial is judged on: those of the runs, and what a run counts that has none.

A run that failed is worth no more than one that never began: the bar that was given, else the worst first
value of any run with a score, or the worst last one where that is worse. A run that exploded and is still
finite has failed, too: it would outweigh all others in a mean. It has exploded where it ends further below
the start than the best is above it, and than the start is from zero: a loss of 1 may become 2, a PSNR of 24
may fall to 0. Where some runs diverged, no other counts for less than they do: nothing is worse than that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from stethoscope.trials.trial import Ending, Outcome, Trial

Scores = Mapping[str, Mapping[int, float]]  # arm -> seed -> score, counted so that more is better


def scores_of(trial: Trial, outcomes: Sequence[Outcome], own: bool = False) -> Scores:
    """The score of every arm on every seed; `own` are those of the runs' own logs."""
    failed = frozenset(id(one) for one in failed_runs(trial, outcomes, own))
    floor = score_of_failures(trial, outcomes, own)
    least = _sign(trial) * floor if floor is not None and _some_diverged(outcomes) else -math.inf
    scores: dict[str, dict[int, float]] = {}
    for one in outcomes:
        value = floor if id(one) in failed else _value(one, own)
        if value is not None:
            scores.setdefault(one.arm, {})[one.seed] = max(_sign(trial) * value, least)
    return scores


def _some_diverged(outcomes: Sequence[Outcome]) -> bool:
    return any(one.ending is Ending.DIVERGED for one in outcomes)


def failed_runs(trial: Trial, outcomes: Sequence[Outcome], own: bool = False) -> list[Outcome]:
    """The runs of which the training failed: without a score, with one that exploded, or always broken."""
    broken = broken_arms(outcomes)
    bound = _bound(trial, outcomes, own)
    return [
        one
        for one in outcomes
        if one.ending.failed
        or (one.ending is Ending.BROKEN and one.arm in broken)
        or _is_beyond(_value(one, own), bound, trial)
    ]


def score_of_failures(trial: Trial, outcomes: Sequence[Outcome], own: bool = False) -> float | None:
    """What a run that failed counts; None where nothing says it."""
    if trial.metric.bar is not None:
        return trial.metric.bar
    bound = _bound(trial, outcomes, own)
    last = [_value(one, own) for one in outcomes]
    sane = [value for value in last if value is not None and not _is_beyond(value, bound, trial)]
    every = [*_starts(trial, outcomes, own), *sane]
    return min(every, key=lambda value: _sign(trial) * value, default=None)


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


def _bound(trial: Trial, outcomes: Sequence[Outcome], own: bool) -> float:
    """How low a score may be, counted so that more is better, before it has exploded."""
    last = [_sign(trial) * value for one in outcomes if (value := _value(one, own)) is not None]
    starts = [_sign(trial) * value for value in _starts(trial, outcomes, own)]
    if not last or not starts:
        return -math.inf
    start = min(starts)
    return start - max(abs(max(last) - start), abs(start))


def _starts(trial: Trial, outcomes: Sequence[Outcome], own: bool) -> list[float]:
    # A frozen evaluator has a scale of its own, on which the run's own curve is no value.
    if trial.evaluate and not own:
        return []
    # A run that failed may have exploded before it first measured anything.
    began = [one for one in outcomes if one.first is not None]
    sound = [one for one in began if one.ending is Ending.SCORED]
    return [one.first for one in sound or began if one.first is not None]


def _is_beyond(value: float | None, bound: float, trial: Trial) -> bool:
    return value is not None and _sign(trial) * value < bound


def _value(outcome: Outcome, own: bool) -> float | None:
    return outcome.own if own else outcome.score


def _sign(trial: Trial) -> float:
    return 1.0 if trial.metric.goal == "max" else -1.0
