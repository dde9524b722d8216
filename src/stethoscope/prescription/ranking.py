"""How the evaluations of a run rank its checkpoints: by every yardstick that was logged, noise apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from stethoscope.detectors.robust_stats import noise_sd
from stethoscope.run import Run, Series, Values
from stethoscope.signals.adversaries import Adversaries
from stethoscope.signals.adversaries import measure as adversaries
from stethoscope.signals.loss import ADVERSARIAL, PERCEPTUAL, TrainLoss, words
from stethoscope.signals.loss import measure as training_loss
from stethoscope.signals.validation import Metric, Validation
from stethoscope.signals.validation import measure as validation_of

LEAST_EVALUATIONS = 3
NOISES = 2.0  # deviations of one evaluation: what a checkpoint may lack and still be as good as the best
CLEARLY = 4.0  # deviations by which one checkpoint is better than another past doubt
OF_GAIN = 0.1  # of all that was ever gained: a smaller loss is not worth going back for
# Words in the names of scores that measure how natural an output looks, or how far it is from many others.
LOOKS = frozenset({"fid", "kid", "lpips", "dists", "niqe", "musiq", "clipiqa", "mmd", "fvd", "fad"})
EARLY = 3  # losses at the start, whose median is what an untrained network has


@dataclass(frozen=True, slots=True, eq=False)
class Yardstick:
    """One metric at every checkpoint, turned so that higher is better; -inf where it was not finite.

    `levels` are medians of the evaluations around, `single` the nearest ones.
    """

    metric: Metric
    single: Mapping[int, float]
    levels: Mapping[int, float]
    noise: float

    @property
    def name(self) -> str:
        """What it is called."""
        return self.metric.series.name

    @property
    def good(self) -> frozenset[int]:
        """The checkpoints that are as good as the best, but for noise."""
        bar = max(self.single.values()) - NOISES * self.noise
        return frozenset(step for step, value in self.single.items() if np.isfinite(value) and value >= bar)

    @property
    def best(self) -> int:
        """The checkpoint that it calls best, by the evaluations around."""
        return max(self.good or self.single, key=lambda step: (self.levels[step], step))

    def is_clearly_better(self, step: int, than: int) -> bool:
        """Whether one checkpoint beats another past the noise, by a part of the gain that matters."""
        if step not in self.single or than not in self.single:
            return False
        gap = self.single[step] - self.single[than]
        finite = self.metric.sign * self.metric.series.values
        gained = self.single[step] - float(finite[0])
        return bool(gap > max(CLEARLY * self.noise, OF_GAIN * abs(gained), 0.0))


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The checkpoint that all yardsticks call good and the first of them best; None where they disagree."""

    yardsticks: tuple[Yardstick, ...]
    best: int | None

    @property
    def told(self) -> str:
        """Which checkpoint each yardstick calls best."""
        return " and ".join(f"{one.name} at step {one.best:,}" for one in self.yardsticks)

    def loses_much(self, step: int, last: int) -> bool:
        """Whether a score that is finite at the last checkpoint is clearly better at another."""
        return any(
            np.isfinite(one.single.get(last, np.nan)) and one.is_clearly_better(step, last)
            for one in self.yardsticks
        )

    @property
    def first(self) -> Yardstick:
        """The yardstick that decides among what all call good."""
        return self.yardsticks[0]


def ranking(run: Run, steps: Iterable[int], first: str = "") -> Ranking | None:
    """Rank the checkpoints saved at these steps; None where nothing was measured near them."""
    saved = sorted(set(steps))
    validation = validation_of(run)
    if not isinstance(validation, Validation) or not saved:
        return None
    looks = pays_for_looks(run)
    can_rank = [metric for metric in validation.judged.values() if _can_rank(metric, looks)]
    metrics = sorted(can_rank, key=lambda metric: metric.series.name != first)
    yardsticks = tuple(one for metric in metrics if (one := _yardstick(run, metric, saved)) is not None)
    if not yardsticks:
        return None
    good = frozenset.intersection(*(one.good for one in yardsticks))
    best = max(good, key=lambda step: (yardsticks[0].levels[step], step), default=None)
    return Ranking(yardsticks, best)


def _yardstick(run: Run, metric: Metric, saved: Sequence[int]) -> Yardstick | None:
    """The metric at those of these steps that have an evaluation near; None where there are none."""
    series = run.series[metric.series.name]
    if len(metric.series) < LEAST_EVALUATIONS:
        return None
    closest = {step: int(np.abs(series.steps - step).argmin()) for step in saved}
    nearest = {step: at for step, at in closest.items() if abs(series.steps[at] - step) <= series.cadence()}
    if not nearest:
        return None
    values = np.where(np.isfinite(series.values), metric.sign * series.values, -np.inf)
    single = {step: float(values[at]) for step, at in nearest.items()}
    levels = {step: _middle(values[max(0, at - 1) : at + 2]) for step, at in nearest.items()}
    return Yardstick(metric, single, levels, noise_sd(metric.sign * metric.series.values))


def _middle(values: Values) -> float:
    """The lower median: no mean of a value with one that is not finite."""
    return float(np.sort(values)[(len(values) - 1) // 2])


def had_learned(run: Run, step: int) -> bool:
    """Whether the training loss was below its start at a step; True where no loss tells."""
    loss = _progress(run)
    if loss is None:
        return True
    at = int(np.searchsorted(loss.steps, step, side="right"))
    if at < 2 * EARLY:
        return True
    before = float(np.median(loss.values[:EARLY]))
    return float(np.median(loss.values[:at][-EARLY:])) < before


def recovers(run: Run, onset: int) -> bool:
    """Whether the training loss ends finite and below what it was when trouble began."""
    loss = _progress(run, finite=False)
    if loss is None:
        return False
    at = int(np.searchsorted(loss.steps, onset))
    before, after = loss.values[:at], loss.values[at:]
    if len(before) < EARLY or len(after) < EARLY or not np.isfinite(after[-EARLY:]).all():
        return False
    finite = before[np.isfinite(before)]
    return bool(
        len(finite)
        and float(np.median(after[-EARLY:])) < float(np.median(finite[-EARLY:])) - noise_sd(finite)
    )


def _progress(run: Run, finite: bool = True) -> Series | None:
    """The training loss where a lower one is a better model."""
    loss = training_loss(run)
    if not isinstance(loss, TrainLoss) or not loss.measures_progress:
        return None
    return loss.series.finite() if finite else loss.series


def _can_rank(metric: Metric, looks: bool) -> bool:
    """Whether a metric means the same at every checkpoint: beside a discriminator only one of looks does."""
    return not looks or bool(words(metric.series.name) & LOOKS)


def pays_for_looks(run: Run) -> bool:
    """Whether a term rewards what looks right: that costs every error that is measured point by point."""
    loss = training_loss(run)
    terms = loss.terms if isinstance(loss, TrainLoss) else ()
    named = any(words(name) & (ADVERSARIAL | PERCEPTUAL) for name in terms)
    return named or isinstance(adversaries(run), Adversaries)
