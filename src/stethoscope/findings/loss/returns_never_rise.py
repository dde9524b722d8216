"""A learner from rewards earns no more at its end than at its beginning.

## What it checks
Returns, rewards and scores of episodes with twenty values or more: whether the last quarter is no better than
the first tenth, by more than single values stray, and no stretch between was.

## Why it matters
The loss of such a learner says nothing about its progress; what it earns does. Where that stands still or
sinks, steps are too small or throw the policy away, actions are credited with what others earned, or the sign
of the objective is turned round.

## When it is harmless
Rewards that are rare come late: nothing at all, and then much. A return that is the highest from the start,
and one that is shaped while training goes on, do not rise either. So this is only a note.

## References
- Henderson et al., "Deep Reinforcement Learning that Matters", 2018
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from stethoscope.detectors.robust_stats import noise_sd
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series, Values
from stethoscope.signals.every_series import EverySeries
from stethoscope.signals.loss import words

RULE = Rule(code="LOS850", since="0.9", severity=Severity.NOTE)

EARNED = frozenset({"return", "returns", "reward", "rewards"})
LEAST_VALUES = 20
PARTS = 10  # stretches whose means are levels
ERRORS = 3.0  # standard errors of the difference of two levels: a smaller rise is none
GONE = 0.02  # of the first entropy: nothing is left to choose
SPREAD = 0.5  # of the way that single values stray: a rise that hardly matters


def examine(every: EverySeries) -> Iterator[Finding]:
    """Note the longest series of returns where it never rises."""
    earned = [one.finite() for name, one in every.series.items() if words(name) & EARNED]
    longest = max(earned, key=len, default=None)
    if longest is None or len(longest) < LEAST_VALUES:
        raise InsufficientData("no returns of episodes were logged often enough")
    levels = [float(np.mean(part)) for part in np.array_split(longest.values, PARTS)]
    first, last = levels[0], float(np.mean(levels[-3:]))
    stray = _stray(longest.values)
    if stray == 0.0 or max(levels[1:]) > first + _least_rise(stray, len(longest)):
        return
    sinks = last < first - _least_rise(stray, len(longest))
    yield _finding(longest, first, last, {"sinks": sinks, "one_action": _loses_its_choice(every)})


def _stray(values: Values) -> float:
    """How far single values lie from those beside them."""
    return noise_sd(values)


def _least_rise(stray: float, count: int) -> float:
    return max(ERRORS * stray / math.sqrt(count / PARTS / 2.0), SPREAD * stray)


def _loses_its_choice(every: EverySeries) -> bool:
    """Whether the entropy of the policy is gone by the middle of the run."""
    entropies = [one.finite().values for name, one in every.series.items() if "entropy" in words(name)]
    return any(
        len(one) >= LEAST_VALUES and 0.0 <= float(np.median(one[len(one) // 2 :])) < GONE * float(one[0])
        for one in entropies
    )


def _finding(series: Series, first: float, last: float, told: dict[str, bool]) -> Finding:
    how = "sinks" if told["sinks"] else "never rises"
    return Finding(
        series.where(),
        f"{series.name} {how}: {first:.4g} at the beginning, {last:.4g} at the end",
        {"series": series.name, "first": first, "last": last, **told},
        onset=int(series.steps[0]),
    )
