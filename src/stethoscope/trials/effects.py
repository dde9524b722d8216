"""Scores of runs to effects: mean paired differences, and the margin below which a difference is none.

The margin is a quarter of the distance between sick and cured, and at least two standard deviations of the
scores between seeds: what a person could not tell from the luck of one run. It is never more than half of
the distance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

import numpy as np

from stethoscope.trials.arms import arm_with
from stethoscope.trials.paired import adjusted, interval, probability
from stethoscope.trials.scores import Scores
from stethoscope.trials.trial import Arm, Change, Effect, Role, Trial

ALPHA = 0.05
MARGIN_SHARE = 0.25  # of the distance between sick and cured
MARGIN_SDS = 2.0  # of the scores of one arm over the seeds: 95 % of its runs lie so near
MOST_SHARE = 0.5  # of the distance: more can be no margin, however large the noise
SMALL_SHARE = 0.4  # of the margin, a tenth of the distance: below it a certain effect is still called none


class State(StrEnum):
    """What one difference shows."""

    BETTER = "better"
    WORSE = "worse"
    NONE = "none"
    OPEN = "open"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Bench:
    """All effects of a trial on one yardstick, judged together."""

    arms: tuple[Arm, ...]
    effects: Mapping[tuple[str, str], Effect]
    distance: Effect | None
    margin: float
    margin_why: str
    seed_sd: float

    def effect(self, better: Sequence[str], worse: Sequence[str]) -> Effect | None:
        """The difference between the arms in which these changes are made."""
        first, second = arm_with(self.arms, better), arm_with(self.arms, worse)
        return self.effects.get((first.name, second.name)) if first and second else None


def bench_of(trial: Trial, arms: Sequence[Arm], scores: Scores) -> Bench:
    """Every effect of a trial on these scores."""
    effects = _effects(_pairs(trial, arms), scores)
    sick, cured = _role(arms, Role.SICK), _role(arms, Role.CURED)
    distance = effects.get((cured, sick)) if cured is not None and sick is not None else None
    certain = distance is not None and distance.p_adjusted <= ALPHA and distance.mean > 0
    seed_sd = _seed_sd(scores, cured if certain else None)
    margin, why = _margin(trial, distance, seed_sd)
    return Bench(tuple(arms), effects, distance, margin, why, seed_sd)


@dataclass(frozen=True, slots=True)
class Shown:
    """What the runs show of one change: alone on the sick project, and within the cured one."""

    alone: Effect | None
    within: Effect | None
    alone_is: State
    within_is: State

    @property
    def states(self) -> frozenset[State]:
        """Both states."""
        return frozenset((self.alone_is, self.within_is))


def shown(change: Change, trial: Trial, bench: Bench) -> Shown:
    """The two differences that a change is judged by."""
    cure = [one.name for one in trial.cure]
    alone = bench.effect([change.name], [])
    rest = [name for name in cure if name != change.name]
    within = bench.effect(cure, rest) if change.name in cure else None
    return Shown(alone, within, state_of(alone, bench.margin), state_of(within, bench.margin))


def state_of(effect: Effect | None, margin: float) -> State:
    """What one difference shows."""
    if effect is None:
        return State.MISSING
    certain = effect.p_adjusted <= ALPHA
    inside = -margin <= effect.low and effect.high <= margin
    if inside and not (certain and abs(effect.mean) >= SMALL_SHARE * margin):
        return State.NONE
    if certain:
        return State.BETTER if effect.mean > 0 else State.WORSE
    return State.OPEN


def is_cure(bench: Bench) -> bool:
    """Whether all fixes together are certainly better than none."""
    distance = bench.distance
    return distance is not None and distance.mean > 0 and distance.p_adjusted <= ALPHA


def share_of(effect: Effect | None, bench: Bench) -> float:
    """An effect as a share of what all fixes together bring."""
    return effect.mean / bench.distance.mean if effect is not None and bench.distance is not None else 0.0


def _pairs(trial: Trial, arms: Sequence[Arm]) -> list[tuple[str, str]]:
    """The arms to compare, the one that should be better first; each pair once."""
    cure = [change.name for change in trial.cure]
    wanted: list[tuple[list[str], list[str]]] = [(cure, [])] if cure else []
    for change in (*trial.changes, *([trial.placebo] if trial.placebo else [])):
        wanted.append(([change.name], []))
        if change.name in cure:
            wanted.append((cure, [name for name in cure if name != change.name]))
    pairs = [(arm_with(arms, better), arm_with(arms, worse)) for better, worse in wanted]
    return list(dict.fromkeys((better.name, worse.name) for better, worse in pairs if better and worse))


def _effects(pairs: Sequence[tuple[str, str]], scores: Scores) -> dict[tuple[str, str], Effect]:
    differences: dict[tuple[str, str], tuple[tuple[int, ...], tuple[float, ...]]] = {}
    for better, worse in pairs:
        first, second = scores.get(better, {}), scores.get(worse, {})
        seeds = tuple(seed for seed in first if seed in second)
        if seeds:
            differences[better, worse] = seeds, tuple(first[seed] - second[seed] for seed in seeds)
    together = adjusted([of[1] for of in differences.values()], [of[0] for of in differences.values()])
    return {
        pair: Effect(
            *pair,
            float(np.mean(values)),
            *interval(values),
            probability(values),
            p_adjusted,
            values,
            seeds,
        )
        for (pair, (seeds, values)), p_adjusted in zip(differences.items(), together, strict=True)
    }


def _role(arms: Sequence[Arm], role: Role) -> str | None:
    return next((arm.name for arm in arms if role in arm.roles), None)


def _seed_sd(scores: Scores, cured: str | None) -> float:
    """The spread of the scores over the seeds: of the cured arm, else the median of all.

    A sick arm may be wild, and its noise is no reason to call a difference small.
    """
    spreads = {arm: float(np.std(list(of.values()), ddof=1)) for arm, of in scores.items() if len(of) > 1}
    if cured in spreads:
        return spreads[cured]
    return median(spreads.values()) if spreads else math.nan


def _margin(trial: Trial, distance: Effect | None, seed_sd: float) -> tuple[float, str]:
    noise = MARGIN_SDS * seed_sd if math.isfinite(seed_sd) else 0.0
    by_noise = f"{MARGIN_SDS:g} standard deviations of the scores between seeds"
    if trial.margin is not None:
        return trial.margin, "given"
    if distance is None or distance.p_adjusted > ALPHA or distance.mean <= 0:
        return noise, by_noise
    share, most = MARGIN_SHARE * distance.mean, MOST_SHARE * distance.mean
    if noise <= share:
        return share, f"{MARGIN_SHARE:.0%} of the distance between sick and cured"
    if noise > most:
        return most, f"{MOST_SHARE:.0%} of the distance between sick and cured"
    return noise, by_noise
