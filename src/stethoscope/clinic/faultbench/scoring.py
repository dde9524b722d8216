"""How often the opinions about many runs are right."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

import numpy as np

from stethoscope.clinic.case import Metric
from stethoscope.clinic.faultbench.consequence import Cell, is_consequential
from stethoscope.clinic.faultbench.label import Label
from stethoscope.clinic.faultbench.opinion import Opinion

BINS = 10  # of equal mass, for the calibration error
NOISE = 2.0  # standard deviations of healthy scores: what a checkpoint may lack of the best one


@dataclass(frozen=True, slots=True)
class Judged:
    """A run, what was said about it, and whether its faults do any harm."""

    label: Label
    opinion: Opinion
    consequential: bool | None

    @property
    def acceptable(self) -> frozenset[str]:
        """Every cause that would be a right answer."""
        return frozenset(cause for fault in self.label.planted for cause in fault.acceptable)

    def is_right(self, first: int) -> bool:
        """Whether one of the first causes is right."""
        return self.opinion.names(self.acceptable, first)


@dataclass(frozen=True, slots=True)
class Share:
    """A count out of another."""

    right: int
    of: int

    @property
    def value(self) -> float:
        """The share itself; not a number where nothing was counted."""
        return self.right / self.of if self.of else math.nan

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.right} of {self.of})" if self.of else "-"


@dataclass(frozen=True, slots=True)
class Figures:
    """What is measured of a tool on a set of runs.

    Those of `planted` count every fault, whether it does harm or not: what a set tells in which that was not
    measured.
    """

    flagged: Share  # consequential faults that raise an alarm
    first: Share  # right cause first, of consequential faults
    first_three: Share
    latent_first_three: Share  # of faults that do no harm
    planted_flagged: Share
    planted_first: Share
    planted_first_three: Share
    false_alarms: Share  # healthy and benign runs called sick or at risk, or in which anything is warned of
    calibration_error: float
    checkpoint: Share  # the advised one is within noise of the best


@dataclass(frozen=True, slots=True)
class Bin:
    """Some runs whose probabilities are alike: the mean of these, how many are right, and of how many."""

    probability: float
    right: int
    of: int


def judged(label: Label, opinion: Opinion, cells: dict[Cell, bool]) -> Judged:
    """Put a label and an opinion together."""
    return Judged(label, opinion, is_consequential(label, cells) if label.is_sick else None)


def figures(runs: Sequence[Judged], metrics: dict[str, Metric], noise: dict[str, float]) -> Figures:
    """Count what was right; `noise` is the spread of healthy scores in each task."""
    harmful = [run for run in runs if run.consequential]
    planted = [run for run in runs if run.label.is_sick]
    latent = [run for run in planted if run.consequential is False]
    well = [run for run in runs if not run.label.is_sick]
    return Figures(
        share(harmful, lambda run: run.opinion.is_alarm),
        share(harmful, lambda run: run.is_right(1)),
        share(harmful, lambda run: run.is_right(3)),
        share(latent, lambda run: run.is_right(3)),
        share(planted, lambda run: run.opinion.is_alarm),
        share(planted, lambda run: run.is_right(1)),
        share(planted, lambda run: run.is_right(3)),
        share(well, lambda run: run.opinion.is_alarm),
        calibration_error(runs),
        _checkpoints(runs, metrics, noise),
    )


def share(runs: Sequence[Judged], holds: Callable[[Judged], bool]) -> Share:
    """Of how many of these runs something holds."""
    return Share(sum(bool(holds(run)) for run in runs), len(runs))


def calibration_error(runs: Sequence[Judged]) -> float:
    """The mean distance between the probability of the first cause and how often it is right, in ten bins."""
    bins = reliability(runs)
    named = sum(one.of for one in bins)
    apart = sum(abs(one.of * one.probability - one.right) for one in bins)
    return apart / named if named else math.nan


def reliability(runs: Sequence[Judged]) -> list[Bin]:
    """How often the first cause is right, by its probability, in ten bins of equal mass.

    Many runs share a probability. A hash of the name parts these between two bins, and not who was right.
    """
    named = sorted((run for run in runs if run.opinion.causes), key=_by_probability)
    said = np.array([(run.opinion.causes[0][1], run.is_right(1)) for run in named], dtype=float)
    parts = [part for part in np.array_split(said.reshape(-1, 2), BINS) if len(part)]
    return [Bin(float(part[:, 0].mean()), int(part[:, 1].sum()), len(part)) for part in parts]


def _by_probability(run: Judged) -> tuple[float, int]:
    return run.opinion.causes[0][1], zlib.crc32(run.label.name.encode())


def _checkpoints(runs: Sequence[Judged], metrics: dict[str, Metric], noise: dict[str, float]) -> Share:
    """Of the runs with an advice: whether the advised checkpoint is as good as the best, but for noise."""
    right = asked = 0
    for run in runs:
        scores = {name: score for name, score in run.label.checkpoints.items() if score is not None}
        advised = run.opinion.checkpoint
        known = next((name for name in scores if advised and _is_called(name, advised)), None)
        if known is None or len(scores) < 2:
            continue
        sign = 1.0 if metrics[run.label.task].goal == "max" else -1.0
        best = max(sign * score for score in scores.values())
        asked += 1
        right += best - sign * scores[known] <= NOISE * noise.get(run.label.task, 0.0)
    return Share(right, asked)


def _is_called(name: str, advised: str) -> bool:
    return PurePath(name).name == PurePath(advised).name
