"""Training and held-out errors begin alike and end far apart.

## What it checks
An error on held-out data and the training loss, or that term of it, that began at the same level: whether the
held-out error ends at half as much again as the training error or more, and the gap between the two has grown
by half. It is a warning where training from random weights falls to a fifth or less, the held-out error keeps
three fifths of its first value, and ends at eight times the training error: nearly all that is learned is
learned by heart.

## Why it matters
What is gained on training data alone is of no use elsewhere. The data are few or come again and again, the
held-out data are of another kind, or the labels hold nothing general.

## When it is harmless
A network that reaches a training loss near zero always shows a gap; as long as the held-out error has fallen
far with it, that is only a note. A training loss measured with augmentation or dropout lies above that of the
same network on held-out data, so that a gap is seen later than it opens.

## References
- Zhang et al., "Understanding deep learning requires rethinking generalization", 2017
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from stethoscope.detectors.common_axis import on_axis_of
from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity
from stethoscope.run import Series
from stethoscope.signals.loss import ADVERSARIAL, TrainLoss, words
from stethoscope.signals.starting_point import StartingPoint
from stethoscope.signals.validation import EVALUATE_MORE, Validation

RULE = Rule(code="VAL330", since="0.6", severity=Severity.WARNING)

LEAST_EVALUATIONS = 4
LEAST_POINTS = 12
ALIKE = (0.45, 1.6)  # times the training error around the first evaluation: the first held-out error
APART = 1.5  # times the training error, at the end
OPENED = 1.35  # times the gap at first: the gap at the end
LEARNED = 0.2  # of the first training error: one that has been learned
KEPT = 0.6  # of the first held-out error: one that gained little
BY_HEART = 8.0  # times the training error, at the end
EARLY = 0.6  # of the first training error: a held-out error that was measured before much was learned


@dataclass(frozen=True, slots=True)
class Gap:
    """Levels of a training and of a held-out error: around the first evaluation, and at the end."""

    train: Series
    held: Series
    train_first: float
    train_then: float
    train_last: float

    @property
    def held_first(self) -> float:
        """The held-out error at the first evaluation."""
        return float(self.held.values[0])

    @property
    def held_last(self) -> float:
        """The held-out error at the end."""
        return float(np.median(self.held.values[-2:]))

    @property
    def begins_alike(self) -> bool:
        """Whether both errors are measured in the same unit, as their first values show."""
        return ALIKE[0] <= self.held_first / self.train_then <= ALIKE[1]

    @property
    def times(self) -> float:
        """How many times the training error the held-out error is at the end."""
        return self.held_last / self.train_last

    @property
    def is_open(self) -> bool:
        """Whether the errors part."""
        opened = self.times / (self.held_first / self.train_then)
        return self.begins_alike and self.times >= APART and opened >= OPENED

    @property
    def is_by_heart(self) -> bool:
        """Whether next to nothing of what is learned holds elsewhere."""
        gained = float(self.held.values.min()) < KEPT * self.held_first
        measured_early = self.held_first >= EARLY * self.train_first
        return (
            self.train_last <= LEARNED * self.train_first
            and self.times >= BY_HEART
            and measured_early
            and not gained
        )


def examine(validation: Validation, loss: TrainLoss, start: StartingPoint) -> Iterator[Finding]:
    """Fire where a held-out error and the training error of the same unit part."""
    if loss.reinforced:
        return
    errors = [one.series for one in validation.judged.values() if one.better == "lower"]
    errors = [one for one in errors if len(one) >= LEAST_EVALUATIONS and one.values.min() > 0.0]
    trained = [one for one in _trained(loss) if len(one) >= LEAST_POINTS and one.values.min() > 0.0]
    if not errors or not trained:
        raise InsufficientData("too few errors of training and held-out data were logged", EVALUATE_MORE)
    pairs = (_gap(train, held) for held in errors for train in trained)
    widest = max((gap for gap in pairs if gap.is_open), key=lambda gap: gap.times, default=None)
    if widest is not None:
        yield _finding(widest, widest.is_by_heart and start.from_scratch)


def _trained(loss: TrainLoss) -> list[Series]:
    """The training loss, and its terms that measure progress: where it is a game, those alone."""
    terms = [one.finite() for name, one in loss.terms.items() if not words(name) & ADVERSARIAL]
    return [loss.series.finite(), *terms] if loss.measures_progress else terms


def _gap(train: Series, held: Series) -> Gap:
    """Both errors as means: a held-out error is one over all samples, and single batches may be skewed."""
    part = max(2, len(train) // 10)
    at = int(np.searchsorted(on_axis_of(train, held), held.steps[0]))
    around = slice(max(0, at - part // 2), max(at + part // 2, 1) + 1)
    first, then, last = (float(np.mean(train.values[one])) for one in (slice(2), around, slice(-part, None)))
    return Gap(train, held, first, then, last)


def _finding(gap: Gap, by_heart: bool) -> Finding:
    begin = f"({gap.held_first:.4g} beside {gap.train_then:.4g})"
    end = f"({gap.held_last:.4g} beside {gap.train_last:.4g})"
    return Finding(
        (gap.held.where(), gap.train.where()),
        f"{gap.held.name} and {gap.train.name} begin alike {begin} and end {gap.times:.1f} times apart {end}"
        + (": nearly all is learned by heart" if by_heart else ""),
        {
            "times": gap.times,
            "train_first": gap.train_first,
            "train_last": gap.train_last,
            "held_first": gap.held_first,
            "held_last": gap.held_last,
            "by_heart": by_heart,
        },
        onset=int(gap.held.steps[0]),
        severity=Severity.WARNING if by_heart else Severity.NOTE,
    )
